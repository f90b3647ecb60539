//! The codec against what live peers sent to each other.

use std::{collections::BTreeSet, fs, path::PathBuf};

use bytes::{BufMut as _, Bytes, BytesMut};
use dubbo_core::payload::{Codec, Payload};
use dubbo_hessian2::{Decoder, Value};
use serde_json::Value as Json;

use super::{OPTIONS, vectors::unhex};
use crate::dubbo::{
    body::{
        event::Event,
        request::{self, Request},
        response::{Outcome, Response, read_text},
    },
    descriptor,
    frame::{Frame, FrameDecoder, HESSIAN2, Received},
    status,
};
use crate::fuzzing::{dubbo_body, dubbo_frames};

/// One frame of a recording.
struct Recorded {
    /// File and case.
    label: String,
    frame: Frame,
}

#[test]
fn every_recorded_frame_is_read_and_written_again() {
    let mut frames = 0;
    let mut odd = BTreeSet::new();
    for_each_frame(|recorded| {
        let Frame { header, body } = recorded.frame;
        frames += 1;
        if header.request {
            assert_eq!(header.status, 0, "{}", recorded.label);
        }
        if header.event && Event::read(&body) == Event::Unknown {
            odd.insert(recorded.label);
        }
    });
    let odd: Vec<_> = odd.iter().map(String::as_str).collect();
    assert_eq!(odd, ODD_EVENTS);
    assert!(frames > 900, "{frames} frames");
}

#[test]
fn every_recorded_request_is_read_and_written_again() {
    let mut unreadable = BTreeSet::new();
    let mut otherwise = BTreeSet::new();
    let mut same = 0;
    for_each_frame(|recorded| {
        let Frame { header, body } = recorded.frame;
        if header.event || !header.request || header.serialization != HESSIAN2 {
            return;
        }
        let request = match Request::read(&body, &OPTIONS) {
            Ok(request) => request,
            Err(error) => {
                unreadable.insert((recorded.label, error.to_string()));
                return;
            }
        };
        let arguments = &mut Decoder::new(&request.arguments);
        for _ in 0..descriptor::count(&request.descriptor).expect("as it was read") {
            let argument = arguments.value();
            argument.unwrap_or_else(|error| panic!("{}: {error}", recorded.label));
        }
        assert!(arguments.is_at_end(), "{}", recorded.label);
        let head = request::head(
            &request.path,
            Some(&request.version),
            &request.method,
            &request.descriptor,
        );
        let payload = Payload::encoded(Codec::Hessian2, request.arguments.clone());
        let mut written = BytesMut::new();
        request::write(&head, &payload, &[], &request.attachments, &mut written).expect("writable");
        if request.protocol != request::PROTOCOL {
            // Nobody is told that we speak another one.
        } else if written == body {
            same += 1;
        } else {
            otherwise.insert(recorded.label);
        }
    });
    let unreadable: Vec<_> = unreadable
        .iter()
        .map(|(label, why)| format!("{label}: {why}"))
        .collect();
    assert_eq!(unreadable, UNREADABLE_REQUESTS);
    let otherwise: Vec<_> = otherwise.iter().map(String::as_str).collect();
    assert_eq!(otherwise, REQUESTS_OF_ANOTHER_FORM);
    assert!(same > 400, "{same} requests");
}

#[test]
fn every_recorded_answer_is_read() {
    let (mut values, mut exceptions, mut texts) = (0, 0, 0);
    for_each_frame(|recorded| {
        let Frame { header, body } = recorded.frame;
        if header.event || header.request || header.serialization != HESSIAN2 {
            return;
        }
        let label = recorded.label;
        if header.status != status::OK {
            let text = read_text(&body).unwrap_or_else(|error| panic!("{label}: {error}"));
            assert!(text.is_some(), "{label}");
            texts += 1;
            return;
        }
        let response =
            Response::read(&body, &OPTIONS).unwrap_or_else(|error| panic!("{label}: {error}"));
        match response.outcome {
            Outcome::Exception(thrown) => {
                assert!(!thrown.class().is_empty(), "{label}");
                exceptions += 1;
            }
            Outcome::Value(bytes) => {
                let value = dubbo_hessian2::from_slice::<Value>(&bytes);
                value.unwrap_or_else(|error| panic!("{label}: {error}"));
                values += 1;
            }
        }
    });
    assert!(
        values > 300 && exceptions > 30 && texts > 10,
        "{values} {exceptions} {texts}"
    );
}

#[test]
fn recorded_frames_with_mistakes_in_them_do_no_harm() {
    let mut random = fastrand::Rng::with_seed(7);
    let (mut read, mut refused) = (0, 0);
    for_each_frame(|recorded| {
        let body = &recorded.frame.body[..recorded.frame.body.len().min(2000)];
        for _ in 0..20 {
            let mut bad = body.to_vec();
            bad.truncate(random.usize(..=bad.len()));
            for _ in 0..random.usize(..4) {
                if !bad.is_empty() {
                    let at = random.usize(..bad.len());
                    bad[at] = random.u8(..);
                }
            }
            match dubbo_body(&bad) {
                Some((first, second)) => {
                    assert_eq!(first, second, "{}", recorded.label);
                    read += 1;
                }
                None => refused += 1,
            }
            let mut stream = unhex("dabb c200 0000000000000001 00000003 ffffff");
            stream.extend_from_slice(&bad);
            let whole = dubbo_frames(500, &stream, usize::MAX);
            assert_eq!(whole, dubbo_frames(500, &stream, random.usize(1..50)));
            assert!(!whole.0.is_empty());
        }
    });
    assert!(read > 100 && refused > 1000, "{read} {refused}");
}

/// Calls `check` with every frame of every recording of this protocol that was kept whole.
fn for_each_frame(mut check: impl FnMut(Recorded)) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../dubbo-test/golden");
    for folder in ["go", "java"] {
        let mut files: Vec<_> = fs::read_dir(root.join(folder))
            .expect("recordings")
            .map(|entry| entry.expect("readable").path())
            .collect();
        files.sort();
        for file in files {
            let name = file
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            if !name.starts_with("dubbo-") {
                continue;
            }
            let text = fs::read_to_string(&file).expect("text");
            for line in text.lines() {
                let record: Json = serde_json::from_str(line).expect("JSON");
                if let Some(recorded) = frame_of(&format!("{folder}/{name}"), &record) {
                    check(recorded);
                }
            }
        }
    }
}

fn frame_of(file: &str, record: &Json) -> Option<Recorded> {
    let hex = record["hex"]
        .as_str()
        .filter(|_| record["kind"] == "frame")?;
    let bytes = unhex(hex);
    let label = format!("{file}: {}", record["label"].as_str().expect("a label"));
    if bytes.len() as u64 != record["body_len"].as_u64().expect("a length") + 16 {
        return None; // cut
    }
    let mut decoder = FrameDecoder::new(usize::MAX);
    decoder.room().put_slice(&bytes);
    let Ok(Some(Received::Frame(frame))) = decoder.next() else {
        panic!("{label} is no frame");
    };
    assert_eq!(decoder.next(), Ok(None), "{label}");
    assert_eq!(Some(frame.header.id), record["id"].as_i64(), "{label}");
    let mut written = BytesMut::new();
    let body = Bytes::clone(&frame.body);
    frame
        .header
        .write(usize::MAX, &mut written, |dst| {
            dst.put_slice(&body);
            Ok(())
        })
        .expect("writable");
    assert_eq!(written, bytes, "{label}");
    Some(Recorded { label, frame })
}

const ODD_EVENTS: &[&str] = &[
    "java/dubbo-raw: heartbeat long body",
    "java/dubbo-raw: unknown event",
];
/// Made by hand to be so.
const UNREADABLE_REQUESTS: &[&str] = &[
    "go/dubbo-probe: bad_descriptor: \"not a descriptor\" is no list of JVM type descriptors, such as \
     `Ljava/lang/String;[IJ`",
    "go/dubbo-probe: garbage_body: the protocol version: no value starts with the byte 0x45 (at byte 0)",
    "java/dubbo-raw: bad hessian: the protocol version: no value starts with the byte 0x45 (at byte 0)",
    "java/dubbo-raw: empty body: the protocol version: 1 more bytes are needed and 0 are left (at byte 0)",
];
/// Attachments that are null, absent, typed or objects; a null version; bytes behind the end.
const REQUESTS_OF_ANOTHER_FORM: &[&str] = &[
    "go/dubbo-hessian: user_attachments_object",
    "go/dubbo-probe: extra_body_bytes",
    "go/dubbo-probe: no_attachments",
    "go/dubbo-probe: null_attachments",
    "go/dubbo-probe: null_version",
    "go/dubbo-probe: object_attachments",
    "go/dubbo-probe: typed_map_attachments",
    "java/dubbo-raw: hello with version null",
    "java/dubbo-raw: hello, attachments null",
    "java/dubbo-raw: hello, attachments typed map",
    "java/dubbo-raw: hello, no attachments at all",
    "java/dubbo-raw: trailing bytes",
];
