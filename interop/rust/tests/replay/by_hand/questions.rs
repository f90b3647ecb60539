//! What was asked, as it was recorded.

use std::collections::HashMap;

use serde_json::Value;

use super::{Answer, http1, http2};
use crate::record::{End, Recording, Stream, text, unhex};

/// One question, and what it was answered.
pub(super) struct Question {
    pub(super) label: String,
    pub(super) path: String,
    pub(super) how: How,
    pub(super) answer: Answer,
}

/// How it was asked.
pub(super) enum How {
    /// With these bytes.
    Http1(Vec<u8>),
    Http2(Box<Stream>),
}

/// What was asked in `recording`, in order.
pub(super) fn questions(recording: Recording) -> Vec<Question> {
    // Answers over HTTP/2 to what was asked over HTTP/1.1 with `upgrade`: they come first.
    let mut upgraded = HashMap::new();
    let mut questions = Vec::new();
    for record in recording.all_records() {
        match record["kind"].as_str() {
            Some("stream") => {
                let was_asked = record["request"]["end"] != "upgrade";
                let stream: Stream = serde_json::from_value(record).expect(recording.name);
                if was_asked {
                    questions.push(over_http2(stream));
                } else {
                    upgraded.insert(stream.label, stream.response);
                }
            }
            Some("h1") => questions.push(over_http1(&record)),
            Some("h1-upgrade") => {
                let mut question = over_http1(&record);
                let half = upgraded.remove(&question.label);
                question.answer.half = half.unwrap_or(question.answer.half);
                questions.push(question);
            }
            Some("conn") => {}
            other => panic!("{}: {other:?}", recording.name),
        }
    }
    questions
}

fn over_http1(record: &Value) -> Question {
    let bytes = |side: &str| {
        let field = |name: &str| record[side][name].as_str().unwrap_or_default();
        let bytes = unhex(field("data_hex"));
        // Where something was left out there is only text.
        if bytes.is_empty() {
            field("data_text").as_bytes().to_vec()
        } else {
            bytes
        }
    };
    let asked = bytes("request");
    let line = text(&asked);
    Question {
        label: record["label"].as_str().expect("a label").to_owned(),
        path: line.split(' ').nth(1).unwrap_or_default().to_owned(),
        how: How::Http1(asked),
        answer: http1::read(&bytes("response"), true).expect("all there is"),
    }
}

fn over_http2(stream: Stream) -> Question {
    Question {
        label: stream.label.clone(),
        path: stream.path(),
        answer: Answer {
            half: stream.response.clone(),
            beside: http2::earliness(&stream, stream.response.end == End::Complete),
        },
        how: How::Http2(Box::new(stream)),
    }
}
