//! What is known about a connection by those who use it, drive it and replace it.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use crate::endpoint::Counted;

/// From its opening to its end.
#[derive(Debug)]
pub(super) struct Life {
    opened: Instant,
    lasting: Duration,
    calls: Arc<AtomicUsize>,
    used: AtomicBool,
    retired: AtomicBool,
    retirement: Notify,
    /// Why it takes no more calls.
    reason: OnceLock<String>,
}

impl Life {
    /// It begins. One that lasts for `lasting` was no mistake, even if nobody called.
    pub(super) fn begin(lasting: Duration) -> Arc<Self> {
        Arc::new(Self {
            opened: Instant::now(),
            lasting,
            calls: Arc::default(),
            used: AtomicBool::new(false),
            retired: AtomicBool::new(false),
            retirement: Notify::new(),
            reason: OnceLock::new(),
        })
    }

    /// Counts one call more, until the guard is dropped.
    pub(super) fn begin_call(&self) -> Counted {
        Counted::one_more(&self.calls)
    }

    /// Notes that it was of use.
    pub(super) fn note_use(&self) {
        self.used.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_usable(&self) -> bool {
        !self.retired.load(Ordering::Acquire)
    }

    pub(super) fn in_flight(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Takes no more calls. The first reason counts.
    pub(super) fn retire(&self, reason: impl FnOnce() -> String) {
        self.reason.get_or_init(reason);
        if !self.retired.swap(true, Ordering::AcqRel) {
            self.retirement.notify_one();
        }
    }

    pub(super) async fn retired(&self) {
        if self.is_usable() {
            self.retirement.notified().await;
        }
    }

    pub(super) fn reason(&self) -> Option<&str> {
        self.reason.get().map(String::as_str)
    }

    /// Whether it was worth having.
    pub(super) fn was_useful(&self) -> bool {
        self.used.load(Ordering::Relaxed) || self.opened.elapsed() >= self.lasting
    }
}
