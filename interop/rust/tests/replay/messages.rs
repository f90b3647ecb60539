//! What the messages of a call mean, whatever their bytes are: as proto3 JSON.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use interop::{
    contract::{
        AttachmentsRequest, AttachmentsResponse, BigPayloadRequest, BigPayloadResponse,
        EchoMessage, FailDetail, FailRequest, GreetRequest, GreetResponse, PingMessage,
        SleepRequest, SleepResponse,
    },
    health::{HealthCheckRequest, HealthCheckResponse},
    reflection::ServerReflectionRequest,
};
use pbjson_types::Empty;
use prost::Message;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{
    body, plain,
    record::{Half, Headers, Stream},
    reflected,
    sheet::Sheet,
    values::{Detail, Thrown, shown as value},
    wrapped::{self, Wrapper},
};

/// Puts down the first `limit` requests in `half`, sent to `path`.
pub(crate) fn put_requests(sheet: &mut Sheet, path: &str, half: &Half, limit: Option<usize>) {
    if are_wrapped(path) {
        wrapped::put_requests(sheet, &half.data, limit);
    } else {
        let mut all = requests(path, half);
        all.truncate(limit.unwrap_or(usize::MAX));
        sheet.put_all("message", all);
    }
}

/// Puts down the responses in `half`, which came from `path`.
pub(crate) fn put_responses(sheet: &mut Sheet, path: &str, half: &Half) {
    if are_wrapped(path) {
        wrapped::put_responses(sheet, &half.data);
    } else {
        sheet.put_all("message", responses(path, half));
    }
}

/// The messages in `half`, which came from `path`, as a caller gets them.
pub(crate) fn results(path: &str, half: &Half) -> Vec<String> {
    if !are_wrapped(path) {
        return responses(path, half);
    }
    let results = wrapped::results(&half.data);
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

/// Whether the messages after `headers` are JSON.
pub(crate) fn are_json(headers: &Headers) -> bool {
    headers.value("content-type") == Some(b"application/grpc+json")
}

/// Whether the arguments in `stream` are in msgpack.
pub(crate) fn are_msgpack(stream: &Stream) -> bool {
    are_wrapped(&stream.path())
        && wrapped::all(&stream.request.data)
            .iter()
            .any(Wrapper::is_msgpack)
}

fn requests(path: &str, half: &Half) -> Vec<String> {
    let decode = match method(path).as_str() {
        "attachments" => json::<AttachmentsRequest>,
        "bigpayload" => json::<BigPayloadRequest>,
        "check" | "watch" => json::<HealthCheckRequest>,
        "echo" => json::<EchoMessage>,
        "fail" => json::<FailRequest>,
        "ping" => json::<PingMessage>,
        "serverreflectioninfo" => json::<ServerReflectionRequest>,
        "sleep" => json::<SleepRequest>,
        _ => json::<GreetRequest>,
    };
    all(half, decode)
}

fn responses(path: &str, half: &Half) -> Vec<String> {
    let decode = match method(path).as_str() {
        "attachments" => json::<AttachmentsResponse>,
        "bigpayload" => json::<BigPayloadResponse>,
        "check" | "watch" => json::<HealthCheckResponse>,
        "echo" => json::<EchoMessage>,
        "fail" => json::<Empty>,
        "ping" => json::<PingMessage>,
        "serverreflectioninfo" => reflected::read,
        "sleep" => json::<SleepResponse>,
        _ => json::<GreetResponse>,
    };
    all(half, decode)
}

/// Whether what `path` names is a service without protobuf.
pub(crate) fn are_wrapped(path: &str) -> bool {
    path.starts_with("/org.apache.dubbo.interop.")
}

/// A message as it is compared.
pub(crate) fn shown(message: &impl Serialize) -> String {
    serde_json::to_value(message).map_or_else(|e| e.to_string(), |value| value.to_string())
}

/// The message in `bytes`. Its `any` is that of the mapping, which generated code does not read (`dubbo_build`, JSON).
pub(crate) fn from_json<M: DeserializeOwned>(bytes: &[u8]) -> M {
    let mut value: Value = serde_json::from_slice(bytes).expect("JSON");
    if let Some(any) = value.get_mut("any").and_then(Value::as_object_mut) {
        let name = any.remove("@type").expect("what it is");
        assert_eq!(name, "type.googleapis.com/dubbo.interop.v1.FailDetail");
        let detail: FailDetail = serde_json::from_value(any.clone().into()).expect("the detail");
        *any = Map::from_iter([
            ("typeUrl".to_owned(), name),
            (
                "value".to_owned(),
                STANDARD.encode(detail.encode_to_vec()).into(),
            ),
        ]);
    }
    serde_json::from_value(value).expect("the contract's message")
}

/// In lower case: recorded peers spell methods in more ways than one.
fn method(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase()
}

fn all(half: &Half, decode: fn(&[u8]) -> String) -> Vec<String> {
    let decode = if are_json(&half.headers) {
        plain::sorted
    } else {
        decode
    };
    body::messages(&half.data)
        .iter()
        .map(|bytes| decode(bytes))
        .collect()
}

fn json<M: Message + Default + Serialize>(bytes: &[u8]) -> String {
    M::decode(bytes).map_or_else(|e| format!("{bytes:02x?}: {e}"), |message| shown(&message))
}
