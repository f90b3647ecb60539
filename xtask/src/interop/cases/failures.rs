//! Calls of the Java interface that end with an exception.

use super::{Case, case};
use crate::interop::{
    expect::{fails, throws},
    route::{Party::Go, from, to},
};

pub(super) fn cases() -> Vec<Case> {
    let java_only = "a matter of Java's types";
    vec![
        case("error_plain", throws("java.lang.RuntimeException", "boom")),
        case(
            "error_text",
            throws("java.lang.RuntimeException", "50% + é\n\t中 end "),
        ),
        case("error_status", fails(3, "bad name")),
        case(
            "error_checked",
            throws("org.apache.dubbo.interop.UserException", "checked"),
        ),
        case(
            "error_runtime",
            throws("java.lang.IllegalStateException", "runtime"),
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
