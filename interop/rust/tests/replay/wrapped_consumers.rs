//! What consumers of services without protobuf ask of our server (`docs/spec/triple.md` §7).

use prost::Message as _;

use crate::{
    body::envelope,
    consumers::{Caller, USUAL},
    reading::Outcome,
    record::{End, Half},
    wrapped::{self, Wrapper},
};

/// Whoever calls such a method with an ordinary message is told what it takes, and the next call is served.
#[tokio::test]
async fn an_ordinary_message_is_refused_in_words_where_a_wrapper_belongs() {
    let mut caller = java().await;
    let ordinary = b"\x22\x05dubbo";
    let none = Wrapper::default().encode_to_vec();
    for (message, part) in [
        (&ordinary[..], "field 4"),
        (b"\x0a\x20short", "within a field"),
        (&none, "`serializeType`"),
    ] {
        let answer = caller.call(&path("hello"), USUAL, &envelope(message)).await;
        assert_eq!(answer.end, End::Complete, "{part}");
        let outcome = outcome(&answer);
        assert_eq!(outcome.code, INVALID_ARGUMENT, "{outcome:?}");
        assert!(outcome.message.contains(part), "{outcome:?}");
        assert!(outcome.message.contains("UserService/hello"), "{outcome:?}");
    }
    let answer = ask(&mut caller, "hello", &[(b"\x01x", "java.lang.String")]).await;
    assert_eq!(answer.values, [b"\x07hello x"]);
}

/// dubbo-go 3.2 wrote letters of the JVM there, which Java could not resolve.
#[tokio::test]
async fn the_type_of_an_answer_is_one_that_java_resolves_and_void_is_null() {
    let mut caller = java().await;
    let text = "java.lang.String";
    let one = |value: &'static [u8], type_name| vec![(value, type_name)];
    for (method, arguments, type_name, value) in [
        ("echoInt", one(b"\x97", "int"), "int", &b"\x97"[..]),
        ("echoLong", one(b"\xe7", "long"), "long", b"\xe7"),
        ("echoBool", one(b"T", "boolean"), "boolean", b"T"),
        ("echoDouble", one(b"\x5c", "double"), "double", b"\x5c"),
        (
            "echoInteger",
            one(b"N", "java.lang.Integer"),
            "java.lang.Integer",
            b"N",
        ),
        ("echoString", one(b"\x01a", text), text, b"\x01a"),
        ("echoBytes", one(b"\x21a", "[B"), "[B", b"\x21a"),
        (
            "echoIntArray",
            one(b"\x71\x04[int\x91", "[I"),
            "[I",
            b"\x71\x04[int\x91",
        ),
        (
            "echoStringList",
            one(b"\x79\x01a", "java.util.List"),
            "java.util.List",
            b"\x79\x01a",
        ),
        ("noArgs", vec![], text, b"\x07no-args"),
        ("doVoid", one(b"\x01a", text), "void", b"N"),
    ] {
        let answer = ask(&mut caller, method, &arguments).await;
        assert_eq!(answer.types, [type_name], "{method}");
        assert_eq!(answer.values, [value], "{method}");
        assert_eq!(answer.serialize_type, "hessian4", "{method}");
    }
}

/// Calls `method` as Java does, and takes the one message of the answer.
async fn ask(caller: &mut Caller, method: &str, arguments: &[(&[u8], &str)]) -> Wrapper {
    let request = Wrapper {
        serialize_type: "hessian4".to_owned(),
        values: arguments.iter().map(|(value, _)| value.to_vec()).collect(),
        types: arguments
            .iter()
            .map(|(_, name)| (*name).to_owned())
            .collect(),
    };
    let data = envelope(&request.encode_to_vec());
    let answer = caller.call(&path(method), USUAL, &data).await;
    assert_eq!(outcome(&answer).code, 0, "{method}: {answer:?}");
    let mut all = wrapped::all(&answer.data);
    assert_eq!(all.len(), 1, "{method}");
    all.remove(0)
}

async fn java() -> Caller {
    Caller::new(&[("tri-consumer-appname", "java-consumer")]).await
}

fn outcome(answer: &Half) -> Outcome {
    assert_eq!(answer.headers.text(":status").as_deref(), Some("200"));
    let last = answer.trailers.as_ref().unwrap_or(&answer.headers);
    Outcome::of(last).expect("an outcome")
}

fn path(method: &str) -> String {
    format!("/org.apache.dubbo.interop.UserService/{method}")
}

const INVALID_ARGUMENT: u32 = 3;
