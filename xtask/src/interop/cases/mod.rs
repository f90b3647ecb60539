//! The matrix as a table: what each case has to come to in each direction.
//!
//! Where dubbo-go 3.3.2 does not do what a correct peer does, the row says what it does instead, and why; a run that
//! finds it otherwise fails. What is asked of our own side is in `docs/spec/triple.md`.

use serde_json::{Value, json};

use super::expect::{Expect, ends, ends_saying, fails, gives, holds};

/// A row: a case that the consumers know by this name.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) rust_to_go: Leg,
    pub(super) go_to_rust: Leg,
}

/// A case in one direction.
#[derive(Debug)]
pub(super) struct Leg {
    pub(super) expect: Expect,
    /// What is special about it.
    pub(super) note: &'static str,
}

/// Every row, in the order in which they run.
pub(super) fn all() -> Vec<Case> {
    [
        calls(),
        streams(),
        errors(),
        deadlines_and_cancellation(),
        routing(),
        attachments(),
        health(),
        shutdown(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn calls() -> Vec<Case> {
    vec![
        both("greet", gives("hello dubbo")),
        both("greet_empty", gives("hello ")),
        both("greet_unicode", gives("hello é 中文 😀")),
        both("echo_all", gives("equal")),
        both("echo_zero", gives("equal")),
        both(
            "big_2m",
            gives(json!({"received": 2 << 20, "as_asked": true})),
        ),
        both("big_request_over", ends(8)),
        both("big_response_over", ends(8)),
    ]
}

fn streams() -> Vec<Case> {
    let asked = "stream failed as asked";
    let numbers: Vec<_> = (0..500).map(|n| n.to_string()).collect();
    vec![
        both(
            "server_stream",
            gives(json!([
                "hello dubbo #0",
                "hello dubbo #1",
                "hello dubbo #2"
            ])),
        ),
        both("server_stream_none", gives(json!([]))),
        both(
            "server_stream_fail_first",
            fails(9, asked).after(json!(["hello dubbo #0", "hello dubbo #1"])),
        ),
        both(
            "server_stream_many",
            gives(json!({"count": 2000, "last": "hello dubbo #1999"})),
        ),
        both(
            "client_stream",
            gives(json!({"greeting": "hello a,b,c", "seq": 3})),
        ),
        both(
            "client_stream_none",
            gives(json!({"greeting": "hello ", "seq": 0})),
        ),
        both("client_stream_fail", fails(7, asked)),
        both(
            "client_stream_many",
            gives(json!({"greeting": format!("hello {}", numbers.join(",")), "seq": 500})),
        ),
        both("bidi", gives(json!(["hello a", "hello b", "hello c"]))),
        both("bidi_none", gives(json!([]))),
        both("bidi_fail", fails(7, asked).after(json!(["hello a"]))),
        both(
            "bidi_many",
            gives(json!({"count": 500, "last": "hello 499"})),
        ),
    ]
}

fn errors() -> Vec<Case> {
    let mut cases = vec![
        both("fail_plain", fails(17, "boom")),
        both("fail_plain_percent", fails(17, "50% + é\n\t中 end ")),
        both("fail_plain_empty", fails(17, "")),
        both("fail_panic", ends(13)),
    ];
    // Every code of the protocol, and one that it does not know.
    let codes = || (1..=17).chain([99]);
    cases.extend(codes().map(|code| error_code("fail_code", code, &[])));
    let detail = |value: Value| json!({"type": "dubbo.interop.v1.FailDetail", "value": value});
    let details = [
        detail(json!({"text": "one"})),
        detail(json!({"text": "two", "index": 1})),
    ];
    cases.extend(codes().map(|code| error_code("fail_details", code, &details)));
    cases
}

fn error_code(kind: &str, code: u64, details: &[Value]) -> Case {
    let asked = "status as asked";
    let case = both(
        format!("{kind}_{code:02}"),
        fails(code, asked).details(details.to_vec()),
    );
    if code != 17 && !details.is_empty() {
        case.rust_to_go(fails(code, asked), STRIPPED)
    } else {
        case
    }
}

fn deadlines_and_cancellation() -> Vec<Case> {
    vec![
        both("sleep_ok", gives(100)),
        both(
            "sleep_timeout",
            ends(4).took(250..=700).cut_short("Sleep", 200..=600),
        ),
        both(
            "sleep_call_timeout",
            ends(4).took(150..=600).cut_short("Sleep", 100..=500),
        )
        .go_to_rust(
            gives(1000).took(950..=1500),
            "dubbo-go ignores the timeout of one call",
        ),
        both(
            "sleep_ctx_deadline",
            ends(4).took(200..=650).cut_short("Sleep", 150..=550),
        ),
        both(
            "stream_ctx_deadline",
            ends(4)
                .after(json!([]))
                .took(200..=650)
                .cut_short("GreetServerStream", 150..=550),
        )
        .go_to_rust(
            ends_saying(3, "context deadline exceeded")
                .after(json!([]))
                .took(200..=650)
                .cut_short("GreetServerStream", 150..=550),
            "dubbo-go takes a deadline that passes after the response headers for a broken message",
        ),
        both(
            "fail_context",
            ends(4).took(250..=700).cut_short("Fail", 200..=600),
        ),
        both(
            "cancel",
            ends(1).took(150..=400).cut_short("Sleep", 150..=400),
        )
        .rust_to_go(
            gives("dropped")
                .took(150..=400)
                .cut_short("Sleep", 150..=400),
            DROPPED,
        ),
        both(
            "cancel_stream",
            ends(1).after(2).cut_short("GreetServerStream", 80..=300),
        )
        .rust_to_go(gives(2).cut_short("GreetServerStream", 80..=300), DROPPED),
        both(
            "cancel_client_stream",
            ends(1).cut_short("GreetClientStream", 150..=400),
        )
        .rust_to_go(
            gives("dropped").cut_short("GreetClientStream", 150..=400),
            DROPPED,
        ),
        both(
            "cancel_bidi",
            ends(1)
                .after(json!(["hello a"]))
                .cut_short("GreetBidi", 0..=200),
        )
        .rust_to_go(
            gives(json!(["hello a"])).cut_short("GreetBidi", 0..=200),
            DROPPED,
        ),
    ]
}

fn routing() -> Vec<Case> {
    vec![
        both("unknown_method", ends(12)),
        both("unknown_service", ends(12)),
        both("method_case_lower", gives("hello dubbo")),
        both("method_case_upper", gives("lower dubbo")),
        both("method_case_exact", gives("lower dubbo")),
        both("method_case_wrong", ends(12)),
        both("group_version", gives("hello dubbo from g1/1.0.0")),
        both("group_wrong_version", ends_saying(12, "9.9.9")),
        both("group_without_version", ends_saying(12, "g1")),
        both("wrong_version", ends_saying(12, "9.9.9")),
        both("wrong_group", ends_saying(12, "nogroup")),
    ]
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
                "blob-bin: AAH+/w", "interop-case: attachments_map", "multi: a", "multi: b", "userid: 7",
                "x-mixed-case: v",
            ],
            "trailer": ["reply-bin: AAH+/w", "reply-one: 1", "reply-two: 2a", "reply-two: 2b"],
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
    let stream = |name: &str| both(name, holds(json!([format!("interop-case: {name}")])));
    vec![
        both("attachments_map", map()).go_to_rust(map().unseen(hidden), ""),
        both("attachments_header", header()).go_to_rust(header().unseen(hidden), ""),
        both("attachments_nonascii", non_ascii()),
        both("attachments_newline", ends_saying(3, "bad"))
            .go_to_rust(ends_saying(14, "Bad"), "refused by dubbo-go itself"),
        stream("server_stream_attachments"),
        stream("client_stream_attachments"),
        stream("bidi_attachments"),
    ]
}

fn health() -> Vec<Case> {
    vec![
        both("health_check", gives("SERVING")),
        both("health_check_service", gives("SERVING")),
        both("health_check_group", gives("SERVING")),
        both("health_check_unknown", ends(5)).rust_to_go(
            fails(17, "unknown service"),
            "dubbo-go's own answer loses its code",
        ),
        both("health_watch", gives("SERVING")),
        both("health_watch_unknown", gives("SERVICE_UNKNOWN")),
    ]
}

fn shutdown() -> Vec<Case> {
    let seen = |late: Value| {
        let mut got = json!({"before": "SERVING", "during": "NOT_SERVING", "slept": 2000});
        if !late.is_null() {
            got["late"] = late;
        }
        holds(got)
    };
    vec![
        both("shutdown_inflight", seen(json!({"code": 14}))).rust_to_go(
            seen(Value::Null),
            "dubbo-go takes new calls until the last one ends",
        ),
        both("shutdown_exit", gives(0).took(1000..=5000)).rust_to_go(
            gives(0).took(1000..=15_000),
            "dubbo-go waits ten seconds for its health watchers",
        ),
        both("shutdown_after", ends(14)),
        both("shutdown_reconnect", gives("hello dubbo")),
    ]
}

fn both(name: impl Into<String>, expect: Expect) -> Case {
    let leg = |expect| Leg { expect, note: "" };
    Case {
        name: name.into(),
        rust_to_go: leg(expect.clone()),
        go_to_rust: leg(expect),
    }
}

impl Case {
    /// What a Rust consumer and a dubbo-go provider come to instead, and why.
    fn rust_to_go(mut self, expect: Expect, note: &'static str) -> Self {
        self.rust_to_go = Leg { expect, note };
        self
    }

    /// What a dubbo-go consumer and a Rust provider come to instead, and why.
    fn go_to_rust(mut self, expect: Expect, note: &'static str) -> Self {
        self.go_to_rust = Leg { expect, note };
        self
    }
}

const STRIPPED: &str = "dubbo-go keeps details with code 17 only";
const DROPPED: &str = "a Rust caller cancels by dropping the call";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_matrix_is_large_and_names_each_case_once() {
        let cases = all();
        let names: BTreeSet<_> = cases.iter().map(|case| &case.name).collect();
        assert_eq!(names.len(), cases.len());
        assert!(2 * cases.len() >= 60, "{} cases", cases.len());
    }
}
