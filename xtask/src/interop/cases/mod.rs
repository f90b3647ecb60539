//! The matrix as tables: what each case has to come to, over each protocol and in each direction.
//!
//! Where a peer does not do what a correct one does, the row says what it does instead, and why; a run that finds it
//! otherwise fails. What is asked of our own side is in `docs/spec`.

mod case;
mod failures;
mod generic;
mod greeter;
mod greeter_time;
mod grpc;
mod life;
mod routing;
mod user;
mod values;

use self::case::case;
pub(super) use self::case::{Case, Family, Verdict};

/// Every row, in the order in which they run.
pub(super) fn all() -> Vec<Case> {
    [
        greeter::cases(),
        greeter_time::cases(),
        routing::cases(),
        user::cases(),
        values::cases(),
        failures::cases(),
        generic::cases(),
        grpc::cases(),
        life::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        interop::route::{Party, Protocol, Route},
        process,
    };

    #[test]
    fn each_case_is_named_once() {
        let cases = all();
        let names: BTreeSet<_> = cases.iter().map(|case| &case.name).collect();
        assert_eq!(names.len(), cases.len());
    }

    #[test]
    fn the_matrix_is_large() {
        let cases = all();
        for (peer, wanted) in [(Party::Go, 300), (Party::Java, 300)] {
            let routes = [
                Route {
                    consumer: Party::Rust,
                    provider: peer,
                },
                Route {
                    consumer: peer,
                    provider: Party::Rust,
                },
            ];
            let cells = cases
                .iter()
                .flat_map(|case| Protocol::ALL.map(|protocol| (case, protocol)))
                .flat_map(|(case, protocol)| routes.map(|route| case.leg(route, protocol)))
                .flatten()
                .count();
            assert!(cells >= wanted, "{cells} cells with {peer}");
        }
    }

    #[test]
    fn what_a_peer_decides_is_recorded() {
        // Refused before it was sent, not sent whole, or no traffic at all.
        let unsent = [
            "tri/attachments_newline",
            "dubbo/user_big_2m",
            "tri/shutdown_exit",
            "dubbo/shutdown_exit",
        ];
        for peer in [Party::Go, Party::Java] {
            for (consumer, provider) in [(Party::Rust, peer), (peer, Party::Rust)] {
                let route = Route { consumer, provider };
                for protocol in Protocol::ALL {
                    let labels: Vec<_> = all()
                        .iter()
                        .filter(|case| {
                            let leg = case.leg(route, protocol);
                            leg.is_some_and(|leg| leg.verdict == Verdict::Peer)
                        })
                        .map(|case| protocol.label(&case.name))
                        .filter(|label| !unsent.contains(&&**label))
                        .collect();
                    if labels.is_empty() {
                        continue;
                    }
                    let file = format!("{}-{protocol}.jsonl", route.slug());
                    let text = process::read(format!("interop/captures/{file}")).expect(&file);
                    for label in labels {
                        let found = text.contains(&format!("\"label\": \"{label}\""));
                        assert!(found, "{file} has no record of {label}");
                    }
                }
            }
        }
    }
}
