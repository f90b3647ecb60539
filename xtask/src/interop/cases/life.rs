//! Connections, large bodies, and a provider that stops.

use serde_json::{Value, json};

use super::{Case, case};
use crate::interop::{
    expect::{Expect, ends, ends_saying, gives, holds, says},
    route::{
        Party::{Go, Java},
        Protocol, Ways,
        Who::Grpc,
        from, to,
    },
};

pub(super) fn cases() -> Vec<Case> {
    [
        // The last of those with a lasting provider: a peer may drop the connection over it.
        vec![
            case("user_big_2m", gives(json!({"as_asked": true})))
                .java()
                .peer(
                    from(Go).over(Protocol::Dubbo),
                    says("too large, max payload"),
                    GO_MEGABYTE,
                )
                .peer(to(Go).over(Protocol::Dubbo), ends(14), GO_MEGABYTE)
                .drops_connection(to(Go).over(Protocol::Dubbo)),
        ],
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
    let both = |name: &str, expect: Expect| {
        case(name, expect)
            .only(&Protocol::ALL)
            .without(from(Grpc), OWN_WAY)
            .without(to(Grpc), OWN_WAY)
    };
    vec![
        both("shutdown_inflight", seen(json!({"code": 14})))
            .also(
                dubbo(),
                holds(json!({"slept": "slept", "late": {"code": 14}})),
                "",
            )
            .also(
                from(Go).over(Protocol::Dubbo),
                holds(json!({"slept": "slept", "late": {"message": SHUTTING_DOWN}})),
                "",
            )
            .peer(to(Go).over(Protocol::Tri), seen(Value::Null), GO_GOES_ON)
            .peer(
                to(Java).over(Protocol::Tri),
                holds(json!({"before": "SERVING", "during": {"code": 14}, "slept": 2000, "late": {"code": 14}})),
                "Dubbo Java takes new calls until it is gone, and ends the watches of its health without a word",
            )
            .peer(
                to(Go).over(Protocol::Dubbo),
                holds(json!({"slept": "slept", "late": "hello late"})),
                GO_GOES_ON,
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
        both("shutdown_after", ends(14))
            .also(from(Go).over(Protocol::Dubbo), says(SHUTTING_DOWN), "")
            .also(
                from(Java),
                ends_saying(2, "No provider available"),
                "Dubbo Java has no code of its own for it",
            ),
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

const OWN_WAY: &str = "a server of gRPC stops in a way of its own";
const GO_MEGABYTE: &str = "over dubbo dubbo-go takes and sends less than a megabyte";
const GO_GOES_ON: &str = "dubbo-go takes new calls until the last one ends";
const SHUTTING_DOWN: &str = "java exception:this provider is shutting down and takes no more calls; none of this one was done";
