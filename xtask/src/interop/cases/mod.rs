//! The matrix as tables: what each case has to come to, over each protocol and in each direction.
//!
//! Where a peer does not do what a correct one does, the row says what it does instead, and why; a run that finds it
//! otherwise fails. What is asked of our own side is in `docs/spec`.

mod case;
mod failures;
mod generic;
mod greeter;
mod greeter_time;
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
    use crate::interop::route::{Party, Protocol, Route};

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
}
