//! What live peers asked each other's metadata services and answered, from `dubbo-test/golden`.

use std::{fs, path::PathBuf};

use dubbo_test::peer::dubbo::Frame;
use serde_json::Value as Json;

/// A call by the classic protocol, and what it was answered.
pub(super) struct DubboCall {
    /// The file and the case.
    pub(super) label: String,
    pub(super) request: Frame,
    pub(super) response: Frame,
}

/// The calls of metadata services in these recordings.
pub(super) fn dubbo(files: &[&str]) -> Vec<DubboCall> {
    let mut calls = Vec::new();
    for file in files {
        let mut requests = Vec::new();
        for record in records(file) {
            if record["kind"] != "frame" {
                continue;
            }
            let at = (record["conn"].clone(), record["id"].clone());
            let frame = frame(&unhex(&record["hex"]));
            let label = format!("{file}: {}", record["label"].as_str().unwrap_or_default());
            if record["request"] == true {
                requests.push((at, label, frame));
                continue;
            }
            let index = requests.iter().position(|(asked, ..)| *asked == at);
            let (_, label, request) = requests.swap_remove(index.expect("a request comes first"));
            if is_within(&request.body, b"org.apache.dubbo.metadata.MetadataService") {
                calls.push(DubboCall {
                    label,
                    request,
                    response: frame,
                });
            }
        }
    }
    calls
}

/// A call by Triple, and what it was answered.
pub(super) struct TripleCall {
    /// The file and the case.
    pub(super) label: String,
    pub(super) path: String,
    /// Those that are no part of HTTP/2 itself.
    pub(super) headers: Vec<(String, String)>,
    pub(super) request: Vec<u8>,
    pub(super) response_headers: Vec<(String, String)>,
    pub(super) response: Vec<u8>,
    pub(super) trailers: Vec<(String, String)>,
}

/// The calls of metadata services in these recordings.
pub(super) fn triple(files: &[&str]) -> Vec<TripleCall> {
    let mut calls = Vec::new();
    for file in files {
        for record in records(file) {
            if record["kind"] != "stream" {
                continue;
            }
            let (request, response) = (&record["request"], &record["response"]);
            let all = pairs(&request["headers"]);
            let path = all.iter().find(|(name, _)| name == ":path");
            let path = path.expect("a request has a path").1.clone();
            if !path.starts_with("/org.apache.dubbo.metadata.") {
                continue;
            }
            calls.push(TripleCall {
                label: format!("{file}: {}", record["label"].as_str().unwrap_or_default()),
                path,
                headers: without_pseudo(all),
                request: unhex(&request["data_hex"]),
                response_headers: without_pseudo(pairs(&response["headers"])),
                response: unhex(&response["data_hex"]),
                trailers: pairs(&response["trailers"]),
            });
        }
    }
    calls
}

/// As headers of a scripted peer.
pub(super) fn borrowed(headers: &[(String, String)]) -> Vec<(&str, &str)> {
    let headers = headers.iter();
    headers
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

fn records(file: &str) -> Vec<Json> {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../dubbo-test/golden");
    let text = fs::read_to_string(golden.join(file)).expect(file);
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("one record a line"))
        .collect()
}

fn frame(bytes: &[u8]) -> Frame {
    let id = bytes[4..12].try_into().expect("eight bytes");
    Frame {
        flags: bytes[2],
        status: bytes[3],
        id: i64::from_be_bytes(id),
        claimed: None,
        body: bytes[16..].to_vec(),
    }
}

fn pairs(headers: &Json) -> Vec<(String, String)> {
    let headers = headers.as_array().map_or(&[][..], Vec::as_slice);
    let text = |value: &Json| value.as_str().expect("a text").to_owned();
    headers
        .iter()
        .map(|pair| (text(&pair[0]), text(&pair[1])))
        .collect()
}

fn without_pseudo(mut headers: Vec<(String, String)>) -> Vec<(String, String)> {
    headers.retain(|(name, _)| !name.starts_with(':') && name != "content-length");
    headers
}

fn unhex(text: &Json) -> Vec<u8> {
    let digits = text.as_str().unwrap_or_default().as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).expect("a hexadecimal digit");
    digits
        .chunks(2)
        .map(|pair| u8::try_from(digit(pair[0]) << 4 | digit(pair[1])).expect("two digits"))
        .collect()
}

fn is_within(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
