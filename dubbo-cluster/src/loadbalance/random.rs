//! `random`: by chance, in proportion to the weights.

use std::{fmt, sync::Arc};

use dubbo_core::{
    cluster::{Candidates, LoadBalance, Node},
    invocation::Invocation,
};

use super::{Clock, chance::Chance, draw};

/// Picks a provider with a probability in proportion to its weight, warm-up applied.
///
/// `docs/spec/cluster.md` §3.3: a provider of weight 0 is picked only when all are 0, and then all are alike. The cost of
/// a pick does not grow with the list.
pub struct Random {
    chance: Chance,
    clock: Clock,
}

impl Random {
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

impl Default for Random {
    fn default() -> Self {
        Self::new()
    }
}

impl LoadBalance for Random {
    fn select(&self, candidates: &Candidates, invocation: &Invocation) -> Option<usize> {
        self.select_where(candidates, invocation, &|_| true)
    }

    fn select_where(
        &self,
        candidates: &Candidates,
        _invocation: &Invocation,
        wanted: &dyn Fn(&Node) -> bool,
    ) -> Option<usize> {
        let now = self.clock.now_millis();
        draw::by_weight(candidates, now, &mut self.chance.rng(), wanted)
    }
}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Random").finish_non_exhaustive()
    }
}

dubbo_core::extension!(dyn LoadBalance, "random", |_cx| Ok(Arc::new(Random::new())));

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
    fn cluster_t01_shares_follow_the_weights() {
        let counts = counts(&weighted(&[1, 2, 3, 4]), 100_000);
        let chi_squared: f64 = counts
            .iter()
            .zip([10_000.0, 20_000.0, 30_000.0, 40_000.0])
            .map(|(&got, want)| (f64::from(got) - want).powi(2) / want)
            .sum();
        assert!(chi_squared < 16.27, "{counts:?}: {chi_squared}");
    }

    #[test]
    fn cluster_t02_weight_zero_is_never_picked_unless_all_are_zero() {
        for count in counts(&weighted(&[0, 0, 0]), 30_000) {
            assert!(count.abs_diff(10_000) <= 327, "{count}");
        }
        let counts = counts(&weighted(&[0, 5, 5]), 30_000);
        assert_eq!(counts[0], 0);
        assert!(counts[1].abs_diff(15_000) <= 347, "{counts:?}");
    }

    #[test]
    fn cluster_t08_a_provider_that_warms_up_gets_its_part_of_a_share() {
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
    fn cluster_t02_an_empty_list_has_no_pick_and_a_single_one_needs_no_chance() {
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
