//! Calls of the service that is a Java interface.

use serde_json::{Value, json};

use super::{Case, case};
use crate::interop::{
    expect::{ends, ends_saying, gives, holds, says, throws_saying},
    route::{
        Party::{Go, Java, Rust},
        Protocol::{self, Dubbo, Tri},
        from, to,
    },
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
        case("user_get_many", gives(json!([user("A"), user("B")])))
            .peer(to(Go).over(Tri), ends_saying(3, "can not assign"), GO_LISTS)
            .peer(
                from(Go).over(Tri),
                ends_saying(3, "can not assign"),
                GO_LISTS,
            )
            .peer(from(Go).over(Dubbo), says("client read timeout"), GO_LISTS)
            .peer(
                to(Go).over(Dubbo),
                throws_saying(THROWABLE, "as type []string"),
                GO_LISTS,
            )
            .drops_connection(from(Go).over(Dubbo)),
        case("user_get_map", gives(json!({"A": user("A")})))
            .peer(to(Go).over(Tri), ends_saying(3, "can not assign"), GO_LISTS)
            .peer(
                to(Go).over(Dubbo),
                throws_saying(THROWABLE, "as type []string"),
                GO_LISTS,
            ),
        case("user_echo", gives("equal")),
        case("user_null", gives(Value::Null))
            .peer(to(Go).over(Tri), ends_saying(3, "@in is nil"), GO_NULL)
            .peer(
                to(Go).over(Dubbo),
                gives("a user"),
                "dubbo-go makes an empty bean of null",
            ),
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
        case("user_mix_null", gives(json!(["new", 9]))).peer(
            to(Go).over(Tri),
            ends_saying(3, "@in is nil"),
            GO_NULL,
        ),
        case("user_no_args", gives("no-args")),
        case("user_async", gives("async x")),
        case("user_oneway", gives(1)),
        case("user_decimal", gives("-12345678901234567890.123456789")),
        case("user_integer", gives("-123456789012345678901234567890")),
        case("user_ping", gives("equal")),
        case("user_big_900k", gives(json!({"as_asked": true}))),
        case("user_service_echo", gives("OK")).peer(
            to(Go).over(Tri),
            ends(12),
            "dubbo-go has no `$echo` over Triple",
        ),
        case("user_timeout", ends(4).took(250..=700)).also(
            from(Go).over(Dubbo),
            says("client read timeout").took(250..=700),
            GO_TEXT,
        ),
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
        unknown("user_wrong_version", "9.9.9")
            .peer(to(Java).over(Tri), gives("hello x"), LENIENT)
            .peer(
                to(Java).over(Dubbo),
                ends_saying(3, "BAD_REQUEST (40)"),
                JAVA_40,
            ),
        unknown("user_wrong_group", "nogroup")
            .peer(to(Java).over(Tri), gives("hello x"), LENIENT)
            .peer(to(Java).over(Dubbo), ends_saying(13, "nogroup"), JAVA_70),
        unknown("user_unknown_service", "Nobody").peer(
            to(Java).over(Dubbo),
            ends_saying(3, "BAD_REQUEST (40)"),
            JAVA_40,
        ),
        unknown("user_unknown_method", "noSuchMethod")
            .without(from(Java), ITS_METHODS)
            .peer(
                to(Java).over(Tri),
                ends_saying(2, "methodDescriptors"),
                "Dubbo Java stumbles over a method that it does not have",
            )
            .peer(
                to(Java).over(Dubbo),
                ends_saying(3, "BAD_REQUEST (40)"),
                JAVA_40,
            ),
        case("user_wrong_arguments", ends(3))
            .without(from(Java), ITS_METHODS)
            .peer(to(Java).over(Tri), ends(2), "Dubbo Java stumbles over it")
            .also(from(Go).over(Dubbo), says("2 parameters"), GO_TEXT)
            .peer(
                to(Go).over(Dubbo),
                throws_saying(THROWABLE, "too many input arguments"),
                GO_THROWS,
            ),
        case("user_wrong_type", ends(3))
            .without(from(Java), ITS_METHODS)
            .peer(
                to(Java).over(Tri),
                gives("hello 5"),
                "Dubbo Java makes text of a number",
            )
            .also(
                from(Go).over(Dubbo),
                says("expected a string, found an int"),
                GO_TEXT,
            )
            .peer(
                to(Go).over(Tri),
                ends(13),
                "dubbo-go drops a call that makes it panic",
            )
            .peer(
                to(Go).over(Dubbo),
                throws_saying(THROWABLE, "using int32 as type string"),
                GO_THROWS,
            ),
    ]
}

/// There is no such thing, and the answer says its name.
fn unknown(case_name: &str, what: &'static str) -> Case {
    case(case_name, ends(12))
        .also(from(Java).over(Dubbo), ends_saying(14, what), JAVA_NETWORK)
        .also(from(Go).over(Dubbo), says(what), GO_TEXT)
        .peer(
            to(Go).over(Dubbo),
            throws_saying(THROWABLE, what),
            GO_THROWS,
        )
}

fn attachments() -> Vec<Case> {
    let echoed = |seen: &[&str]| holds(json!({"seen": seen, "back": ["reply: reply-reply"]}));
    // Callers of dubbo-go over dubbo see no attachments of an answer.
    let seen = |seen: &[&str]| holds(json!({"seen": seen}));
    let text = ["userid: 7", "x-mixed-case: v"];
    let non_ascii = ["city: Zürich 中"];
    vec![
        case("user_attachments", echoed(&text)).also(
            from(Go).over(Dubbo),
            seen(&text),
            GO_NO_REPLY,
        ),
        case("user_attachments_nonascii", echoed(&non_ascii))
            .also(from(Go).over(Dubbo), seen(&non_ascii), GO_NO_REPLY)
            .peer(
                to(Java).over(Tri),
                echoed(&["city: ZÃ¼rich ä¸\u{ad}"]),
                LATIN,
            )
            .peer(
                from(Java).over(Tri),
                echoed(&["city-bin: WvxyaWNoID8"]),
                LATIN,
            ),
        case(
            "user_attachments_object",
            echoed(&["b: true", "l: [a, 1]", "n: 7"]),
        )
        .also(to(Rust), echoed(&["b: true", "l: a,1", "n: 7"]), OUR_LISTS)
        .also(
            from(Go).to(Rust),
            seen(&["b: true", "l: a,1", "n: 7"]),
            OUR_LISTS,
        )
        .also(
            from(Go).to(Java),
            seen(&["b: true", "l: [a, 1]", "n: 7"]),
            GO_NO_REPLY,
        )
        .without(from(Rust), "our attachments are text and bytes"),
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

const THROWABLE: &str = "java.lang.Throwable";
const GO_NO_REPLY: &str = "over dubbo callers of dubbo-go see no attachments of an answer";
const GO_TEXT: &str = "over dubbo an error is a text for callers of dubbo-go";
const GO_THROWS: &str =
    "over dubbo dubbo-go answers with a java.lang.Throwable, whatever the error";
const JAVA_40: &str = "over dubbo Dubbo Java answers so to what it does not have";
const JAVA_70: &str = "over dubbo Dubbo Java answers so to another group";
const JAVA_NETWORK: &str =
    "over dubbo every error that is no answer is one of the network for callers of Dubbo Java";
const LATIN: &str = "Dubbo Java sends and reads header values as Latin-1";
const LENIENT: &str = "Dubbo Java serves a service of that name, whatever the group and version";
const OUR_LISTS: &str = "a list is an attachment with several values for us";
const GO_LISTS: &str = "dubbo-go takes an untyped list for no slice of a type of its own";
const GO_NULL: &str = "dubbo-go refuses null over Triple";
const ITS_METHODS: &str = "Java's compiler calls only what the interface has";
const JAVA_ONLY: &str = "a matter of Java's types";
