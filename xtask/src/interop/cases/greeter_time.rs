//! Deadlines and cancellation of calls of the protobuf service.

use serde_json::json;

use super::{Case, case};
use crate::interop::{
    expect::{ends, ends_saying, gives},
    route::{
        Party::{Go, Java, Rust},
        from, to,
    },
};

pub(super) fn cases() -> Vec<Case> {
    [deadlines(), cancellation()]
        .into_iter()
        .flatten()
        .collect()
}

fn deadlines() -> Vec<Case> {
    vec![
        case("sleep_ok", gives(100)),
        case(
            "sleep_timeout",
            ends(4).took(250..=700).cut_short("Sleep", 200..=600),
        )
        .also(to(Java), ends(4).took(250..=700), RUNS_ON),
        case(
            "sleep_call_timeout",
            ends(4).took(150..=600).cut_short("Sleep", 100..=500),
        )
        .also(to(Java), ends(4).took(150..=600), RUNS_ON)
        .peer(
            from(Go),
            gives(1000).took(950..=1500),
            "dubbo-go ignores the timeout of one call",
        ),
        case(
            "sleep_ctx_deadline",
            ends(4).took(200..=650).cut_short("Sleep", 150..=550),
        )
        .also(to(Java), ends(4).took(200..=650), RUNS_ON)
        .without(from(Java), NO_DEADLINES),
        case(
            "stream_ctx_deadline",
            ends(4)
                .after(json!([]))
                .took(200..=650)
                .cut_short("GreetServerStream", 150..=550),
        )
        .peer(
            from(Go),
            ends_saying(3, "context deadline exceeded")
                .after(json!([]))
                .took(200..=650)
                .cut_short("GreetServerStream", 150..=550),
            "dubbo-go takes a deadline that passes after the response headers for a broken message",
        )
        .without(from(Java), NO_DEADLINES),
        case(
            "fail_context",
            ends(4).took(250..=700).cut_short("Fail", 200..=600),
        )
        .also(to(Java), ends(4).took(250..=700), RUNS_ON),
    ]
}

fn cancellation() -> Vec<Case> {
    vec![
        case(
            "cancel",
            ends(1).took(150..=400).cut_short("Sleep", 150..=400),
        )
        .also(
            from(Rust),
            gives("dropped")
                .took(150..=400)
                .cut_short("Sleep", 150..=400),
            DROPPED,
        )
        .also(
            from(Rust).to(Java),
            gives("dropped").took(150..=400),
            RUNS_ON,
        )
        .without(from(Java), "Dubbo Java cancels no call that has one answer"),
        case(
            "cancel_stream",
            ends(1).after(2).cut_short("GreetServerStream", 80..=300),
        )
        .also(
            from(Rust),
            gives(2).cut_short("GreetServerStream", 80..=300),
            DROPPED,
        )
        .also(
            from(Java),
            gives(2).cut_short("GreetServerStream", 80..=300),
            TOLD_NOTHING,
        ),
        case(
            "cancel_client_stream",
            ends(1).cut_short("GreetClientStream", 150..=400),
        )
        .also(
            from(Rust),
            gives("dropped").cut_short("GreetClientStream", 150..=400),
            DROPPED,
        )
        .also(
            from(Java),
            gives("cancelled").cut_short("GreetClientStream", 150..=400),
            TOLD_NOTHING,
        ),
        case(
            "cancel_bidi",
            ends(1)
                .after(json!(["hello a"]))
                .cut_short("GreetBidi", 0..=200),
        )
        .also(
            from(Rust),
            gives(json!(["hello a"])).cut_short("GreetBidi", 0..=200),
            DROPPED,
        )
        .also(
            from(Java),
            gives(json!(["hello a"])).cut_short("GreetBidi", 0..=200),
            TOLD_NOTHING,
        ),
    ]
}

const DROPPED: &str = "a Rust caller cancels by dropping the call";
const NO_DEADLINES: &str = "a caller of Dubbo Java has timeouts, no deadlines";
const RUNS_ON: &str = "a handler of Dubbo Java with one answer runs on";
const TOLD_NOTHING: &str = "a caller of Dubbo Java that cancels hears no more of the call";
