//! Chance that callers share without waiting for one another.

use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;

/// A source of random numbers: each choice takes a generator of its own from the next seed.
#[derive(Debug)]
pub(crate) struct Chance(AtomicU64);

impl Chance {
    /// Seeded by the system.
    pub(crate) fn new() -> Self {
        Self::from_seed(fastrand::u64(..))
    }

    /// The same generators for the same seed, as long as one caller at a time asks.
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// The generator of one choice.
    pub(crate) fn rng(&self) -> Rng {
        Rng::with_seed(self.0.fetch_add(SEED_STEP, Ordering::Relaxed))
    }
}

/// An odd number far from any power of two: successive seeds share few bits and repeat only after 2^64 picks.
const SEED_STEP: u64 = 0x9e37_79b9_7f4a_7c15;
