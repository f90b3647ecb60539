//! Values of every kind, sent and received as `java.lang.Object`.

use serde_json::{Value, json};

use super::{Case, case};
use crate::interop::{
    expect::{ends_saying, gives, mentions},
    route::{
        Party::{Go, Java},
        Protocol, from, to,
    },
};

pub(super) fn cases() -> Vec<Case> {
    let reason = "dubbo-go has no such value";
    vec![
        case("echo_bool", gives("equal")),
        case("echo_int", gives("equal")),
        case("echo_long", gives("equal")),
        case("echo_double", gives("equal")),
        case("echo_string", gives("equal")),
        case("echo_bytes", gives("equal")),
        case("echo_date", gives("equal")),
        case("echo_enum", gives("equal")),
        case("echo_bean", gives("equal")),
        case("echo_list", gives("equal")),
        case("echo_list_of_beans", gives("equal")),
        case("echo_shared", gives("one")),
        case("echo_map", gives("equal")),
        case("echo_map_null_key", gives("equal")),
        case("echo_set", gives("equal")),
        case("echo_array", gives("equal")),
        case("echo_array_null", gives("equal"))
            .without(from(Go), reason)
            .peer(
                to(Go),
                gives(json!({"[string[\"a\", null]": "[string[\"a\", \"\"]"})),
                "dubbo-go makes empty text of a null in an array",
            ),
        case("echo_collection", gives("equal"))
            .without(from(Go), reason)
            .peer(
                to(Go),
                gives(json!({
                    "java.util.LinkedList[\"a\", \"b\"]": "[\"a\", \"b\"]",
                    "java.util.TreeMap{\"a\": 1}": "{\"a\": 1}",
                })),
                "dubbo-go forgets the classes of lists and maps",
            ),
        case("echo_big_number", gives("equal")),
        case("echo_time", gives("equal")),
        case("echo_uuid", gives("equal")),
        case(
            "echo_unknown_class",
            gives(json!({"number": 7, "text": "t"})),
        )
        .peer(
            to(Java),
            gives("{\"number\": 7, \"text\": \"t\"}"),
            "Dubbo Java makes a map of an object whose class it does not have",
        ),
        case("echo_null", gives(Value::Null))
            .peer(
                to(Go).over(Protocol::Tri),
                ends_saying(3, "@in is nil"),
                "dubbo-go refuses null over Triple",
            )
            .peer(
                to(Go).over(Protocol::Dubbo),
                mentions("remote-addr"),
                "dubbo-go leaves the value out, so that the attachments stand in its place",
            ),
    ]
    .into_iter()
    .map(Case::java)
    .collect()
}
