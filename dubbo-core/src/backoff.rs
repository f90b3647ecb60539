//! Waiting longer after each failure. The only file that names the `backoff` crate.

use std::time::Duration;

use backoff::{ExponentialBackoff, ExponentialBackoffBuilder, backoff::Backoff as _};

/// How waiting times grow.
///
/// Each is the last one times [`multiplier`](Self::multiplier), up to [`max`](Self::max), and then moved by up to
/// [`jitter`](Self::jitter) of itself in either direction, so that many callers do not come back at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BackoffPolicy {
    /// The first waiting time.
    pub initial: Duration,
    /// The longest, before jitter.
    pub max: Duration,
    /// The growth.
    pub multiplier: f64,
    /// From 0 (none) to 1.
    pub jitter: f64,
}

impl Default for BackoffPolicy {
    /// 500 ms growing by half up to 30 s, ±50 %.
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(500),
            max: Duration::from_secs(30),
            multiplier: 1.5,
            jitter: 0.5,
        }
    }
}

/// A run of waiting times that never ends.
#[derive(Debug)]
pub struct Backoff(ExponentialBackoff);

impl Backoff {
    /// Starts a run.
    pub fn new(policy: BackoffPolicy) -> Self {
        Self(
            ExponentialBackoffBuilder::new()
                .with_initial_interval(policy.initial)
                .with_max_interval(policy.max)
                .with_multiplier(policy.multiplier.max(1.0))
                .with_randomization_factor(policy.jitter.clamp(0.0, 1.0))
                .with_max_elapsed_time(None)
                .build(),
        )
    }

    /// How long to wait now.
    pub fn next_wait(&mut self) -> Duration {
        let max = self.0.max_interval;
        self.0.next_backoff().unwrap_or(max)
    }

    /// Starts over: it worked.
    pub fn reset(&mut self) {
        self.0.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_times_grow_to_the_limit_and_start_over() {
        let mut backoff = Backoff::new(BackoffPolicy {
            initial: Duration::from_secs(1),
            max: Duration::from_secs(8),
            multiplier: 2.0,
            jitter: 0.0,
        });
        let seconds: Vec<_> = (0..6).map(|_| backoff.next_wait().as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 8, 8]);
        backoff.reset();
        assert_eq!(backoff.next_wait().as_secs(), 1);
    }

    #[test]
    fn jitter_stays_within_its_share() {
        let mut backoff = Backoff::new(BackoffPolicy {
            initial: Duration::from_secs(10),
            max: Duration::from_secs(10),
            multiplier: 1.0,
            jitter: 0.5,
        });
        for _ in 0..100 {
            let wait = backoff.next_wait().as_secs_f64();
            assert!((5.0..=15.0).contains(&wait), "{wait}");
        }
    }
}
