//! What the messages of a call mean, whatever their bytes are: as proto3 JSON.

use interop::{
    contract::{
        AttachmentsRequest, AttachmentsResponse, BigPayloadRequest, BigPayloadResponse,
        EchoMessage, FailRequest, GreetRequest, GreetResponse, PingMessage, SleepRequest,
        SleepResponse,
    },
    health::{HealthCheckRequest, HealthCheckResponse},
};
use pbjson_types::Empty;
use prost::Message;
use serde::Serialize;

use crate::{
    body,
    sheet::Sheet,
    values::{Detail, Thrown, shown as value},
    wrapped,
};

/// Puts down the first `limit` requests in `data`, sent to `path`.
pub(crate) fn put_requests(sheet: &mut Sheet, path: &str, data: &[u8], limit: Option<usize>) {
    if are_wrapped(path) {
        wrapped::put_requests(sheet, data, limit);
    } else {
        let mut all = requests(path, data);
        all.truncate(limit.unwrap_or(usize::MAX));
        sheet.put_all("message", all);
    }
}

/// Puts down the responses in `data`, which came from `path`.
pub(crate) fn put_responses(sheet: &mut Sheet, path: &str, data: &[u8]) {
    if are_wrapped(path) {
        wrapped::put_responses(sheet, data);
    } else {
        sheet.put_all("message", responses(path, data));
    }
}

/// The messages in `data`, which came from `path`, as a caller gets them.
pub(crate) fn results(path: &str, data: &[u8]) -> Vec<String> {
    if !are_wrapped(path) {
        return responses(path, data);
    }
    let results = wrapped::results(data);
    results
        .iter()
        .map(|result| value(result, Detail::Caller))
        .collect()
}

/// The exception in `data`, which came from `path`.
pub(crate) fn thrown(path: &str, data: &[u8]) -> Option<Thrown> {
    if are_wrapped(path) {
        wrapped::thrown(data)
    } else {
        None
    }
}

fn requests(path: &str, data: &[u8]) -> Vec<String> {
    let decode = match method(path).as_str() {
        "attachments" => json::<AttachmentsRequest>,
        "bigpayload" => json::<BigPayloadRequest>,
        "check" | "watch" => json::<HealthCheckRequest>,
        "echo" => json::<EchoMessage>,
        "fail" => json::<FailRequest>,
        "ping" => json::<PingMessage>,
        "sleep" => json::<SleepRequest>,
        _ => json::<GreetRequest>,
    };
    all(data, decode)
}

fn responses(path: &str, data: &[u8]) -> Vec<String> {
    let decode = match method(path).as_str() {
        "attachments" => json::<AttachmentsResponse>,
        "bigpayload" => json::<BigPayloadResponse>,
        "check" | "watch" => json::<HealthCheckResponse>,
        "echo" => json::<EchoMessage>,
        "fail" => json::<Empty>,
        "ping" => json::<PingMessage>,
        "sleep" => json::<SleepResponse>,
        _ => json::<GreetResponse>,
    };
    all(data, decode)
}

/// Whether the contracts or the health service have what `path` names, or did have if it were there.
pub(crate) fn are_known(path: &str) -> bool {
    path.starts_with("/dubbo.interop.v1.")
        || path.starts_with("/grpc.health.v1.Health/")
        || are_wrapped(path)
}

/// Whether what `path` names is a service without protobuf.
pub(crate) fn are_wrapped(path: &str) -> bool {
    path.starts_with("/org.apache.dubbo.interop.")
}

/// A message as it is compared.
pub(crate) fn shown(message: &impl Serialize) -> String {
    serde_json::to_value(message).map_or_else(|e| e.to_string(), |value| value.to_string())
}

/// In lower case: recorded peers spell methods in more ways than one.
fn method(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase()
}

fn all(data: &[u8], decode: fn(&[u8]) -> String) -> Vec<String> {
    body::messages(data)
        .iter()
        .map(|bytes| decode(bytes))
        .collect()
}

fn json<M: Message + Default + Serialize>(bytes: &[u8]) -> String {
    M::decode(bytes).map_or_else(|e| format!("{bytes:02x?}: {e}"), |message| shown(&message))
}
