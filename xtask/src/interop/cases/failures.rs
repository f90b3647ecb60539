//! Calls of the Java interface that end with an exception.

use super::{Case, case};
use crate::interop::{
    expect::{Expect, ends_saying, fails, says, throws, throws_saying},
    route::{
        Party::{Go, Java},
        Protocol::{Dubbo, Tri},
        from, to,
    },
};

pub(super) fn cases() -> Vec<Case> {
    let java_only = "a matter of Java's types";
    vec![
        with_go(
            case("error_plain", throws(RUNTIME, "boom")),
            fails(2, "boom"),
            fails(17, "boom"),
            says("java exception: java.lang.RuntimeException - boom"),
        )
        .peer(to(Go).over(Dubbo), throws(THROWABLE, "boom"), GO_THROWS),
        with_go(
            case("error_text", throws(RUNTIME, TEXT)),
            fails(2, TEXT),
            fails(17, TEXT),
            says(TEXT),
        )
        .peer(to(Go).over(Dubbo), throws(THROWABLE, TEXT), GO_THROWS),
        case("error_status", fails(3, "bad name"))
            .also(to(Java), fails(17, "bad name"), BIZ)
            .also(from(Java).over(Dubbo), fails(2, "bad name"), BIZ)
            .also(from(Go).over(Dubbo), says("bad name"), GO_TEXT)
            .peer(
                to(Go).over(Dubbo),
                throws_saying(THROWABLE, "bad name"),
                GO_THROWS,
            ),
        with_go(
            case("error_checked", throws(USER_EXCEPTION, "checked")),
            fails(2, "checked"),
            ends_saying(17, "UserException: checked"),
            says("java exception: org.apache.dubbo.interop.UserException - checked"),
        ),
        with_go(
            case(
                "error_runtime",
                throws("java.lang.IllegalStateException", "runtime"),
            ),
            fails(2, "runtime"),
            ends_saying(17, "IllegalStateException: runtime"),
            says("java exception: java.lang.IllegalStateException - runtime"),
        ),
        case(
            "error_cause",
            throws("org.apache.dubbo.interop.UserRuntimeException", "outer")
                .caused_by("java.lang.IllegalArgumentException", "inner"),
        )
        .without(from(Go), java_only)
        .without(to(Go), java_only),
        case(
            "error_null_message",
            throws("java.lang.IllegalStateException", ""),
        )
        .without(from(Go), java_only)
        .without(to(Go), java_only),
    ]
    .into_iter()
    .map(Case::java)
    .collect()
}

/// What an exception is with dubbo-go: over Triple at either side, and to its callers over dubbo.
fn with_go(case: Case, answered: Expect, received: Expect, told: Expect) -> Case {
    case.also(to(Go).over(Tri), answered, GO_STATUS)
        .also(from(Go).over(Tri), received, GO_STATUS)
        .also(from(Go).over(Dubbo), told, GO_TEXT)
}

const BIZ: &str = "the statuses of Dubbo Java are the numbers of RpcException, and 3 is an error of the application";
const TEXT: &str = "50% + é\n\t中 end ";
const RUNTIME: &str = "java.lang.RuntimeException";
const THROWABLE: &str = "java.lang.Throwable";
const USER_EXCEPTION: &str = "org.apache.dubbo.interop.UserException";
const GO_STATUS: &str = "over Triple an exception is a status for dubbo-go";
const GO_TEXT: &str = "over dubbo an exception is a text for callers of dubbo-go";
const GO_THROWS: &str =
    "over dubbo dubbo-go answers with a java.lang.Throwable, whatever the error";
