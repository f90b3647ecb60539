//! Until when a caller waits.

use std::time::Duration;

use dubbo_core::status::Status;
use tokio::time::Instant;

use super::failure::Place;

/// The end of one attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    pub(super) at: Instant,
    /// How long that was from its start.
    pub(super) after: Duration,
}

impl Deadline {
    /// The attempt that starts at `now` ends at `at`.
    pub(super) fn new(now: Instant, at: Instant) -> Self {
        Self {
            at,
            after: at.saturating_duration_since(now),
        }
    }

    /// What the caller is told of `failure`. The peer counts down the same time: its word that the time is over may come
    /// before our own timer, which is a millisecond late at times, and in whatever code its application has for that.
    pub(super) fn or_late(self, failure: Status, place: &Place) -> Status {
        if Instant::now() < self.at {
            return failure;
        }
        let sent = !failure.is_not_processed();
        place.name(self.expired(sent)).with_source(failure)
    }

    /// What the caller is told when time has run out. A call that was sent may have been done, so only one that was not
    /// is safe to repeat.
    pub(super) fn expired(self, sent: bool) -> Status {
        let after = self.after;
        if sent {
            return Status::deadline_exceeded(format!("no answer within {after:?}"));
        }
        let status = if after.is_zero() {
            Status::deadline_exceeded("the time for the call was over before it began")
        } else {
            Status::deadline_exceeded(format!("no connection within {after:?}; nothing was sent"))
        };
        status.not_processed()
    }
}
