//! The time that is measured.

use std::time::Duration;

/// Runs since the start of a round.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::disallowed_types,
    reason = "nothing here is tested in paused time"
)]
pub struct Clock(std::time::Instant);

impl Clock {
    /// From now on.
    #[expect(clippy::disallowed_types, reason = "as the field")]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// How long it has run.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
