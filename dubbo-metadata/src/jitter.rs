//! Waiting longer after each failure, with chances that tests can fix.

use std::time::Duration;

/// Equal jitter: half of the wait is certain, the other half is left to chance (`docs/spec/metadata.md` §4.5).
#[derive(Debug, Clone)]
pub(crate) struct EqualJitter {
    base: Duration,
    cap: Duration,
    failures: u32,
}

impl EqualJitter {
    /// Waits of `base`, twice that, and so on up to `cap`, each shortened by up to a half.
    pub(crate) fn new(base: Duration, cap: Duration) -> Self {
        Self {
            base,
            cap,
            failures: 0,
        }
    }

    /// How long to wait now.
    pub(crate) fn next_wait(&mut self, random: &mut fastrand::Rng) -> Duration {
        let whole = 2_u32
            .checked_pow(self.failures)
            .map_or(self.cap, |factor| self.base.saturating_mul(factor))
            .min(self.cap);
        self.failures = self.failures.saturating_add(1);
        let half = whole / 2;
        half + half.mul_f64(random.f64())
    }

    /// Starts over: it worked, or may work now.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap_and_half_of_each_is_chance() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut jitter = EqualJitter::new(Duration::from_secs(1), Duration::from_mins(1));
        for round in 0..2 {
            for whole in [1, 2, 4, 8, 16, 32, 60, 60] {
                let wait = jitter.next_wait(&mut random).as_secs_f64();
                let range = f64::from(whole) / 2.0..=f64::from(whole);
                assert!(range.contains(&wait), "round {round}: {wait} in {range:?}");
            }
            jitter.reset();
        }
    }

    #[test]
    fn any_number_of_failures_waits_for_the_cap_at_most() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut jitter = EqualJitter::new(Duration::from_secs(1), Duration::from_secs(8));
        let longest = (0..100).map(|_| jitter.next_wait(&mut random)).max();
        assert!(longest <= Some(Duration::from_secs(8)), "{longest:?}");
    }
}
