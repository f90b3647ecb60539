//! Calls and answers as values, written and read byte by byte of `docs/spec/dubbo-protocol.md` §4 and §5.

use dubbo_hessian2::{Decoder, Encoder, ToHessian as _, Value};

use super::{Connection, Frame};

/// The body of a call.
#[derive(Debug, Clone)]
pub struct Call {
    /// The version of the protocol.
    pub protocol: &'static str,
    /// The service, as the second value has it.
    pub path: &'static str,
    /// The service's version; `None` is null.
    pub version: Option<&'static str>,
    /// The method.
    pub method: &'static str,
    /// The types of the arguments, as the JVM writes them.
    pub types: &'static str,
    /// The arguments.
    pub arguments: Vec<Value>,
    /// What travels beside them; `None` is nothing at all, not even an empty map.
    pub attachments: Option<Vec<(&'static str, Value)>>,
}

impl Call {
    /// The service that is called unless a test says otherwise.
    pub const PATH: &str = "org.apache.dubbo.sample.Greeter";

    /// A call as Java makes it, but for the attachments.
    pub fn of(method: &'static str, types: &'static str, arguments: &[Value]) -> Self {
        Self {
            protocol: "2.0.2",
            path: Self::PATH,
            version: Some("0.0.0"),
            method,
            types,
            arguments: arguments.to_vec(),
            attachments: Some(vec![("path", Self::PATH.into())]),
        }
    }

    /// `greet(name)`.
    pub fn greet(name: &str) -> Self {
        Self::of("greet", "Ljava/lang/String;", &[name.into()])
    }

    /// The same with one attachment more.
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        let attachments = self.attachments.get_or_insert_default();
        attachments.push((name, value.into()));
        self
    }

    /// The body of its frame.
    pub fn body(&self) -> Vec<u8> {
        let mut encoder = Encoder::new();
        encoder.str(self.protocol);
        encoder.str(self.path);
        match self.version {
            Some(version) => encoder.str(version),
            None => encoder.null(),
        }
        encoder.str(self.method);
        encoder.str(self.types);
        for argument in &self.arguments {
            argument.encode(&mut encoder).expect("a value");
        }
        if let Some(attachments) = &self.attachments {
            encoder.begin_map(None);
            for (name, value) in attachments {
                encoder.str(name);
                value.encode(&mut encoder).expect("a value");
            }
            encoder.end_map();
        }
        encoder.into_bytes()
    }

    /// The call, which expects an answer.
    pub fn frame(&self, id: i64) -> Frame {
        Frame::call(id, self.body())
    }

    /// The call, which expects none.
    pub fn one_way(&self, id: i64) -> Frame {
        Frame::new(0x80, 0, id, self.body())
    }
}

/// An answer that has been read.
#[derive(Debug, PartialEq)]
pub struct Answer {
    /// The id of the call.
    pub id: i64,
    /// What it says.
    pub said: Said,
    /// What travels beside it; `None` is a type without attachments.
    pub attachments: Option<Vec<(String, Value)>>,
}

/// What an answer says.
#[derive(Debug, PartialEq)]
pub enum Said {
    /// The handler threw.
    Exception {
        /// The name of the class.
        class: String,
        /// The message.
        message: String,
    },
    /// Another status than 20, with its text.
    Refused(u8, String),
    /// The result.
    Value(Value),
}

impl Answer {
    /// Reads a frame, every byte of it.
    pub fn of(frame: &Frame) -> Self {
        assert_eq!(frame.flags & !0x1f, 0, "an answer: {frame:?}");
        let decoder = &mut Decoder::new(&frame.body);
        let (said, has_attachments) = if frame.status == 20 {
            let kind = decoder.int().expect("a type");
            let said = match kind {
                0 | 3 => {
                    let thrown = decoder.value().expect("an exception");
                    let thrown = thrown.as_object().expect("an object");
                    let message = thrown.get("detailMessage").expect("a message");
                    Said::Exception {
                        class: thrown.class().to_owned(),
                        message: message.as_str().expect("a text").to_owned(),
                    }
                }
                1 | 4 => {
                    let value = decoder.value().expect("a value");
                    assert_ne!(value, Value::Null, "null has a type of its own");
                    Said::Value(value)
                }
                2 | 5 => Said::Value(Value::Null),
                other => panic!("type {other}"),
            };
            (said, kind > 2)
        } else {
            let text = decoder.string().expect("a text");
            (Said::Refused(frame.status, text), false)
        };
        let attachments = has_attachments.then(|| {
            let map = decoder.value().expect("attachments");
            let map = map.as_map().expect("a map");
            map.iter()
                .map(|(name, value)| (name.as_str().expect("a name").to_owned(), value.clone()))
                .collect()
        });
        assert!(decoder.is_at_end(), "{frame:?}");
        Self {
            id: frame.id,
            said,
            attachments,
        }
    }

    /// The value; anything else fails the test.
    pub fn value(self) -> Value {
        match self.said {
            Said::Value(value) => value,
            other => panic!("no value but {other:?}"),
        }
    }

    /// Status and text of a refusal; anything else fails the test.
    pub fn refused(self) -> (u8, String) {
        match self.said {
            Said::Refused(status, text) => (status, text),
            other => panic!("no refusal but {other:?}"),
        }
    }
}

impl Connection {
    /// What `call` is answered, alone on this connection.
    pub async fn ask(&mut self, call: &Call) -> Answer {
        self.send(call.frame(1)).await;
        let answer = Answer::of(&self.frame().await);
        assert_eq!(answer.id, 1);
        answer
    }
}
