//! `roundrobin`: in turn, in proportion to the weights.

use std::{
    fmt,
    hash::{BuildHasherDefault, Hasher},
    sync::Arc,
};

use dubbo_core::{
    cluster::{Candidates, LoadBalance, NodeId},
    invocation::Invocation,
};
use smallvec::SmallVec;
use tokio::time::Instant;

use super::{Clock, SmoothWeighted, methods::Methods};

/// Gives each provider its turns in proportion to its weight, warm-up applied, spread out and not bunched.
///
/// `docs/spec/cluster.md` §3.4. Every method has turns of its own, so that two methods called alternately do not pin each
/// other to one provider. Shares are exact under any number of callers.
pub struct RoundRobin {
    methods: Methods<SmoothWeighted<NodeId, BuildHasherDefault<Itself>>>,
    clock: Clock,
    made: Instant,
}

impl RoundRobin {
    /// A rotation in which nobody has had a turn.
    pub fn new(clock: Clock) -> Self {
        Self {
            methods: Methods::default(),
            clock,
            made: Instant::now(),
        }
    }
}

impl LoadBalance for RoundRobin {
    fn select(&self, candidates: &Candidates, invocation: &Invocation) -> Option<usize> {
        let now = self.clock.now_millis();
        let nodes: SmallVec<[(NodeId, u32); 16]> = candidates
            .iter()
            .map(|node| (node.id, node.effective_weight(now)))
            .collect();
        self.methods
            .of(&invocation.method)
            .pick(&nodes, self.made.elapsed())
    }
}

/// The hash of what is a hash already: a [`NodeId`].
#[derive(Default)]
struct Itself(u64);

impl Hasher for Itself {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl fmt::Debug for RoundRobin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoundRobin").finish_non_exhaustive()
    }
}

dubbo_core::extension!(dyn LoadBalance, "roundrobin", |_cx| Ok(Arc::new(
    RoundRobin::new(Clock::system())
)));

#[cfg(test)]
mod tests {
    use dubbo_core::cluster::Node;

    use super::*;
    use crate::testing::{candidates, invocation, invocation_of, node, weighted};

    fn turns(round_robin: &RoundRobin, weights: &[u32], picks: usize) -> String {
        let candidates = candidates(&weighted(weights));
        (0..picks)
            .filter_map(|_| round_robin.select(&candidates, &invocation()))
            .map(|at| char::from(b'a' + u8::try_from(at).expect("few")))
            .collect()
    }

    fn fixed() -> RoundRobin {
        RoundRobin::new(Clock::new(|| 0))
    }

    #[test]
    fn cluster_t03_turns_follow_the_weights() {
        for (weights, want) in [
            (&[5, 1, 1][..], "aabacaaaabacaa"),
            (&[1, 1, 1], "abcabc"),
            (&[0, 0, 0], "abcabc"),
            (&[], ""),
        ] {
            let got = turns(&fixed(), weights, want.len().max(1));
            assert_eq!(got, want, "weights {weights:?}");
        }
    }

    #[test]
    fn in_each_round_everybody_gets_exactly_the_turns_of_its_weight() {
        let mut random = fastrand::Rng::with_seed(42);
        for _ in 0..100 {
            let weights: Vec<u32> = (0..random.usize(1..20))
                .map(|_| random.u32(0..30))
                .collect();
            let round = weights.iter().sum::<u32>();
            let (round_robin, candidates) = (fixed(), candidates(&weighted(&weights)));
            for _ in 0..3 {
                let mut turns = vec![0_u32; weights.len()];
                for _ in 0..round {
                    let at = round_robin.select(&candidates, &invocation());
                    turns[at.expect("not empty")] += 1;
                }
                assert_eq!(turns, weights);
            }
        }
    }

    #[test]
    fn cluster_t04_a_changed_weight_costs_nobody_a_turn() {
        let round_robin = fixed();
        assert_eq!(turns(&round_robin, &[1, 1], 1), "a");
        assert_eq!(turns(&round_robin, &[1, 2], 3), "bba");
    }

    #[test]
    fn methods_take_turns_of_their_own() {
        let round_robin = fixed();
        let candidates = candidates(&weighted(&[1, 1]));
        let (first, second) = (invocation_of("First"), invocation_of("Second"));
        for want in [0, 1, 0, 1] {
            assert_eq!(round_robin.select(&candidates, &first), Some(want));
            assert_eq!(round_robin.select(&candidates, &second), Some(want));
        }
    }

    #[test]
    fn cluster_t04_shares_are_exact_under_concurrent_callers() {
        let round_robin = fixed();
        let candidates = candidates(&weighted(&[5, 1, 1]));
        let counts = parking_lot::Mutex::new([0_u32; 3]);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..8_750 {
                        let at = round_robin
                            .select(&candidates, &invocation())
                            .expect("three");
                        counts.lock()[at] += 1;
                    }
                });
            }
        });
        assert_eq!(counts.into_inner(), [50_000, 10_000, 10_000]);
    }

    #[test]
    fn a_list_that_changes_under_callers_never_breaks_the_turns() {
        let round_robin = fixed();
        let all: Vec<Node> = (1..=6).map(|port| node(port, 1)).collect();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (round_robin, all) = (&round_robin, &all);
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(thread);
                    for _ in 0..500 {
                        let nodes: Vec<Node> =
                            all.iter().filter(|_| random.bool()).cloned().collect();
                        let count = nodes.len();
                        let at = round_robin
                            .select(&Candidates::all(Arc::new(nodes.into())), &invocation());
                        assert_eq!(at.is_some(), count > 0);
                        assert!(at.is_none_or(|at| at < count));
                    }
                });
            }
        });
    }
}
