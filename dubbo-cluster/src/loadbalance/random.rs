//! `random`: by chance, in proportion to the weights.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use dubbo_core::{
    cluster::{Candidates, LoadBalance},
    invocation::Invocation,
};
use fastrand::Rng;

use super::Clock;

/// Picks a provider with a probability in proportion to its weight, warm-up applied.
///
/// `docs/spec/cluster.md` §3.3: a provider of weight 0 is picked only when all are 0, and then all are alike.
pub struct Random {
    /// Each pick takes the next seed, so that callers never wait for one another.
    seed: AtomicU64,
    clock: Clock,
}

impl Random {
    /// Chance seeded by the system, warm-up by the system's clock.
    pub fn new() -> Self {
        Self::from_seed(fastrand::u64(..), Clock::system())
    }

    /// The same picks for the same seed, as long as one caller at a time picks.
    pub fn from_seed(seed: u64, clock: Clock) -> Self {
        Self {
            seed: AtomicU64::new(seed),
            clock,
        }
    }

    fn below(&self, bound: u64) -> u64 {
        let seed = self.seed.fetch_add(SEED_STEP, Ordering::Relaxed);
        Rng::with_seed(seed).u64(..bound)
    }
}

impl Default for Random {
    fn default() -> Self {
        Self::new()
    }
}

impl LoadBalance for Random {
    fn select(&self, candidates: &Candidates, _invocation: &Invocation) -> Option<usize> {
        if candidates.len() < 2 {
            return candidates.len().checked_sub(1);
        }
        // Read once: a warm-up that goes on between summing and picking would shift the shares.
        let now = self.clock.now_millis();
        let weights = candidates.weights(now);
        match weights.total() {
            0 => usize::try_from(self.below(candidates.len() as u64)).ok(),
            total => Some(weights.holder(self.below(total))),
        }
    }
}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Random").finish_non_exhaustive()
    }
}

dubbo_core::extension!(dyn LoadBalance, "random", |_cx| Ok(Arc::new(Random::new())));

/// An odd number far from any power of two: successive seeds share few bits and repeat only after 2^64 picks.
const SEED_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use dubbo_core::cluster::NodeWeight;

    use super::*;
    use crate::testing::{candidates, invocation, weighted};

    const NOW: u64 = 1_700_000_000_000;

    fn counts(weights: &[NodeWeight], picks: usize) -> Vec<u32> {
        let candidates = candidates(weights);
        let random = Random::from_seed(42, Clock::new(|| NOW));
        let mut counts = vec![0; weights.len()];
        for _ in 0..picks {
            let at = random
                .select(&candidates, &invocation())
                .expect("not empty");
            counts[at] += 1;
        }
        counts
    }

    #[test]
    fn shares_follow_the_weights() {
        let counts = counts(&weighted(&[1, 2, 3, 4]), 100_000);
        let chi_squared: f64 = counts
            .iter()
            .zip([10_000.0, 20_000.0, 30_000.0, 40_000.0])
            .map(|(&got, want)| (f64::from(got) - want).powi(2) / want)
            .sum();
        assert!(chi_squared < 16.27, "{counts:?}: {chi_squared}");
    }

    #[test]
    fn weight_zero_is_never_picked_unless_all_are_zero() {
        for count in counts(&weighted(&[0, 0, 0]), 30_000) {
            assert!(count.abs_diff(10_000) <= 327, "{count}");
        }
        let counts = counts(&weighted(&[0, 5, 5]), 30_000);
        assert_eq!(counts[0], 0);
        assert!(counts[1].abs_diff(15_000) <= 347, "{counts:?}");
    }

    #[test]
    fn a_provider_that_warms_up_gets_its_part_of_a_share() {
        let minute = NodeWeight::warming(100, NOW - 60_000, std::time::Duration::from_mins(10));
        let counts = counts(&[NodeWeight::constant(100), minute], 110_000);
        assert!(counts[1].abs_diff(10_000) <= 381, "{counts:?}");
    }

    #[test]
    fn the_largest_weights_do_not_overflow() {
        let counts = counts(&weighted(&[u32::MAX; 20]), 20_000);
        assert!(
            counts.iter().all(|count| count.abs_diff(1_000) <= 124),
            "{counts:?}"
        );
    }

    #[test]
    fn an_empty_list_has_no_pick_and_a_single_one_needs_no_chance() {
        let random = Random::from_seed(42, Clock::new(|| NOW));
        let pick = |weights: &[u32]| random.select(&candidates(&weighted(weights)), &invocation());
        assert_eq!(pick(&[]), None);
        assert_eq!(pick(&[0]), Some(0));
    }

    #[test]
    fn one_seed_gives_one_run_of_picks() {
        let run = |seed| {
            let random = Random::from_seed(seed, Clock::new(|| NOW));
            let candidates = candidates(&weighted(&[1, 1, 1]));
            (0..32)
                .map(|_| random.select(&candidates, &invocation()))
                .collect::<Vec<_>>()
        };
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
    }
}
