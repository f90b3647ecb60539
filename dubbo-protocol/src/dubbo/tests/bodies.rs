//! Bodies: the vectors of the specification, and what peers may send instead.

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    attachments::Attachments,
    payload::{Codec, Payload},
};
use dubbo_hessian2::{Decoder, FromHessian as _, Value, from_slice, java::Throwable, to_vec};

use super::{
    OPTIONS,
    vectors::{unhex, vector},
};
use crate::dubbo::{
    body::{
        BodyError,
        request::{self, Request},
        response::{Outcome, Response, read_text, write_exception, write_text, write_value},
    },
    frame::{FrameWriteError, Header},
};

const GREETER: &str = "org.apache.dubbo.sample.Greeter";
const STRING: &str = "Ljava/lang/String;";

fn body(letter: char) -> Bytes {
    Bytes::from(vector(letter)).slice(16..)
}

/// Arguments, or a result, of values that were encoded into one stream.
fn payload(values: &[Value]) -> Payload {
    let encoded: Vec<u8> = values
        .iter()
        .flat_map(|value| to_vec(value).expect("encodable"))
        .collect();
    Payload::encoded(Codec::Hessian2, encoded.into())
}

fn attachments(pairs: &[(&'static str, &'static str)]) -> Attachments {
    pairs.iter().copied().collect()
}

fn texts(attachments: &Attachments) -> Vec<(String, String)> {
    let texts = attachments.iter().map(|(name, value)| match value {
        dubbo_core::attachments::AttachmentValue::Text(text) => {
            (name.into_owned(), text.into_owned())
        }
        other => panic!("{name} is {other:?}"),
    });
    texts.collect()
}

/// One call of the vectors.
struct Call {
    letter: char,
    id: i64,
    two_way: bool,
    version: Option<&'static str>,
    method: &'static str,
    descriptor: &'static str,
    arguments: Vec<Value>,
    attachments: &'static [(&'static str, &'static str)],
}

fn calls() -> Vec<Call> {
    const FULL: &[(&str, &str)] = &[
        ("path", GREETER),
        ("interface", GREETER),
        ("version", "0.0.0"),
        ("timeout", "3000"),
        ("remote.application", "demo-consumer"),
    ];
    let call = |letter, id, method, descriptor, arguments, attachments| Call {
        letter,
        id,
        two_way: true,
        version: Some("0.0.0"),
        method,
        descriptor,
        arguments,
        attachments,
    };
    let generic = "Ljava/lang/String;[Ljava/lang/String;[Ljava/lang/Object;";
    let invoked = vec![
        Value::from("sayHello"),
        Value::typed_list("[string", [Value::from("java.lang.String")]),
        Value::typed_list("[object", [Value::from("world")]),
    ];
    vec![
        call('E', 3, "sayHello", STRING, vec!["world".into()], FULL),
        Call {
            two_way: false,
            ..call('F', 4, "sayHello", STRING, vec!["world".into()], FULL)
        },
        Call {
            version: None,
            ..call('G', 5, "ping", "", vec![], &[("path", GREETER)])
        },
        call(
            'P',
            6,
            "$invoke",
            generic,
            invoked,
            &[
                ("path", GREETER),
                ("interface", GREETER),
                ("version", "0.0.0"),
                ("generic", "true"),
            ],
        ),
        call(
            'Q',
            7,
            "$echo",
            "Ljava/lang/Object;",
            vec!["OK".into()],
            &[
                ("path", GREETER),
                ("interface", GREETER),
                ("version", "0.0.0"),
            ],
        ),
        Call {
            version: Some(""),
            ..call(
                'X',
                4,
                "",
                STRING,
                vec!["world".into()],
                &[("path", GREETER), ("version", "")],
            )
        },
    ]
}

fn frame_of(letter: char) -> Vec<u8> {
    if letter != 'F' {
        return vector(letter);
    }
    let mut frame = vector('E');
    frame[..12].copy_from_slice(&unhex("dabb82000000000000000004"));
    frame
}

#[test]
fn requests_are_written_and_read_as_specified() {
    for call in calls() {
        let letter = call.letter;
        let head = request::head(GREETER, call.version, call.method, call.descriptor);
        let arguments = payload(&call.arguments);
        let beside = attachments(call.attachments);
        let mut written = BytesMut::new();
        Header::request(call.id, call.two_way)
            .write(usize::MAX, &mut written, |dst| {
                request::write(&head, &arguments, &[], &beside, dst)
            })
            .expect("writable");
        let frame = frame_of(letter);
        assert_eq!(written, frame, "V-{letter}");

        let body = Bytes::from(frame).slice(16..);
        let read = Request::read(&body, &OPTIONS).expect("readable");
        assert_eq!(read.protocol, "2.0.2");
        assert_eq!(read.path, GREETER);
        assert_eq!(read.version, call.version.unwrap_or_default(), "V-{letter}");
        assert_eq!(
            (&*read.method, &*read.descriptor),
            (call.method, call.descriptor)
        );
        assert_eq!(texts(&read.attachments), texts(&beside));
        let mut again = BytesMut::new();
        arguments
            .encode(Codec::Hessian2, &mut again)
            .expect("encoded");
        assert_eq!(read.arguments, again, "V-{letter}");
    }
}

#[test]
fn arguments_that_were_encoded_each_by_itself_become_one_stream() {
    let user = |id: &str| Value::object("com.example.User", [("id", Value::from(id))]);
    let arguments = [user("ada"), user("grace"), Value::from("ada"), Value::Null];
    let each = arguments
        .iter()
        .map(|argument| Bytes::from(to_vec(argument).expect("encodable")));
    let values = Payload::values(Codec::Hessian2, each.collect::<Vec<_>>());
    let types = "Lcom/example/User;Lcom/example/User;Ljava/lang/String;Ljava/lang/String;";
    let mut written = BytesMut::new();
    let head = request::head(GREETER, None, "m", types);
    request::write(&head, &values, &[], &Attachments::new(), &mut written).expect("written");

    let written = written.freeze();
    let read = Request::read(&written, &OPTIONS).expect("readable");
    let decoder = &mut Decoder::new(&read.arguments);
    for argument in &arguments {
        assert_eq!(Value::decode(decoder).expect("a value"), *argument);
    }
    assert!(decoder.finish().is_ok());
}

/// A body with these parts, hex for what is not a string.
fn request_body(version: &str, descriptor: &str, rest: &str) -> Bytes {
    let string = |text: &str| to_vec(text).expect("a string");
    let parts = [
        string("2.0.2"),
        string(GREETER),
        unhex(version),
        string("m"),
        string(descriptor),
        unhex(rest),
    ];
    parts.concat().into()
}

#[test]
fn a_request_need_not_be_as_tidy_as_ours() {
    for (version, descriptor, rest, arguments, beside) in [
        // No version, null or absent attachments, none in dubbo-go's form.
        ("4e", "", "4e", 0, &[][..]),
        ("4e", "", "", 0, &[]),
        ("00", "", "00", 0, &[]),
        // A nil of Go, and its array of dates.
        ("00", "V", "4e 4e", 1, &[]),
        ("00", "[Ljava/util/Date", "79 4e 4e", 2, &[]),
        // A typed map, values that are no strings, bytes behind the end.
        (
            "4e",
            "I",
            "91 4d 11 6a6176612e7574696c2e486173684d6170 01 61 92 01 62 54 5a 4e ff ff",
            1,
            &[("a", "2"), ("b", "true")],
        ),
    ] {
        let body = request_body(version, descriptor, rest);
        let read = Request::read(&body, &OPTIONS)
            .unwrap_or_else(|error| panic!("{descriptor} {rest}: {error}"));
        assert_eq!(read.version, "");
        assert_eq!(read.arguments.len(), arguments, "{rest}");
        let beside: Vec<_> = beside
            .iter()
            .map(|&(k, v)| (k.to_owned(), v.to_owned()))
            .collect();
        assert_eq!(texts(&read.attachments), beside);
    }
}

#[test]
fn what_is_no_request_says_what_is_wrong_with_it() {
    let read = |body: Bytes| {
        Request::read(&body, &OPTIONS)
            .expect_err("unreadable")
            .to_string()
    };
    for (body, part) in [
        (Bytes::new(), "the protocol version: "),
        (Bytes::from_static(b"\x91"), "the protocol version: "),
        (
            request_body("4e", "nonsense", ""),
            "no list of JVM type descriptors",
        ),
        (
            request_body("4e", &"I".repeat(256), ""),
            "more than the 255",
        ),
        (request_body("4e", "II", "91"), "the arguments: "),
        (request_body("4e", "", "91"), "the attachments: "),
        (
            request_body("4e", "", "4e4e").slice(..20),
            "the service path: ",
        ),
    ] {
        let text = read(body);
        assert!(text.contains(part), "{text}");
    }
    let all = body('E');
    for end in 0..all.len() - 1 {
        // Without attachments it is whole, too.
        let whole = "05322e302e32".len() / 2 + 32 + 6 + 9 + 19 + 6;
        assert_eq!(
            Request::read(&all.slice(..end), &OPTIONS).is_ok(),
            end == whole,
            "{end} bytes"
        );
    }
}

#[test]
fn answers_are_written_as_specified() {
    let hello = payload(&["hello world".into()]);
    let none = Attachments::new();
    for (letter, result, beside) in [
        ('H', &hello, Some(&none)),
        ('I', &hello, None),
        ('J', &payload(&[Value::Null]), Some(&none)),
        ('K', &payload(&[Value::Null]), None),
        ('K', &payload(&[]), None),
    ] {
        let mut written = BytesMut::new();
        Header::request(3, true)
            .answer(20)
            .write(usize::MAX, &mut written, |dst| {
                write_value(result, beside, dst)
            })
            .expect("writable");
        assert_eq!(written, vector(letter), "V-{letter}");
    }
    for (letter, status, text) in [
        (
            'M',
            40,
            "Fail to decode request due to: Service not found:org.apache.dubbo.sample.Greeter, nope",
        ),
        ('N', 60, "service not found"),
        ('O', 100, "thread pool is exhausted"),
    ] {
        let mut written = BytesMut::new();
        Header::request(3, true)
            .answer(status)
            .write(usize::MAX, &mut written, |dst| {
                write_text(text, dst);
                Ok(())
            })
            .expect("writable");
        assert_eq!(written, vector(letter), "V-{letter}");
        assert_eq!(
            read_text(&body(letter)).expect("text").as_deref(),
            Some(text)
        );
    }
}

#[test]
fn answers_are_read_with_and_without_attachments() {
    let dubbo = [("dubbo".to_owned(), "2.0.2".to_owned())];
    for (letter, value, beside) in [
        ('H', Value::from("hello world"), &dubbo[..]),
        ('I', Value::from("hello world"), &[]),
        ('J', Value::Null, &dubbo),
        ('K', Value::Null, &[]),
        ('R', Value::from("hello"), &dubbo),
        ('S', Value::Null, &[]),
    ] {
        let response = Response::read(&body(letter), &OPTIONS).expect("readable");
        let Outcome::Value(bytes) = response.outcome else {
            panic!("V-{letter} is an exception");
        };
        assert_eq!(
            from_slice::<Value>(&bytes).expect("one value"),
            value,
            "V-{letter}"
        );
        assert_eq!(texts(&response.attachments), beside, "V-{letter}");
    }
    for (letter, class, message, beside) in [
        ('L', "java.lang.RuntimeException", "boom", &dubbo[..]),
        ('W', "java.lang.Throwable", "boom", &[]),
    ] {
        let response = Response::read(&body(letter), &OPTIONS).expect("readable");
        let Outcome::Exception(thrown) = response.outcome else {
            panic!("V-{letter} is a value");
        };
        assert_eq!((thrown.class(), thrown.message()), (class, Some(message)));
        assert_eq!(texts(&response.attachments), beside, "V-{letter}");
    }
}

#[test]
fn an_exception_comes_back_as_it_was_written() {
    let thrown = Throwable::new("java.lang.IllegalStateException", "no");
    for beside in [None, Some(&attachments(&[("a", "b")]))] {
        let mut written = BytesMut::new();
        write_exception(&thrown, beside, &mut written).expect("writable");
        let response = Response::read(&written.freeze(), &OPTIONS).expect("readable");
        let Outcome::Exception(back) = response.outcome else {
            panic!("a value");
        };
        assert_eq!(
            (back.class(), back.message()),
            (thrown.class(), thrown.message())
        );
        let want = beside.map(|_| vec![("dubbo".into(), "2.0.2".into()), ("a".into(), "b".into())]);
        assert_eq!(texts(&response.attachments), want.unwrap_or_default());
    }
}

#[test]
fn answers_of_every_form_are_taken_and_of_none_refused() {
    let read = |hex: &str| Response::read(&Bytes::from(unhex(hex)), &OPTIONS);
    let value = |response: Response| match response.outcome {
        Outcome::Value(bytes) => from_slice::<Value>(&bytes).expect("one value"),
        Outcome::Exception(thrown) => panic!("{thrown}"),
    };
    // Typed attachments; null ones; values in them that are no strings.
    let typed =
        read("94 91 4d 11 6a6176612e7574696c2e486173684d6170 01 61 01 62 5a").expect("typed");
    assert_eq!(texts(&typed.attachments), [("a".into(), "b".into())]);
    assert_eq!(value(typed), Value::Int(1));
    let null = read("95 4e").expect("null attachments");
    assert!(null.attachments.is_empty());
    assert_eq!(value(null), Value::Null);
    let flag = read("95 48 01 6f 54 5a").expect("a boolean");
    assert_eq!(texts(&flag.attachments), [("o".into(), "true".into())]);
    // dubbo-go left the value out: the attachments take its place.
    let left_out = read("94 48 01 61 01 62 5a 4e").expect("a map and a null");
    assert!(left_out.attachments.is_empty());
    assert_eq!(value(left_out).as_map().map(<[_]>::len), Some(1));
    // What is behind the end.
    assert_eq!(value(read("92 4e").expect("a null more")), Value::Null);
    assert_eq!(value(read("91 92 ff").expect("a byte more")), Value::Int(2));

    for (hex, part) in [
        ("96", "the response is of type 6; there are 0 to 5"),
        ("8f", "of type -1"),
        ("", "the type of the response: "),
        ("01 61", "the type of the response: "),
        ("91", "the result: "),
        ("94 91 91", "the attachments: "),
        ("90 4e", "the exception: "),
        ("90 01 61", "the exception: "),
    ] {
        let error = read(hex).expect_err(hex).to_string();
        assert!(error.contains(part), "{hex}: {error}");
    }
}

#[test]
fn the_text_of_an_error_may_be_null_and_followed_by_anything() {
    let read = |hex: &str| read_text(&Bytes::from(unhex(hex)));
    for (hex, want) in [
        ("4e", None),
        ("02 6e6f", Some("no")),
        ("02 6e6f 4e", Some("no")),
        ("00 ff", Some("")),
    ] {
        assert_eq!(read(hex).expect(hex).as_deref(), want, "{hex}");
    }
    assert!(matches!(read(""), Err(BodyError::Value { .. })));
    assert!(matches!(read("91"), Err(BodyError::Value { .. })));
}

#[test]
fn a_payload_that_is_encoded_otherwise_is_not_sent() {
    let json = Payload::encoded(Codec::Json, Bytes::from_static(b"{}"));
    let mut dst = BytesMut::new();
    let written = Header::request(1, true).write(usize::MAX, &mut dst, |dst| {
        request::write(b"", &json, &[], &Attachments::new(), dst)
    });
    assert!(matches!(written, Err(FrameWriteError::Body(_))));
    assert!(dst.is_empty());
}
