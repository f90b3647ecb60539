//! `p2c`: of two, the one with more room.

use std::{cmp::Ordering, fmt, sync::Arc};

use dubbo_core::{
    cluster::{Candidates, LoadBalance, Node},
    invocation::Invocation,
};
use fastrand::Rng;
use tokio::time::Instant;

use super::{Clock, chance::Chance, draw};

/// Draws two providers by weight and picks the one that has room for more calls.
///
/// `docs/spec/cluster.md` §3.7. A provider with an adaptive limit says with its answers how many more calls of the method
/// it has room for, which is believed for ten seconds. One that has not said so is tried with up to three calls at a time
/// before those that have; between two such, the one with fewer calls of the method under way is picked.
pub struct PowerOfTwo {
    chance: Chance,
    clock: Clock,
}

impl PowerOfTwo {
    /// Chance seeded by the system, warm-up by the system's clock.
    pub fn new() -> Self {
        Self {
            chance: Chance::new(),
            clock: Clock::system(),
        }
    }

    /// The same picks for the same seed, as long as one caller at a time picks.
    pub fn from_seed(seed: u64, clock: Clock) -> Self {
        Self {
            chance: Chance::from_seed(seed),
            clock,
        }
    }
}

impl Default for PowerOfTwo {
    fn default() -> Self {
        Self::new()
    }
}

impl LoadBalance for PowerOfTwo {
    fn select(&self, candidates: &Candidates, invocation: &Invocation) -> Option<usize> {
        self.select_where(candidates, invocation, &|_| true)
    }

    fn select_where(
        &self,
        candidates: &Candidates,
        invocation: &Invocation,
        wanted: &dyn Fn(&Node) -> bool,
    ) -> Option<usize> {
        let (now, mut rng) = (self.clock.now_millis(), self.chance.rng());
        let (first, second) = draw::two_by_weight(candidates, now, &mut rng, wanted)?;
        let Some(second) = second else {
            return Some(first);
        };
        let now = Instant::now();
        let room = |at| Some(Room::of(candidates.get(at)?, invocation, now));
        Some(better(
            first,
            second,
            room(first)?.cmp(&room(second)?),
            &mut rng,
        ))
    }
}

/// The one of two that `order` says is the greater; by chance when they are equal.
pub(super) fn better(first: usize, second: usize, order: Ordering, rng: &mut Rng) -> usize {
    match order {
        Ordering::Less => second,
        Ordering::Equal if rng.bool() => second,
        Ordering::Equal | Ordering::Greater => first,
    }
}

/// How much room a provider has: least first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    /// It has not said, and is tried already: fewer calls under way are more room.
    Tried(std::cmp::Reverse<u32>),
    /// It said.
    Said(u64),
    /// It has not said, and has to be tried.
    Unknown(std::cmp::Reverse<u32>),
}

impl Room {
    fn of(node: &Node, invocation: &Invocation, now: Instant) -> Self {
        let seen = node.state.seen(&invocation.method);
        if let Some(remaining) = seen.and_then(|seen| seen.remaining(now)) {
            return Self::Said(remaining);
        }
        match seen.map_or(0, dubbo_core::cluster::MethodState::active) {
            active @ ..PROBES => Self::Unknown(std::cmp::Reverse(active)),
            active => Self::Tried(std::cmp::Reverse(active)),
        }
    }
}

impl fmt::Debug for PowerOfTwo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PowerOfTwo").finish_non_exhaustive()
    }
}

dubbo_core::extension!(dyn LoadBalance, "p2c", |_cx| Ok(
    Arc::new(PowerOfTwo::new())
));

/// So many calls at a time find out what a provider is like that nobody knows.
pub(super) const PROBES: u32 = 3;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::testing::{candidates, invocation, weighted};

    fn counts(candidates: &Candidates, picks: usize) -> Vec<u32> {
        let p2c = PowerOfTwo::from_seed(42, Clock::new(|| 0));
        let mut counts = vec![0; candidates.len()];
        for _ in 0..picks {
            counts[p2c.select(candidates, &invocation()).expect("somebody")] += 1;
        }
        counts
    }

    fn report(candidates: &Candidates, remaining: &[u64]) {
        let call = invocation();
        for (node, &remaining) in candidates.iter().zip(remaining) {
            let method = node.state.method(&call.method);
            method.report_remaining(remaining, Instant::now());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn cluster_t07_the_one_with_more_room_is_picked_and_the_unknown_are_tried() {
        let three = candidates(&weighted(&[1; 3]));
        report(&three, &[50, 50, 0]);
        let got = counts(&three, 10_000);
        assert_eq!(got[2], 0);
        assert!(
            got[..2].iter().all(|count| count.abs_diff(5_000) <= 200),
            "{got:?}"
        );

        let three = candidates(&weighted(&[1; 3]));
        report(&three, &[50, 50]);
        let (call, c) = (invocation(), three.get(2).expect("c"));
        let mut probes = Vec::new();
        for outstanding in 0..5 {
            let got = counts(&three, 3_000);
            // In two of three pairs there is c.
            let want = if outstanding < 3 { 2_000 } else { 0 };
            assert!(
                got[2].abs_diff(want) <= 104,
                "{outstanding} outstanding: {got:?}"
            );
            probes.push(c.state.method(&call.method).begin());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn cluster_t07_what_was_said_more_than_ten_seconds_ago_is_forgotten() {
        let two = candidates(&weighted(&[1; 2]));
        report(&two, &[1, 100]);
        let call = invocation();
        let busy = two.get(0).expect("a").state.method(&call.method);
        let _attempts: Vec<_> = (0..4).map(|_| busy.begin()).collect();
        tokio::time::advance(Duration::from_secs(10)).await;
        report(&two, &[1]);
        assert_eq!(counts(&two, 100), [0, 100]);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(
            counts(&two, 100),
            [0, 100],
            "nobody knows b: it is tried first"
        );
        let other = two.get(1).expect("b").state.method(&call.method);
        let _attempts: Vec<_> = (0..4).map(|_| other.begin()).collect();
        assert_eq!(
            counts(&two, 100),
            [100, 0],
            "b is being tried, and a said 1"
        );
    }

    #[test]
    fn nobody_says_anything_and_fewer_calls_under_way_decide() {
        let two = candidates(&weighted(&[1; 2]));
        let call = invocation();
        let a = two.get(0).expect("a").state.method(&call.method);
        for active in [1, 5] {
            let _attempts: Vec<_> = (0..active).map(|_| a.begin()).collect();
            assert_eq!(counts(&two, 100), [0, 100], "{active} at a");
        }
        let got = counts(&two, 10_000);
        assert!(got[0].abs_diff(5_000) <= 200, "{got:?}");
    }

    #[test]
    fn weights_say_who_is_drawn() {
        let got = counts(&candidates(&weighted(&[0, 1, 1])), 10_000);
        assert_eq!(got[0], 0);
        // Of each pair one is picked by chance: each stands in the pairs that it is drawn for.
        let got = counts(&candidates(&weighted(&[2, 1, 1])), 40_000);
        assert!(got[0] > got[1] && got[0] > got[2], "{got:?}");
    }
}
