//! The time that is measured.

#![expect(
    clippy::disallowed_types,
    reason = "it is the time of the world; there is no runtime whose clock could be paused"
)]

use std::time::{Duration, Instant};

/// Runs since the start of a round.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    /// From now on.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// How long it has run.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
