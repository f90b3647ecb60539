//! Connections, large bodies, and a provider that stops.

use serde_json::{Value, json};

use super::{Case, case};
use crate::interop::{
    expect::{Expect, ends, gives, holds},
    route::{
        Party::{Go, Java},
        Protocol, Ways, to,
    },
};

pub(super) fn cases() -> Vec<Case> {
    [
        // The last of those with a lasting provider: a peer may drop the connection over it.
        vec![case("user_big_2m", gives(json!({"as_asked": true}))).java()],
        vec![
            case("heartbeat", gives("the same connection"))
                .java()
                .only(&[Protocol::Dubbo]),
        ],
        shutdown(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn shutdown() -> Vec<Case> {
    let dubbo = || Ways::default().over(Protocol::Dubbo);
    let both = |name: &str, expect: Expect| case(name, expect).only(&Protocol::ALL);
    vec![
        both("shutdown_inflight", seen(json!({"code": 14})))
            .also(
                dubbo(),
                holds(json!({"slept": "slept", "late": {"code": 14}})),
                "",
            )
            .peer(
                to(Go).over(Protocol::Tri),
                seen(Value::Null),
                "dubbo-go takes new calls until the last one ends",
            ),
        both("shutdown_exit", gives(0).took(1000..=5000))
            .peer(
                to(Go),
                gives(0).took(1000..=15_000),
                "dubbo-go waits ten seconds for its health watchers",
            )
            .also(
                to(Java),
                gives(143).took(500..=15_000),
                "a Java program that is told to end says so with its status",
            ),
        both("shutdown_after", ends(14)),
        both("shutdown_reconnect", gives("hello dubbo")),
    ]
}

/// What a caller over Triple sees while the provider stops.
fn seen(late: Value) -> Expect {
    let mut got = json!({"before": "SERVING", "during": "NOT_SERVING", "slept": 2000});
    if !late.is_null() {
        got["late"] = late;
    }
    holds(got)
}
