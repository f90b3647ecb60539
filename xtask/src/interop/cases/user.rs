//! Calls of the service that is a Java interface.

use serde_json::{Value, json};

use super::{Case, case};
use crate::interop::{
    expect::{ends, gives, holds},
    route::{Party::Go, Protocol, from, to},
};

pub(super) fn cases() -> Vec<Case> {
    [calls(), shapes(), routing(), attachments(), streams()]
        .into_iter()
        .flatten()
        .map(Case::java)
        .map(|case| match &*case.name {
            name if name.starts_with("user_server_stream") || name == "user_bidi" => {
                case.only(&[Protocol::Tri])
            }
            "user_attachments_object" => case.only(&[Protocol::Dubbo]),
            _ => case,
        })
        .collect()
}

fn calls() -> Vec<Case> {
    vec![
        case("user_get", gives(user("A1"))),
        case("user_get_many", gives(json!([user("A"), user("B")]))),
        case("user_get_map", gives(json!({"A": user("A")}))),
        case("user_echo", gives("equal")),
        case("user_null", gives(Value::Null)),
        case("user_cycle", gives("equal")),
        case("user_bag", gives("equal")),
        case("user_hello", gives("hello é 中文 😀")),
        case("user_nothing", gives(Value::Null)),
        case("user_void", gives(Value::Null)),
        case("user_mix", {
            let mut mixed = user("A");
            mixed["name"] = json!("new");
            mixed["age"] = json!(9);
            gives(mixed)
        }),
        case("user_mix_null", gives(json!(["new", 9]))),
        case("user_no_args", gives("no-args")),
        case("user_async", gives("async x")),
        case("user_oneway", gives(1)),
        case("user_decimal", gives("-12345678901234567890.123456789")),
        case("user_integer", gives("-123456789012345678901234567890")),
        case("user_ping", gives("equal")),
        case("user_big_900k", gives(json!({"as_asked": true}))),
        case("user_service_echo", gives("OK")),
        case("user_timeout", ends(4).took(250..=700)),
        case("user_after_timeout", gives("hello again")),
    ]
}

/// What only Java's types make a difference for.
fn shapes() -> Vec<Case> {
    [
        case("user_graph", gives("equal")),
        case("user_child", gives("equal")),
        case("user_result", gives(json!(["equal", "equal"]))),
        case("user_three", gives(json!(["a|2|u", "null|2|null"]))),
        case("user_overload", gives(json!(["S:a", "I:3", "SI:a:3"]))),
        case("user_scalars", gives("equal")),
        case("user_boxed", gives("equal")),
        case("user_times", gives("equal")),
        case("user_collections", gives("equal")),
        case("user_arrays", gives("equal")),
    ]
    .map(|case| case.without(from(Go), JAVA_ONLY).without(to(Go), JAVA_ONLY))
    .into()
}

fn routing() -> Vec<Case> {
    vec![
        case("user_group_version", gives("hello x from g1/1.0.0")),
        case("user_wrong_version", ends(12)),
        case("user_wrong_group", ends(12)),
        case("user_unknown_service", ends(12)),
    ]
}

fn attachments() -> Vec<Case> {
    let echoed = |seen: &[&str]| holds(json!({"seen": seen, "back": ["reply: reply-reply"]}));
    vec![
        case(
            "user_attachments",
            echoed(&["userid: 7", "x-mixed-case: v"]),
        ),
        case("user_attachments_nonascii", echoed(&["city: Zürich 中"])),
        case(
            "user_attachments_object",
            echoed(&["b: true", "l: [a, 1]", "n: 7"]),
        ),
    ]
}

fn streams() -> Vec<Case> {
    [
        case(
            "user_server_stream",
            gives(json!(["user-p-0", "user-p-1", "user-p-2"])),
        ),
        case(
            "user_server_stream_fail",
            ends(2).after(json!(["user-fail-0"])),
        ),
        case(
            "user_bidi",
            gives(json!(["re:user-1", "re:user-2", "re:user-3"])),
        ),
    ]
    .map(|case| {
        let reason = "dubbo-go has no streams without protobuf";
        case.without(from(Go), reason).without(to(Go), reason)
    })
    .into()
}

/// A user as every consumer prints it.
fn user(id: &str) -> Value {
    json!({
        "id": id, "name": format!("user-{id}"), "age": 20, "score": 1_u64 << 40, "rate": 0.5, "active": true,
        "birth": 1_500_000_000_123_u64, "gender": "FEMALE", "tags": ["a", "b"], "attrs": {"k": "v", "n": 7},
        "friend": null, "photo": "0001feff",
    })
}

const JAVA_ONLY: &str = "a matter of Java's types";
