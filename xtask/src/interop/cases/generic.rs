//! Calls without the interface.

use serde_json::{Value, json};

use super::{Case, case};
use crate::interop::{
    expect::{ends, gives, throws},
    route::{Party::Go, from, to},
};

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("generic_hello", gives("hello x")),
        case("generic_user", gives(json!(["user-A", 20]))),
        case(
            "generic_bean_argument",
            gives(json!(["A", "new", 9, "MALE"])),
        ),
        case(
            "generic_list",
            gives(json!([["user-A", 20], ["user-B", 20]])),
        ),
        case("generic_null", gives(Value::Null)),
        case("generic_overload", gives(json!(["S:a", "I:3", "SI:a:3"])))
            .without(from(Go), OVERLOADS)
            .without(to(Go), OVERLOADS),
        case("generic_no_types", gives("hello x")),
        case("generic_async", gives("hello x")).without(from(Go), "dubbo-go has no `$invokeAsync`"),
        case(
            "generic_error",
            throws("java.lang.RuntimeException", "boom"),
        ),
        case(
            "generic_error_checked",
            throws("org.apache.dubbo.interop.UserException", "checked"),
        ),
        case("generic_unknown_method", ends(12)),
    ]
    .into_iter()
    .map(Case::java)
    .collect()
}

const OVERLOADS: &str = "Go has no overloads";
