//! `leastactive`: the provider that carries the fewest calls.

use std::{fmt, sync::Arc};

use dubbo_core::{
    cluster::{Candidates, LoadBalance, Node},
    invocation::Invocation,
};

use super::{Clock, chance::Chance, least};

/// Picks the provider with the fewest calls of the method under way, and among those by weight, warm-up applied.
///
/// `docs/spec/cluster.md` §3.5. Attempts are counted where they are made, whatever filters there are. Of more than 48
/// providers, 16 that chance chooses are compared.
pub struct LeastActive {
    chance: Chance,
    clock: Clock,
}

impl LeastActive {
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

impl Default for LeastActive {
    fn default() -> Self {
        Self::new()
    }
}

impl LoadBalance for LeastActive {
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
        least::pick(candidates, now, &mut rng, wanted, |node| {
            node.state.active_of(&invocation.method)
        })
    }
}

impl fmt::Debug for LeastActive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeastActive").finish_non_exhaustive()
    }
}

dubbo_core::extension!(dyn LoadBalance, "leastactive", |_cx| Ok(Arc::new(
    LeastActive::new()
)));

#[cfg(test)]
mod tests {
    use dubbo_core::cluster::Active;

    use super::*;
    use crate::testing::{candidates, invocation, invocation_of, weighted};

    fn counts(candidates: &Candidates, call: &Invocation, picks: usize) -> Vec<u32> {
        let least_active = LeastActive::from_seed(42, Clock::new(|| 0));
        let mut counts = vec![0; candidates.len()];
        for _ in 0..picks {
            counts[least_active.select(candidates, call).expect("somebody")] += 1;
        }
        counts
    }

    /// Attempts of `call`'s method under way: so many at each.
    fn begin<'a>(
        candidates: &'a Candidates,
        call: &Invocation,
        active: &[usize],
    ) -> Vec<Active<'a>> {
        let nodes = candidates.iter().zip(active);
        let attempts = nodes.flat_map(|(node, &active)| std::iter::repeat_n(node, active));
        attempts
            .map(|node| node.state.method(&call.method).begin())
            .collect()
    }

    #[test]
    fn cluster_t06_the_fewest_calls_and_then_the_weights_decide() {
        let candidates = candidates(&weighted(&[100, 1, 2]));
        let call = invocation();
        let attempts = begin(&candidates, &call, &[3, 1, 1]);
        let got = counts(&candidates, &call, 30_000);
        assert_eq!(got[0], 0);
        assert!(got[1].abs_diff(10_000) <= 327, "{got:?}");
        assert!(got[2].abs_diff(20_000) <= 327, "{got:?}");

        let other = counts(&candidates, &invocation_of("Second"), 1_000);
        assert!(other[0] > 900, "methods are counted apart: {other:?}");
        drop(attempts);
        let idle = counts(&candidates, &call, 1_000);
        assert!(idle[0] > 900, "all ended: {idle:?}");
    }

    #[test]
    fn one_without_weight_is_picked_only_when_nobody_has_one() {
        let call = invocation();
        let candidates = |weights| candidates(&weighted(weights));
        let some = candidates(&[0, 1]);
        let _attempts = begin(&some, &call, &[0, 9]);
        assert_eq!(counts(&some, &call, 100), [0, 100]);
        let none = candidates(&[0, 0]);
        let _more = begin(&none, &call, &[0, 9]);
        assert_eq!(counts(&none, &call, 100), [100, 0]);
    }

    #[test]
    fn in_a_long_list_the_busy_half_is_left_alone() {
        let candidates = candidates(&weighted(&[1; 1_000]));
        let call = invocation();
        let busy: Vec<usize> = (0..1_000).map(|at| at % 2).collect();
        let _attempts = begin(&candidates, &call, &busy);
        let got = counts(&candidates, &call, 20_000);
        let on_busy: u32 = got.iter().skip(1).step_by(2).sum();
        assert!(
            on_busy <= 3,
            "16 busy ones are drawn once in 65536 times: {on_busy}"
        );
        let idle = got.iter().step_by(2);
        assert!(
            idle.clone().all(|&count| count.abs_diff(40) <= 32),
            "{got:?}"
        );
    }
}
