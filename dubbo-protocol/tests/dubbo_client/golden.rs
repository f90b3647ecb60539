//! Every answer that a live provider has given means to our callers what it meant.

use std::{fs, path::PathBuf};

use dubbo_core::{
    request::Response,
    status::{Code, Origin, Status},
};
use dubbo_hessian2::{Decoder, Value};
use dubbo_protocol::{DubboProtocol, java::thrown};
use dubbo_test::{
    peer::dubbo::{Frame, Server},
    soon,
};
use serde_json::Value as Json;

use crate::support::{echo, stub};

/// One recorded answer.
struct Recorded {
    label: String,
    status: u8,
    serialization: u8,
    body: Vec<u8>,
}

#[tokio::test]
async fn recorded_answers_mean_what_they_meant() {
    let recorded = recorded_answers();
    assert!(recorded.len() > 400, "{} answers", recorded.len());

    let server = Server::bind().await;
    let protocol = DubboProtocol::default();
    let stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    let (mut values, mut thrown, mut refused, mut closing) = (0, 0, 0, 0);
    for answer in recorded {
        let Recorded {
            label,
            status,
            serialization,
            body,
        } = answer;
        let provider = async {
            let call = connection.call().await;
            let mut answer = Frame::answer(&call, status, &*body);
            answer.flags = answer.flags & !0x1f | serialization;
            connection.send(answer).await;
        };
        let (reply, ()) = tokio::join!(echo(&stub, "x").into_future(), provider);
        match (status, body.first()) {
            (20, _) if serialization != 2 => check_unreadable(&label, &reply),
            (20, Some(0x90 | 0x93)) => {
                check_thrown(&label, &reply, &body[1..]);
                thrown += 1;
            }
            (20, _) => {
                check_value(&label, reply, &body);
                values += 1;
            }
            _ => {
                check_refused(&label, &reply, status, &body);
                refused += 1;
            }
        }
        if !stub.invoker().is_available() {
            assert!(
                body.escape_ascii().to_string().contains("closing"),
                "{label}"
            );
            closing += 1;
            connection.send(Frame::event(1, "W")).await;
            let undone = async {
                while !stub.invoker().is_available() {
                    tokio::task::yield_now().await;
                }
            };
            soon("the end of the pause", undone).await;
        }
    }
    assert!(
        values > 300 && thrown > 30 && refused > 10 && closing > 0,
        "{values} {thrown} {refused} {closing}"
    );
}

/// The value is what stands behind the type, and nothing where the type says so.
fn check_value(label: &str, reply: Result<Response<Value>, Status>, body: &[u8]) {
    let got = reply.unwrap_or_else(|status| panic!("{label}: {status}"));
    let want = match body[0] {
        0x91 | 0x94 => Decoder::new(&body[1..]).value().expect(label),
        _ => Value::Null,
    };
    assert_eq!(got.into_message(), want, "{label}");
}

/// The exception has the class and the message that stand in the body. An `RpcException` is the framework's own.
fn check_thrown(label: &str, reply: &Result<Response<Value>, Status>, body: &[u8]) {
    let status = reply.as_ref().expect_err(label);
    let object = Decoder::new(body).value().expect(label);
    let object = object.as_object().expect(label);
    let rpc = object.class().ends_with(".RpcException");
    let generic = object.class().ends_with(".GenericException");
    if rpc {
        assert_ne!(status.origin(), Origin::Transport, "{label}: {status}");
    } else {
        assert_eq!(
            (status.code(), status.origin()),
            (Code::Business, Origin::Business),
            "{label}"
        );
    }
    let thrown = thrown(status).unwrap_or_else(|| panic!("{label}: {status:?}"));
    let text = |field: &str| object.get(field).and_then(Value::as_str).map(str::to_owned);
    let (class, message) = if generic {
        (text("exceptionClass"), text("exceptionMessage"))
    } else {
        (Some(object.class().to_owned()), text("detailMessage"))
    };
    assert_eq!(Some(thrown.class()), class.as_deref(), "{label}");
    assert_eq!(
        thrown.message().unwrap_or_default(),
        message.unwrap_or_default(),
        "{label}"
    );
}

/// The text says which status it was and what the provider said.
fn check_refused(label: &str, reply: &Result<Response<Value>, Status>, status: u8, body: &[u8]) {
    let refusal = reply.as_ref().expect_err(label);
    assert_eq!(refusal.origin(), Origin::Remote, "{label}");
    let text = Decoder::new(body).string().expect(label);
    for part in [
        &*format!("({status})"),
        &text,
        "com.x.Echo/echo at 127.0.0.1:",
    ] {
        assert!(refusal.message().contains(part), "{label}: {refusal}");
    }
}

/// A serialization that nobody asked for is said to be one.
fn check_unreadable(label: &str, reply: &Result<Response<Value>, Status>) {
    let status = reply.as_ref().expect_err(label);
    assert!(
        status.message().contains("serialization"),
        "{label}: {status}"
    );
}

fn recorded_answers() -> Vec<Recorded> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../dubbo-test/golden");
    let mut answers = Vec::new();
    for folder in ["go", "java"] {
        for entry in fs::read_dir(root.join(folder)).expect("recordings") {
            let path = entry.expect("readable").path();
            let name = path
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            if name.starts_with("dubbo-") {
                let text = fs::read_to_string(&path).expect("text");
                answers.extend(text.lines().filter_map(|line| {
                    let record: Json = serde_json::from_str(line).expect("JSON");
                    answer_of(&format!("{folder}/{name}"), &record)
                }));
            }
        }
    }
    answers
}

/// What `record` says, if it is a whole answer to a call.
fn answer_of(file: &str, record: &Json) -> Option<Recorded> {
    let is = |field: &str| record[field].as_bool().unwrap_or_default();
    if record["kind"] != "frame" || is("request") || is("event") {
        return None;
    }
    let digits = record["hex"].as_str()?;
    let bytes: Vec<u8> = (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hex"))
        .collect();
    let whole = bytes.len() as u64 == record["body_len"].as_u64()? + 16;
    whole.then(|| Recorded {
        label: format!("{file}: {}", record["label"].as_str().unwrap_or_default()),
        status: bytes[3],
        serialization: bytes[2] & 0x1f,
        body: bytes[16..].to_vec(),
    })
}
