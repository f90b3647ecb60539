//! The recorded traffic; `interop/tap/README.md` describes its form.

use std::{collections::HashMap, fs, path::Path};

use serde::Deserialize;
use serde_json::Value;

use crate::{body, party::Connection};

/// One of the recordings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recording {
    /// In `dubbo-test/golden`, without its ending.
    pub(crate) name: &'static str,
    /// Its provider served the contract in group `g1`, version `1.0.0`, and not without.
    pub(crate) grouped: bool,
    /// Its provider was told to end while it was used.
    pub(crate) shut_down: bool,
}

/// What is replayed.
pub(crate) const RECORDINGS: [Recording; 15] = [
    served("go/triple-idl"),
    Recording {
        grouped: true,
        ..served("go/triple-group-version")
    },
    served("go/triple-keepalive"),
    served("go/triple-keepalive-default"),
    Recording {
        shut_down: true,
        ..served("go/triple-shutdown-idle")
    },
    Recording {
        shut_down: true,
        ..served("go/triple-shutdown-inflight")
    },
    served("go/triple-hessian"),
    served("go/triple-generic-modes"),
    served("java/triple-idl"),
    served("java/triple-user"),
    served("java/triple-stream"),
    served("java/triple-generic"),
    served("java/triple-generic-modes"),
    served("go/triple-idl-json"),
    served("go/triple-msgpack"),
];

pub(crate) const fn served(name: &'static str) -> Recording {
    Recording {
        name,
        grouped: false,
        shut_down: false,
    }
}

impl Recording {
    /// Its calls, in order. A label that comes back is numbered: `greet`, `greet#2`.
    pub(crate) fn streams(self) -> Vec<Stream> {
        let mut seen: HashMap<String, usize> = HashMap::new();
        self.records("stream")
            .map(|record| {
                let mut stream: Stream = serde_json::from_value(record).expect(self.name);
                body::complete(&mut stream);
                let nth = seen.entry(stream.label.clone()).or_default();
                *nth += 1;
                if *nth > 1 {
                    stream.label = format!("{}#{nth}", stream.label);
                }
                stream
            })
            .collect()
    }

    /// Its connections, in order.
    pub(crate) fn connections(self) -> Vec<Connection> {
        self.records("conn")
            .map(|record| serde_json::from_value(record).expect(self.name))
            .collect()
    }

    fn records(self, kind: &'static str) -> impl Iterator<Item = Value> {
        let all = self.all_records().into_iter();
        all.filter(move |record| record["kind"] == kind)
    }

    /// All that was recorded, in order.
    pub(crate) fn all_records(self) -> Vec<Value> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dubbo-test/golden");
        let file = folder.join(self.name).with_extension("jsonl");
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        text.lines()
            .map(|line| serde_json::from_str(line).expect(self.name))
            .collect()
    }
}

/// One call.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Stream {
    pub(crate) label: String,
    pub(crate) request: Half,
    pub(crate) response: Half,
    frames: Vec<Frame>,
}

impl Stream {
    pub(crate) fn path(&self) -> String {
        self.request.headers.text(":path").unwrap_or_default()
    }

    /// Its frames, each as often as it was seen.
    pub(crate) fn all_frames(&self) -> impl Iterator<Item = &Frame> {
        let frames = self.frames.iter();
        frames.flat_map(|frame| std::iter::repeat_n(frame, frame.times))
    }
}

/// One direction of a call.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "WrittenHalf")]
pub(crate) struct Half {
    pub(crate) headers: Headers,
    pub(crate) data: Vec<u8>,
    /// How many bytes of data there were, of which [`data`](Self::data) may be the first.
    pub(crate) data_len: usize,
    pub(crate) trailers: Option<Headers>,
    pub(crate) end: End,
}

/// How one direction ended. A reset that came after the end is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum End {
    Complete,
    /// Not, for as long as it was looked at.
    #[default]
    Open,
    /// With the connection, which was given up.
    GoneAway,
    Reset {
        by_client: bool,
        code: String,
    },
}

/// A block of headers, in the order of the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Headers(pub(crate) Vec<(String, Vec<u8>)>);

impl Headers {
    pub(crate) fn of(pairs: &[(&str, &str)]) -> Self {
        let pairs = pairs.iter();
        Self(
            pairs
                .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
                .collect(),
        )
    }

    pub(crate) fn value(&self, name: &str) -> Option<&[u8]> {
        let found = self.0.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_slice())
    }

    /// A value as text: UTF-8, or else Latin-1.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.value(name).map(text)
    }

    /// Without HTTP/2's own.
    pub(crate) fn regular(&self) -> impl Iterator<Item = &(String, Vec<u8>)> {
        self.0.iter().filter(|(name, _)| !name.starts_with(':'))
    }
}

impl From<&http::HeaderMap> for Headers {
    fn from(map: &http::HeaderMap) -> Self {
        let pairs = map.iter();
        Self(
            pairs
                .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
                .collect(),
        )
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec())
        .unwrap_or_else(|_| bytes.iter().copied().map(char::from).collect())
}

/// A frame: who sent it, what it was and how long.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Vec<Value>")]
pub(crate) struct Frame {
    pub(crate) by_client: bool,
    pub(crate) kind: String,
    pub(crate) ends_stream: bool,
    pub(crate) len: usize,
    times: usize,
}

#[derive(Deserialize)]
struct WrittenHalf {
    headers: Option<Vec<(String, String)>>,
    data_hex: Option<String>,
    data_len: Option<usize>,
    trailers: Option<Vec<(String, String)>>,
    end: String,
    end_before_rst: Option<String>,
    rst_by: Option<String>,
}

impl From<WrittenHalf> for Half {
    fn from(written: WrittenHalf) -> Self {
        let data = unhex(&written.data_hex.unwrap_or_default());
        let code = written
            .end
            .strip_prefix("rst(")
            .and_then(|rest| rest.strip_suffix(')'));
        let end = match (written.end.as_str(), code) {
            ("data" | "trailers", _) => End::Complete,
            (_, Some(_)) if written.end_before_rst.is_some() => End::Complete,
            (_, Some(code)) => End::Reset {
                by_client: written.rst_by.as_deref() == Some("c2s"),
                code: code.to_owned(),
            },
            ("goaway", _) => End::GoneAway,
            _ => End::Open,
        };
        Self {
            headers: written.headers.unwrap_or_default().into(),
            data_len: written.data_len.unwrap_or(data.len()),
            data,
            trailers: written.trailers.map(Headers::from),
            end,
        }
    }
}

impl From<Vec<(String, String)>> for Headers {
    /// A byte that is not UTF-8 was written as U+FFFD. What it was matters only where it is Dubbo Java's `é`
    /// (`docs/spec/triple.md` §3.2).
    fn from(pairs: Vec<(String, String)>) -> Self {
        let raw = |value: String| {
            value
                .split('\u{fffd}')
                .map(str::as_bytes)
                .collect::<Vec<_>>()
                .join(&0xe9)
        };
        Self(pairs.into_iter().map(|(n, v)| (n, raw(v))).collect())
    }
}

impl From<Vec<Value>> for Frame {
    fn from(parts: Vec<Value>) -> Self {
        let part = |at: usize| parts.get(at).and_then(Value::as_str).unwrap_or_default();
        let len = parts.get(3).and_then(Value::as_u64).unwrap_or(0);
        let times = parts.last().and_then(Value::as_str);
        Self {
            by_client: part(0) == "c",
            kind: part(1).to_owned(),
            ends_stream: part(2).contains("END_STREAM"),
            len: usize::try_from(len).expect("a frame's length"),
            times: times
                .and_then(|times| times.strip_prefix('x')?.parse().ok())
                .unwrap_or(1),
        }
    }
}

pub(crate) fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal"))
        .collect()
}

#[test]
fn records_are_read_with_all_that_is_compared() {
    let streams = RECORDINGS[0].streams();
    assert_eq!(streams.len(), 67);
    let named = |label| streams.iter().find(|s| s.label == label).expect(label);
    assert_eq!(named("greet").path(), "/dubbo.interop.v1.Greeter/Greet");
    let watch = named("health_check#2").path();
    assert_eq!(watch, "/grpc.health.v1.Health/Watch");
    assert_eq!(named("bidi_fail").response.end, End::Complete);
    assert_eq!(named("bidi_fail").request.end, End::Open);
    let panicked = End::Reset {
        by_client: false,
        code: "INTERNAL_ERROR".to_owned(),
    };
    assert_eq!(named("fail_panic").response.end, panicked);
    let big = named("big_2m");
    assert_eq!(
        (big.request.data.len(), big.request.data_len),
        (2_097_167, 2_097_167)
    );

    let java = RECORDINGS[8].streams();
    let text = java.iter().find(|s| s.label == "idl.fail.text");
    let headers = &text.expect("recorded").response.headers;
    assert_eq!(headers.value("grpc-message"), Some(&b"50% +x \xe9?"[..]));
    let connections = RECORDINGS[2].connections();
    assert_eq!(connections[0].client.own_pings().count(), 3);
}
