//! What is known of a call when it fails: where it went, and until when its caller waited.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dubbo_core::{
    service::MethodRef,
    status::{Origin, Status},
};
use tokio::time::Instant;

/// Where a call goes, for the text of its errors.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) method: MethodRef,
    pub(crate) address: Arc<str>,
}

impl Place {
    /// Puts itself in front of `status`, unless the peer wrote that: its words are for the caller as they are.
    pub(crate) fn name(&self, status: Status) -> Status {
        match status.origin() {
            Origin::Business | Origin::Remote => status,
            _ => self.name_always(status),
        }
    }

    /// Puts itself in front of `status`.
    pub(crate) fn name_always(&self, status: Status) -> Status {
        status.context(self)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}", self.method, self.address)
    }
}

/// The end of one attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    pub(crate) at: Instant,
    /// How long that was from its start.
    pub(crate) after: Duration,
}

impl Deadline {
    /// The attempt that starts at `now` ends at `at`.
    pub(crate) fn new(now: Instant, at: Instant) -> Self {
        Self {
            at,
            after: at.saturating_duration_since(now),
        }
    }

    /// What the caller is told of `failure`. The peer counts down the same time: its word that the time is over may come
    /// before our own timer, which is a millisecond late at times, and in whatever code its application has for that.
    pub(crate) fn or_late(self, failure: Status, place: &Place) -> Status {
        if Instant::now() < self.at {
            return failure;
        }
        let sent = !failure.is_not_processed();
        place.name(self.expired(sent)).with_source(failure)
    }

    /// What the caller is told when time has run out. A call that was sent may have been done, so only one that was not
    /// is safe to repeat.
    pub(crate) fn expired(self, sent: bool) -> Status {
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

/// One of a number of things that are counted while they live.
#[derive(Debug)]
pub(crate) struct Counted(Arc<AtomicUsize>);

impl Counted {
    pub(crate) fn one_more(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
