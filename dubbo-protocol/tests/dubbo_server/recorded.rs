//! Requests that were sent to live peers, sent here: what is answered differently, and why.

use std::{collections::BTreeMap, fs, path::PathBuf};

use dubbo_core::{
    request::{Request, Response},
    status::Status,
};
use dubbo_hessian2::{Value, java::Throwable};
use dubbo_protocol::java::{JavaService, exception};
use dubbo_test::peer::dubbo::{Answer, Frame, Said};
use serde_json::Value as Json;

use crate::provider::{Provider, url};

const USERS: &str = "org.apache.dubbo.interop.UserService";

#[tokio::test]
async fn what_was_sent_to_java_by_hand_is_answered_as_java_did_or_for_a_reason_otherwise() {
    compare("java/dubbo-raw.jsonl", UNLIKE_JAVA).await;
}

#[tokio::test]
async fn what_was_sent_to_dubbo_go_by_hand_is_answered_as_it_did_or_for_a_reason_otherwise() {
    compare("go/dubbo-probe.jsonl", UNLIKE_GO).await;
}

/// A case, what is said there, what is said here, and why.
type Unlike = (&'static str, &'static str, &'static str, &'static str);

/// What Java answers otherwise.
const UNLIKE_JAVA: &[Unlike] = &[
    (
        "$invoke nativejava",
        "status 70",
        "org.apache.dubbo.rpc.RpcException: org.apache.dubbo.interop.UserService/$invoke of `hello`: generic calls with generic=nativejava are not supported; use true, gson, bean, protobuf-json or raw.return with attachments",
        "a caller reads why",
    ),
    (
        "bad hessian",
        "nothing",
        "status 40",
        "silence is a timeout",
    ),
    (
        "descriptor Object",
        "status 40",
        "\"hello Hi\" with attachments",
        "the name is not overloaded",
    ),
    (
        "descriptor V",
        "status 40",
        "\"hello \" with attachments",
        "a nil of dubbo-go",
    ),
    ("empty body", "nothing", "status 40", "silence is a timeout"),
    (
        "heartbeat go body",
        "nothing",
        "a heartbeat",
        "dubbo-go writes it",
    ),
    (
        "heartbeat long body",
        "status 40",
        "nothing",
        "it is no event",
    ),
    (
        "hello, no attachments at all",
        "status 40",
        "\"hello Hi\" with attachments",
        "nothing needs them",
    ),
    (
        "not allowed class argument",
        "{\"a\": 1} with attachments",
        "java.lang.ProcessBuilder$Null { a: 1 } with attachments",
        "nothing is made by its name",
    ),
    (
        "path with context",
        "status 40",
        "\"hello Hi\" with attachments",
        "the interface is clear",
    ),
    (
        "serialization id 0",
        "nothing",
        "status 40",
        "silence is a timeout",
    ),
    (
        "serialization id 1",
        "nothing",
        "status 40",
        "silence is a timeout",
    ),
    (
        "serialization id 10",
        "nothing",
        "status 40",
        "silence is a timeout",
    ),
    (
        "serialization id 21",
        "nothing",
        "status 40",
        "silence is a timeout",
    ),
    (
        "serialization id 22",
        "nothing",
        "status 40",
        "silence is a timeout",
    ),
    (
        "serialization id 23",
        "nothing",
        "status 40",
        "silence is a timeout",
    ),
    (
        "serialization id 3",
        "nothing",
        "status 40",
        "silence is a timeout",
    ),
    (
        "serialization id 31",
        "nothing",
        "status 40",
        "silence is a timeout",
    ),
    (
        "serialization id 4",
        "nothing",
        "status 40",
        "silence is a timeout",
    ),
    (
        "serialization id 7",
        "nothing",
        "status 40",
        "silence is a timeout",
    ),
    (
        "serialization id 8",
        "nothing",
        "status 40",
        "silence is a timeout",
    ),
    (
        "unknown class argument",
        "{\"a\": 1} with attachments",
        "x.Foo { a: 1 } with attachments",
        "nothing is made by its name",
    ),
    (
        "unknown group",
        "status 70",
        "status 40",
        "one answer for all that is not there",
    ),
    (
        "upper-case method",
        "status 40",
        "\"hello Hi\" with attachments",
        "as on Triple",
    ),
];

/// What dubbo-go answers otherwise.
const UNLIKE_GO: &[Unlike] = &[
    (
        "attachments_without_path",
        "java.lang.Throwable: don't have this exporter, key: ",
        "\"hello Hi\" with attachments",
        "the body names it",
    ),
    (
        "bad_descriptor",
        "nothing",
        "status 40",
        "silence is a timeout",
    ),
    (
        "empty_descriptor",
        "java.lang.Throwable: reflect: Call with too few input arguments with attachments",
        "status 40",
        "Java does not read that class",
    ),
    (
        "exception",
        "java.lang.Throwable: boom with attachments",
        "java.lang.RuntimeException: boom with attachments",
        "Java does not read that class",
    ),
    (
        "garbage_body",
        "nothing",
        "\"hello Hi\" with attachments and status 40",
        "other calls go on",
    ),
    (
        "generic_fail",
        "java.lang.Throwable: boom with attachments",
        "com.alibaba.dubbo.rpc.service.GenericException: java.lang.RuntimeException: boom with attachments",
        "as Java",
    ),
    ("heartbeat_oneway", "a heartbeat", "nothing", "nobody asked"),
    (
        "no_attachments",
        "nothing",
        "\"hello Hi\" with attachments",
        "nothing needs them",
    ),
    (
        "protocol_2_0_0_fail",
        "java.lang.Throwable: boom",
        "java.lang.RuntimeException: boom",
        "Java does not read that class",
    ),
    (
        "protocol_2_0_10",
        "\"hello Hi\"",
        "\"hello Hi\" with attachments",
        "as Java",
    ),
    (
        "protocol_2_6_3",
        "\"hello Hi\" with attachments",
        "\"hello Hi\"",
        "as Java",
    ),
    (
        "protocol_2_7_0",
        "\"hello Hi\" with attachments",
        "\"hello Hi\"",
        "as Java",
    ),
    (
        "protocol_3_0_0",
        "\"hello Hi\" with attachments",
        "\"hello Hi\"",
        "as Java",
    ),
    ("readonly", "a heartbeat", "nothing", "nobody asked"),
    (
        "readonly_then_call",
        "\"hello Hi\" with attachments and a heartbeat",
        "\"hello Hi\" with attachments",
        "nobody asked",
    ),
    (
        "serialization_0",
        "nothing",
        "status 40",
        "silence is a timeout",
    ),
    (
        "serialization_21",
        "\"hello Hi\" with attachments",
        "status 40",
        "it is not understood",
    ),
    (
        "serialization_23",
        "\"hello Hi\" with attachments",
        "status 40",
        "it is not understood",
    ),
    (
        "serialization_3",
        "\"hello Hi\" with attachments",
        "status 40",
        "it is not understood",
    ),
    (
        "unknown_method",
        "java.lang.Throwable: cannot find method [noSuch] of service [org.apache.dubbo.interop.UserService] in dubbo with attachments",
        "status 40",
        "Java does not read that class",
    ),
    (
        "unknown_service",
        "java.lang.Throwable: don't have this exporter, key: no.such.Service",
        "status 40",
        "Java does not read that class",
    ),
];

/// The methods of that service which answers depend on.
fn users() -> JavaService {
    JavaService::new(USERS)
        .method("hello", async |call: Request<(String,)>| {
            Ok(format!("hello {}", call.message().0).into())
        })
        .method("noArgs", async |_: Request<()>| {
            Ok("no-args".to_owned().into())
        })
        .method("oneway", async |_: Request<(String,)>| Ok(().into()))
        .method("fire", async |_: Request<(String,)>| Ok(().into()))
        .method("nothing", async |_: Request<(String,)>| {
            Ok(None::<String>.into())
        })
        .method("echo", async |call: Request<(Value,)>| {
            Ok(call.into_message().0.into())
        })
        .method("sleep", async |_: Request<(i64,)>| {
            Ok("slept".to_owned().into())
        })
        .method("fail", async |call: Request<(String,)>| {
            Err::<Response<String>, _>(thrown("java.lang.RuntimeException", call.into_message().0))
        })
        .method("throwChecked", async |call: Request<(String,)>| {
            let class = "org.apache.dubbo.interop.UserException";
            Err::<Response<String>, _>(thrown(class, call.into_message().0))
        })
        .method("optionalResult", async |_: Request<(String,)>| {
            // Nests deeper than can be written.
            Ok((0..2000)
                .fold(Value::Null, |inner, _| Value::list([inner]))
                .into())
        })
}

fn thrown(class: &str, message: String) -> Status {
    exception(Throwable::new(class, message))
}

/// Sends every request of a recording on a connection of its own, and compares what is said in the answers.
async fn compare(file: &str, unlike: &[Unlike]) {
    let provider = Provider::at(&url().with_path(USERS), users()).await;
    let mut differences = Vec::new();
    let mut same = 0;
    for (label, (requests, answers)) in exchanges(file) {
        let mut connection = provider.connect().await;
        let mut expected = 0;
        for request in &requests {
            expected += usize::from(request.is_call() && request.is_two_way());
            connection.send(request.clone()).await;
        }
        connection.send(Frame::heartbeat(LAST)).await;
        let mut ours = Vec::new();
        let mut alive = false;
        while expected > 0 || !alive {
            let frame = connection.frame().await;
            expected -= usize::from(frame.flags & EVENT == 0);
            match frame.id {
                LAST => alive = true,
                _ => ours.push(frame),
            }
        }
        let (theirs, ours) = (said(&answers), said(&ours));
        if theirs == ours {
            same += 1;
        } else {
            differences.push((label, theirs, ours));
        }
    }
    let found: Vec<_> = differences
        .iter()
        .map(|(case, theirs, ours)| (case.as_str(), theirs.as_str(), ours.as_str()))
        .collect();
    let known: Vec<_> = unlike
        .iter()
        .map(|(case, theirs, ours, _why)| (*case, *theirs, *ours))
        .collect();
    assert_eq!(found, known);
    assert!(same > 20, "{same} are the same");
}

/// By case: the frames that a client sent on a connection, and those that it received.
fn exchanges(file: &str) -> BTreeMap<String, (Vec<Frame>, Vec<Frame>)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../dubbo-test/golden");
    let text = fs::read_to_string(root.join(file)).expect("a recording");
    let mut all = BTreeMap::<_, (Vec<Frame>, Vec<Frame>)>::new();
    let mut cut = Vec::new();
    for line in text.lines() {
        let record: Json = serde_json::from_str(line).expect("JSON");
        let (Some(hex), "frame") = (
            record["hex"].as_str(),
            record["kind"].as_str().expect("a kind"),
        ) else {
            continue;
        };
        let label = record["label"].as_str().expect("a label").to_owned();
        let bytes: Vec<u8> = (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex"))
            .collect();
        let id: [u8; 8] = bytes[4..12].try_into().expect("eight bytes");
        let frame = Frame {
            flags: bytes[2],
            status: bytes[3],
            id: i64::from_be_bytes(id),
            claimed: None,
            body: bytes[16..].to_vec(),
        };
        if record["body_len"].as_u64() != Some(frame.body.len() as u64) {
            cut.push(label.clone());
        }
        let (requests, answers) = all.entry(label).or_default();
        match record["dir"].as_str() {
            Some("c2s") => requests.push(frame),
            _ => answers.push(frame),
        }
    }
    // dubbo-go leaves a null result out, and with the null behind the end that is no answer. A user is not served here.
    cut.extend(["null_argument", "generic"].map(str::to_owned));
    all.retain(|label, (requests, _)| !requests.is_empty() && !cut.contains(label));
    all
}

/// What is compared of answers: not texts, which everybody writes in his own way, and not the order.
fn said(answers: &[Frame]) -> String {
    let mut all: Vec<_> = answers.iter().map(one).collect();
    all.sort();
    if all.is_empty() {
        return "nothing".to_owned();
    }
    all.join(" and ")
}

fn one(answer: &Frame) -> String {
    if answer.flags & EVENT != 0 {
        return "a heartbeat".to_owned();
    }
    // dubbo-go puts a null behind the end.
    let mut frame = answer.clone();
    if frame.status == 20 && frame.body.ends_with(b"N") && frame.body.len() > 1 {
        frame.body.pop();
    }
    frame.flags &= SERIALIZATION;
    let answer = Answer::of(&frame);
    let beside = match answer.attachments {
        Some(_) => " with attachments",
        None => "",
    };
    match answer.said {
        Said::Exception { class, message } => {
            let first = message.lines().next().unwrap_or_default();
            format!("{class}: {first}{beside}")
        }
        Said::Refused(status, _) => format!("status {status}"),
        Said::Value(value) => format!("{value:?}{beside}"),
    }
}

const LAST: i64 = i64::MIN + 7;
const EVENT: u8 = 0x20;
const SERIALIZATION: u8 = 0x1f;
