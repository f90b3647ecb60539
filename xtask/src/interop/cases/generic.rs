//! Calls without the interface.

use serde_json::{Value, json};

use super::{Case, case};
use crate::interop::{
    expect::{ends, ends_saying, fails, gives, says, throws, throws_saying},
    route::{
        Party::{Go, Java, Rust},
        Protocol::{Dubbo, Tri},
        from, to,
    },
};

pub(super) fn cases() -> Vec<Case> {
    [calls(), failures()]
        .into_iter()
        .flatten()
        .map(Case::java)
        .collect()
}

fn calls() -> Vec<Case> {
    vec![
        case("generic_hello", gives("hello x")),
        case("generic_user", gives(json!(["user-A", 20]))),
        case(
            "generic_bean_argument",
            gives(json!(["A", "new", 9, "MALE"])),
        )
        .peer(
            to(Go).over(Tri),
            ends_saying(2, "'Gender' expected type"),
            GO_ENUM,
        )
        .peer(
            to(Go).over(Dubbo),
            throws_saying(THROWABLE, "'Gender' expected type"),
            GO_ENUM,
        ),
        case(
            "generic_list",
            gives(json!([["user-A", 20], ["user-B", 20]])),
        ),
        case("generic_null", gives(Value::Null)),
        case("generic_overload", gives(json!(["S:a", "I:3", "SI:a:3"])))
            .without(from(Go), OVERLOADS)
            .without(to(Go), OVERLOADS),
        case("generic_no_types", gives("hello x")).peer(
            to(Go).over(Tri),
            ends_saying(3, "@in is nil"),
            "dubbo-go refuses null over Triple",
        ),
        case("generic_async", gives("hello x"))
            .without(from(Go), "dubbo-go has no `$invokeAsync`")
            .without(to(Go), "dubbo-go has no `$invokeAsync`")
            .without(from(Rust), "every call of ours is asynchronous"),
        case("generic_typed", gives(json!(["user-A", 20])))
            .without(from(Go), OURS)
            .without(from(Java), OURS),
        case("generic_json", gives(json!(["user-A", 20])))
            .without(from(Go), OURS)
            .without(from(Java), OURS),
    ]
}

fn failures() -> Vec<Case> {
    vec![
        case(
            "generic_error",
            throws("java.lang.RuntimeException", "boom"),
        )
        .also(to(Go).over(Tri), fails(2, "boom"), GO_STATUS)
        .also(from(Go).over(Tri), fails(17, "boom"), GO_STATUS)
        .also(
            from(Go).over(Dubbo),
            says("java exception: java.lang.RuntimeException - boom"),
            GO_TEXT,
        )
        .peer(to(Go).over(Dubbo), throws(THROWABLE, "boom"), GO_THROWS),
        case(
            "generic_error_checked",
            throws("org.apache.dubbo.interop.UserException", "checked"),
        )
        .also(to(Go).over(Tri), fails(2, "checked"), GO_STATUS)
        .also(
            from(Go).over(Tri),
            ends_saying(17, "UserException: checked"),
            GO_STATUS,
        )
        .also(
            from(Go).over(Dubbo),
            says("java exception: org.apache.dubbo.interop.UserException - checked"),
            GO_TEXT,
        ),
        case("generic_unknown_method", ends(12))
            .peer(
                to(Java).over(Tri),
                ends_saying(2, "No such method"),
                JAVA_CODE,
            )
            .peer(
                to(Java).over(Dubbo),
                ends_saying(13, "No such method"),
                JAVA_CODE,
            )
            .peer(
                to(Go).over(Tri),
                ends_saying(2, "method is not found"),
                "dubbo-go has no code of its own for it",
            )
            .peer(
                to(Go).over(Dubbo),
                throws_saying(THROWABLE, "method is not found"),
                GO_THROWS,
            )
            .also(from(Go).over(Dubbo), says("has no method"), GO_TEXT),
    ]
}

const THROWABLE: &str = "java.lang.Throwable";
const JAVA_CODE: &str = "Dubbo Java has no code of its own for it";
const OURS: &str = "a form of our own client";
const OVERLOADS: &str = "Go has no overloads";
const GO_ENUM: &str = "dubbo-go makes no enum of a name";
const GO_STATUS: &str = "over Triple an exception is a status for dubbo-go";
const GO_TEXT: &str = "over dubbo an exception is a text for callers of dubbo-go";
const GO_THROWS: &str =
    "over dubbo dubbo-go answers with a java.lang.Throwable, whatever the error";
