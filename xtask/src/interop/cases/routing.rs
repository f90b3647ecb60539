//! Which service and method is called, attachments, and health.

use serde_json::json;

use super::{Case, case};
use crate::interop::{
    expect::{ends, ends_saying, fails, gives, holds},
    route::{
        Party::{Go, Java, Rust},
        Who::Grpc,
        from, to,
    },
};

pub(super) fn cases() -> Vec<Case> {
    [routing(), attachments(), health()]
        .into_iter()
        .flatten()
        .collect()
}

fn routing() -> Vec<Case> {
    let stub = "a stub of Dubbo Java has the names of its proto file only";
    vec![
        case("unknown_method", ends(12))
            .without(from(Java), stub)
            .peer(to(Java), ends_saying(2, "methodDescriptors"), JAVA_METHODS),
        case("unknown_service", ends(12)).without(from(Java), stub),
        case("method_case_lower", gives("hello dubbo"))
            .without(from(Java), stub)
            .peer(to(Java), ends_saying(2, "methodDescriptors"), JAVA_METHODS)
            .peer(to(Grpc), ends(12), EXACT),
        case("method_case_upper", gives("lower dubbo"))
            .without(from(Java), stub)
            .peer(to(Grpc), ends(12), EXACT),
        case("method_case_exact", gives("lower dubbo")),
        case("method_case_wrong", ends(12))
            .without(from(Java), stub)
            .peer(to(Java), ends_saying(2, "methodDescriptors"), JAVA_METHODS),
        case("group_version", gives("hello dubbo from g1/1.0.0")).without(to(Grpc), NO_GROUPS),
        strict("group_wrong_version", "9.9.9", "hello dubbo from g1/1.0.0"),
        strict("group_without_version", "g1", "hello dubbo from g1/1.0.0"),
        strict("wrong_version", "9.9.9", "hello dubbo"),
        strict("wrong_group", "nogroup", "hello dubbo"),
    ]
}

/// There is no such service, and the answer says its name; a lenient provider has another one answer.
fn strict(name: &str, what: &'static str, lenient: &str) -> Case {
    case(name, ends_saying(12, what))
        .peer(to(Java), gives(lenient), LENIENT)
        .without(to(Grpc), NO_GROUPS)
}

fn attachments() -> Vec<Case> {
    // dubbo-go shows the application every request header, its own ones too; our handlers see attachments only.
    let hidden = &[
        "accept-encoding",
        "content-type",
        "grpc-accept-encoding",
        "grpc-timeout",
        "te",
    ];
    let map = || {
        holds(json!({
            "seen": [
                "blob-bin: AAH+/w", "interop-case: tri/attachments_map", "multi: a", "multi: b", "userid: 7",
                "x-mixed-case: v",
            ],
            "trailer": ["reply-bin: AAH+/w", "reply-one: 1", "reply-two: 2a", "reply-two: 2b"],
        }))
    };
    let single = || {
        holds(json!({
            "seen": ["interop-case: tri/attachments_map", "userid: 7", "x-mixed-case: v"],
            "trailer": ["reply-one: 1", "reply-two: 2a"],
        }))
    };
    let header = || {
        holds(json!({
            "seen": ["multi: a", "multi: b", "userid: 7"],
            "header": ["reply-header: 1"],
        }))
    };
    let non_ascii =
        || holds(json!({"seen": ["city: Zürich 中"], "trailer": ["reply-city: Zürich 中"]}));
    let stream = |name: &str| {
        case(name, holds(json!([format!("interop-case: tri/{name}")])))
            .without(from(Java), NO_TRAILERS)
            .without(to(Java), NO_TRAILERS)
    };
    vec![
        case("attachments_map", map())
            .also(to(Rust), map().unseen(hidden), "")
            .also(from(Java), single(), SINGLE)
            .also(
                to(Java),
                holds(json!({
                    "seen": ["interop-case: tri/attachments_map", "multi: b", "userid: 7", "x-mixed-case: v"],
                    "trailer": ["reply-bin: AAH+/w", "reply-one: 1", "reply-two: 2b"],
                })),
                SINGLE,
            )
            .also(from(Java).to(Rust), single().unseen(hidden), SINGLE),
        case("attachments_header", header())
            .also(to(Rust), header().unseen(hidden), "")
            .without(from(Java), SINGLE)
            .also(
                to(Java),
                holds(json!({"seen": ["multi: b", "userid: 7"], "trailer": ["reply-header: 1"]})),
                "attachments of Dubbo Java have one value each, and those of an answer are trailers",
            ),
        case("attachments_nonascii", non_ascii())
            .peer(
                to(Java),
                holds(json!({"seen": ["city: ZÃ¼rich ä¸\u{ad}"], "trailer": ["reply-city-bin: WvxyaWNoID8"]})),
                LATIN,
            )
            .peer(
                from(Java),
                holds(json!({"seen": ["city-bin: WvxyaWNoID8"], "trailer": ["reply-city: ZÃ¼rich ä¸\u{ad}"]})),
                LATIN,
            )
            .without(from(Grpc), ASCII)
            .without(to(Grpc), ASCII),
        case("attachments_newline", ends_saying(3, "bad"))
            .peer(
                from(Go),
                ends_saying(14, "Bad"),
                "refused by dubbo-go itself",
            )
            .without(from(Java), SINGLE)
            .without(from(Grpc), ASCII),
        stream("server_stream_attachments"),
        stream("client_stream_attachments"),
        stream("bidi_attachments"),
    ]
}

fn health() -> Vec<Case> {
    vec![
        case("health_check", gives("SERVING")),
        case("health_check_service", gives("SERVING")),
        case("health_check_group", gives("SERVING")).without(to(Grpc), NO_GROUPS),
        case("health_check_unknown", ends(5)).peer(
            to(Go),
            fails(17, "unknown service"),
            "dubbo-go's own answer loses its code",
        ),
        case("health_watch", gives("SERVING")),
        case("health_watch_unknown", gives("SERVICE_UNKNOWN")),
    ]
}

const ASCII: &str = "metadata of gRPC is printable ASCII";
const EXACT: &str = "a server of gRPC knows methods by their exact names";
const NO_GROUPS: &str = "a server of gRPC has no groups and versions";
const NO_TRAILERS: &str = "Dubbo Java has no trailers of streams";
const SINGLE: &str = "attachments of Dubbo Java have one value each";
const JAVA_METHODS: &str = "Dubbo Java stumbles over a method that it does not have";
const LATIN: &str = "Dubbo Java sends and reads header values as Latin-1";
const LENIENT: &str = "Dubbo Java serves a service of that name, whatever the group and version";
