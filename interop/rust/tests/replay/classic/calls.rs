//! The recorded calls; `interop/tap/README.md` describes the form of the recordings.

use std::{collections::HashMap, fs, path::Path};

use dubbo::hessian2::{Decoder, Value};
use dubbo_test::peer::dubbo::Frame;
use serde_json::Value as Json;

use crate::record::unhex;

/// One of the recordings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recording {
    /// In `dubbo-test/golden`, without its ending.
    pub(crate) name: &'static str,
    /// The group and the version that its provider served, if any.
    pub(crate) group: Option<(&'static str, &'static str)>,
}

/// What is replayed.
pub(crate) const RECORDINGS: [Recording; 8] = [
    plain("go/dubbo-hessian"),
    plain("go/dubbo-generic-modes"),
    Recording {
        group: Some(("g1", "1.0.0")),
        ..plain("go/dubbo-group-version")
    },
    plain("java/dubbo-user"),
    plain("java/dubbo-generic"),
    plain("java/dubbo-generic-modes"),
    plain("java/dubbo-fastjson2"),
    Recording {
        group: Some(("g1", "1.2.3")),
        ..plain("java/dubbo-group")
    },
];

const fn plain(name: &'static str) -> Recording {
    Recording { name, group: None }
}

/// One call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) label: String,
    /// Which connection it went over.
    pub(crate) connection: u64,
    pub(crate) request: Frame,
    /// `None` when there was none for as long as anybody listened.
    pub(crate) answer: Option<Frame>,
}

impl Recording {
    /// Its calls, in order, but for those that were cut. A label that comes back is numbered.
    pub(crate) fn calls(self) -> Vec<Call> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dubbo-test/golden");
        let text = fs::read_to_string(folder.join(self.name).with_extension("jsonl"));
        let text = text.expect(self.name);
        let frames: Vec<Json> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect(self.name))
            .filter(|record: &Json| record["kind"] == "frame" && record["event"] == false)
            .collect();
        let key = |frame: &Json| (frame["conn"].as_u64(), frame["id"].as_i64());
        let (requests, answers): (Vec<_>, Vec<_>) =
            frames.iter().partition(|frame| frame["request"] == true);
        let answers: HashMap<_, _> = answers.iter().map(|frame| (key(frame), *frame)).collect();
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut calls = Vec::new();
        for request in requests {
            let mut label = request["label"].as_str().expect("a label").to_owned();
            let nth = seen.entry(label.clone()).or_default();
            *nth += 1;
            if *nth > 1 {
                label = format!("{label}#{nth}");
            }
            let answer = answers.get(&key(request)).map(|answer| frame(answer));
            let (Some(request_frame), Some(answer)) =
                (frame(request), answer.map_or(Some(None), |a| a.map(Some)))
            else {
                continue;
            };
            calls.push(Call {
                label,
                connection: request["conn"].as_u64().expect("a number"),
                request: request_frame,
                answer,
            });
        }
        calls
    }
}

/// `None` when it was cut.
fn frame(record: &Json) -> Option<Frame> {
    let bytes = unhex(record["hex"].as_str().expect("bytes"));
    let body = bytes[16..].to_vec();
    (body.len() as u64 == record["body_len"].as_u64()?).then(|| Frame {
        flags: bytes[2],
        status: bytes[3],
        id: record["id"].as_i64().expect("a number"),
        claimed: None,
        body,
    })
}

/// The body of a request (`docs/spec/dubbo-protocol.md` §4).
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) version: String,
    pub(crate) method: String,
    pub(crate) descriptor: String,
    pub(crate) arguments: Vec<Value>,
    pub(crate) attachments: Vec<(String, Value)>,
}

impl Request {
    /// `None` when it is not in hessian.
    pub(crate) fn of(frame: &Frame) -> Option<Self> {
        if frame.flags & SERIALIZATION != HESSIAN {
            return None;
        }
        let decoder = &mut Decoder::new(&frame.body);
        let mut text = || decoder.string().expect("a text");
        let _protocol = text();
        let (path, version, method, descriptor) = (text(), text(), text(), text());
        let types = types(&descriptor);
        let arguments = types.iter().map(|_| decoder.value().expect("an argument"));
        let arguments = arguments.collect();
        let attachments = decoder.value().expect("attachments");
        let attachments = attachments.as_map().unwrap_or_default();
        let attachments = attachments
            .iter()
            .map(|(name, value)| (name.as_str().expect("a name").to_owned(), value.clone()));
        Some(Self {
            path,
            version,
            method,
            descriptor,
            arguments,
            attachments: attachments.collect(),
        })
    }

    pub(crate) fn attachment(&self, name: &str) -> Option<&str> {
        let found = self.attachments.iter().find(|(other, _)| other == name);
        found.and_then(|(_, value)| value.as_str())
    }
}

/// The types in a descriptor, as Java calls them. dubbo-go leaves the last `;` of an array of dates out.
pub(crate) fn types(descriptor: &str) -> Vec<String> {
    let mut types = Vec::new();
    let mut rest = descriptor;
    while !rest.is_empty() {
        let item = rest.trim_start_matches('[');
        let arrays = rest.len() - item.len();
        let len = match item.as_bytes().first() {
            Some(b'L') => item.find(';').map_or(item.len(), |at| at + 1),
            _ => 1,
        };
        let (this, next) = rest.split_at(arrays + len);
        types.push(match this {
            "I" => "int".to_owned(),
            _ if arrays == 0 => this.trim_matches(['L', ';']).replace('/', "."),
            _ => this.replace('/', "."),
        });
        rest = next;
    }
    types
}

pub(crate) const SERIALIZATION: u8 = 0x1f;
pub(crate) const HESSIAN: u8 = 2;

#[test]
fn descriptors_are_taken_apart() {
    let of = "Ljava/lang/String;I[[IJ[Ljava/util/Date";
    let want = ["java.lang.String", "int", "[[I", "J", "[Ljava.util.Date"];
    assert_eq!(types(of), want);
}
