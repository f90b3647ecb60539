//! Generic calls as Java and dubbo-go sent them, answered as Java answered them.

use std::{collections::HashMap, fs, path::Path, sync::Arc};

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    invocation::{Body, Invocation},
    payload::{Codec, Payload},
    provider::Service,
    service::ServiceKey,
    status::{Retry, Status},
};
use dubbo_hessian2::{Decoder, FromHessian as _, Value, from_slice};
use dubbo_protocol::java::{thrown, with_built_ins};
use serde_json::Value as Json;

use super::users::{INTERFACE, service};

/// A recorded call.
struct Recorded {
    label: String,
    method: String,
    /// The three arguments of `$invoke`, as bytes.
    args: Bytes,
    /// The attachment `generic`.
    mode: String,
    answer: Answer,
}

/// What the recorded provider said.
#[derive(Debug)]
enum Answer {
    Value(Value),
    Exception(Value),
    /// A status other than 20.
    Error,
}

#[tokio::test]
async fn what_java_sent_is_answered_as_java_did() {
    let service = with_built_ins(service());
    let mut same = 0;
    for call in recorded("java/dubbo-generic").chain(recorded("java/dubbo-generic-modes")) {
        let Recorded { label, mode, .. } = &call;
        let ours = invoke(&service, &call).await;
        match &call.answer {
            Answer::Value(theirs) if mode == "gson" => {
                assert_eq!(json(&ours.expect(label)), json(theirs), "{label}");
            }
            Answer::Value(theirs) => {
                assert_eq!(sorted(&ours.expect(label)), sorted(theirs), "{label}");
            }
            Answer::Exception(theirs) => {
                let status = ours.expect_err(label);
                assert_eq!(status.retry(), Retry::Never, "{label}");
                let throwable = thrown(&status).expect("an exception");
                let field = |name| {
                    theirs
                        .as_object()
                        .and_then(|object| object.get(name)?.as_str())
                };
                assert_eq!(Some(throwable.class()), field("exceptionClass"), "{label}");
                assert_eq!(throwable.message(), field("exceptionMessage"), "{label}");
            }
            // Java's allow list has no `JavaBeanDescriptor`.
            Answer::Error if mode == "bean" => {
                ours.expect(label);
                continue;
            }
            Answer::Error => {
                let status = ours.expect_err(label);
                assert_eq!(status.retry(), Retry::Never, "{label}: {status}");
            }
        }
        same += 1;
    }
    assert_eq!(same, 22, "all recorded calls but the one with beans");
}

#[tokio::test]
async fn what_dubbo_go_sent_is_understood() {
    let service = with_built_ins(service());
    let mut answered = Vec::new();
    for call in recorded("go/dubbo-generic-modes") {
        let answer = invoke(&service, &call).await;
        let kind = match answer {
            Ok(Value::String(text)) if text.len() < 20 => text.to_string(),
            Ok(value) => value.kind().to_string(),
            Err(status) => status.code().to_string(),
        };
        answered.push((call.mode, call.method, kind));
    }
    let answered: Vec<_> = answered
        .iter()
        .map(|(mode, method, kind)| (&**mode, &**method, &**kind))
        .collect();
    // Plain strings where a bean or a message belongs are refused there as well.
    assert_eq!(
        answered,
        [
            ("true", "hello", "hello x"),
            ("true", "getUser", "a map"),
            ("gson", "hello", "\"hello x\""),
            ("gson", "getUser", "a string"),
            ("bean", "hello", "invalid_argument"),
            ("bean", "getUser", "invalid_argument"),
            ("protobuf-json", "hello", "unimplemented"),
            ("protobuf-json", "getUser", "unimplemented"),
        ]
    );
}

async fn invoke(service: &Service, call: &Recorded) -> Result<Value, Status> {
    let method = service.descriptor().find("$invoke").expect("built in");
    let payload = Payload::encoded(Codec::Hessian2, call.args.clone());
    let key = Arc::new(ServiceKey::new(INTERFACE));
    let mut invocation = Invocation::new(key, method, Body::Unary(payload));
    invocation.attachments.append("generic", call.mode.clone());
    let Body::Unary(payload) = service.invoke(invocation).await?.body else {
        panic!("one answer");
    };
    let mut bytes = BytesMut::new();
    payload
        .encode(Codec::Hessian2, &mut bytes)
        .expect("written");
    Ok(from_slice(&bytes).expect("one value"))
}

fn recorded(name: &str) -> impl Iterator<Item = Recorded> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dubbo-test/golden");
    let text = fs::read_to_string(root.join(name).with_extension("jsonl")).expect("recordings");
    let frames: Vec<Json> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .filter(|record: &Json| record["kind"] == "frame" && record["event"] == false)
        .collect();
    let (requests, answers): (Vec<_>, Vec<_>) = frames
        .into_iter()
        .partition(|frame| frame["request"] == true);
    // An id may be used again on another connection.
    let mut by_id: HashMap<_, Vec<Json>> = HashMap::new();
    for answer in answers.into_iter().rev() {
        by_id
            .entry(answer["id"].to_string())
            .or_default()
            .push(answer);
    }
    requests.into_iter().map(move |request| {
        let answers = by_id.get_mut(&request["id"].to_string()).expect("answered");
        call(&request, &answers.pop().expect("answered"))
    })
}

fn call(request: &Json, answer: &Json) -> Recorded {
    let body = body(request);
    let mut decoder = Decoder::new(&body);
    for _ in 0..5 {
        decoder
            .skip()
            .expect("version, path, version, method, descriptor");
    }
    let start = decoder.position();
    let method = decoder.string().expect("the method");
    decoder.skip().expect("the types");
    decoder.skip().expect("the arguments");
    let args = body.slice(start..decoder.position());
    let attachments = decoder.value().expect("the attachments");
    let mode = attachments
        .as_typed_map()
        .and_then(|map| map.get("generic"));
    Recorded {
        label: format!("{} {method}", request["label"]),
        method,
        args,
        mode: mode
            .and_then(Value::as_str)
            .expect("a generic call")
            .to_owned(),
        answer: answer_of(answer),
    }
}

fn answer_of(frame: &Json) -> Answer {
    if frame["status"] != 20 {
        return Answer::Error;
    }
    let body = body(frame);
    let mut decoder = Decoder::new(&body);
    match decoder.int().expect("the type") {
        0 | 3 => Answer::Exception(Value::decode(&mut decoder).expect("an exception")),
        2 | 5 => Answer::Value(Value::Null),
        _ => Answer::Value(Value::decode(&mut decoder).expect("a value")),
    }
}

fn body(frame: &Json) -> Bytes {
    let hex = frame["hex"].as_str().expect("a whole frame");
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    Bytes::from(bytes).slice(16..)
}

/// Maps and objects have no order that matters.
fn sorted(value: &Value) -> Value {
    let entries = |entries: Vec<(String, Value)>| {
        let mut entries = entries;
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        entries.into_iter()
    };
    match value {
        Value::List(list) => Value::list(list.items().iter().map(sorted)),
        Value::Map(map) => {
            let all = map.entries().iter();
            let all =
                all.map(|(key, value)| (key.as_str().expect("a text").to_owned(), sorted(value)));
            Value::map(entries(all.collect()).map(|(key, value)| (key.into(), value)))
        }
        Value::Object(object) => {
            let all = object
                .fields()
                .map(|(name, value)| (name.to_owned(), sorted(value)));
            Value::object(object.class(), entries(all.collect()))
        }
        scalar => scalar.clone(),
    }
}

/// Java leaves out what is null, and writes dates in words.
fn json(value: &Value) -> Json {
    let mut json = serde_json::from_str(value.as_str().expect("JSON text")).expect("JSON");
    if let Json::Object(fields) = &mut json {
        fields.retain(|name, value| name != "birth" && !value.is_null());
    }
    json
}
