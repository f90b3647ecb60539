//! Whether a connection takes calls, and why not.

use std::sync::{
    OnceLock,
    atomic::{AtomicBool, AtomicU8, Ordering},
};

use tokio::{
    sync::Notify,
    time::{Duration, Instant, timeout},
};

/// What is known about a connection by those who use it, drive it and replace it.
#[derive(Debug)]
pub(super) struct Life {
    stage: AtomicU8,
    opened: Instant,
    answered: AtomicBool,
    changed: Notify,
    /// Why it takes no more calls.
    reason: OnceLock<String>,
}

/// Why the peer wants no new calls for the time being (`docs/spec/dubbo-protocol.md` §21).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    /// A response said `closing`.
    Closing,
    /// It sent the event `R`.
    ReadOnly,
}

impl Life {
    pub(super) fn new() -> Self {
        Self {
            stage: AtomicU8::new(OPEN),
            opened: Instant::now(),
            answered: AtomicBool::new(false),
            changed: Notify::new(),
            reason: OnceLock::new(),
        }
    }

    /// Whether new calls may be sent.
    pub(super) fn is_open(&self) -> bool {
        self.stage.load(Ordering::Acquire) == OPEN
    }

    /// Takes no calls until the peer says otherwise.
    pub(super) fn pause(&self, why: Pause) {
        self.turn(OPEN, why.stage());
    }

    /// Takes calls again.
    pub(super) fn resume(&self) {
        for why in [Pause::Closing, Pause::ReadOnly] {
            self.turn(why.stage(), OPEN);
        }
    }

    /// Why it takes no calls for the time being.
    pub(super) fn paused(&self) -> Option<Pause> {
        let stage = self.stage.load(Ordering::Acquire);
        [Pause::Closing, Pause::ReadOnly]
            .into_iter()
            .find(|why| why.stage() == stage)
    }

    /// Takes no more calls. The first reason counts.
    pub(super) fn retire(&self, reason: String) {
        self.reason.get_or_init(|| reason);
        if self.stage.swap(RETIRED, Ordering::AcqRel) != RETIRED {
            self.changed.notify_one();
        }
    }

    /// Waits until it takes no more calls; a pause is given some time to end. For one who waits.
    pub(super) async fn retired(&self) {
        loop {
            let changed = self.changed.notified();
            if self.stage.load(Ordering::Acquire) == RETIRED {
                return;
            }
            let Some(why) = self.paused() else {
                changed.await;
                continue;
            };
            if timeout(PATIENCE, changed).await.is_err() {
                self.retire(why.text().to_owned());
            }
        }
    }

    /// Why it takes no more calls, once that is known.
    pub(super) fn reason(&self) -> Option<&str> {
        self.reason.get().map(String::as_str)
    }

    /// Notes that the peer has answered a call.
    pub(super) fn note_answer(&self) {
        if !self.answered.load(Ordering::Relaxed) {
            self.answered.store(true, Ordering::Relaxed);
        }
    }

    /// Whether it was worth having: it answered a call, or lasted.
    pub(super) fn was_useful(&self) -> bool {
        self.answered.load(Ordering::Relaxed) || self.opened.elapsed() >= LASTING
    }

    fn turn(&self, from: u8, to: u8) {
        let turned = self
            .stage
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
        if turned.is_ok() {
            self.changed.notify_one();
        }
    }
}

impl Pause {
    /// For messages.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Closing => "the provider says that it is closing",
            Self::ReadOnly => "the provider has asked for no more calls",
        }
    }

    fn stage(self) -> u8 {
        match self {
            Self::Closing => 1,
            Self::ReadOnly => 2,
        }
    }
}

const OPEN: u8 = 0;
const RETIRED: u8 = 3;

/// How long a provider that wants no calls has to close the connection, or to want them again, before another connection
/// is tried: as long as Java serves what still comes.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection that lived this long was no mistake, even if nobody called.
const LASTING: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_pause_ends_by_itself_in_neither_direction_for_a_while() {
        let life = Life::new();
        for why in [Pause::Closing, Pause::ReadOnly] {
            life.pause(why);
            assert_eq!((life.is_open(), life.paused()), (false, Some(why)));
            let waiting = timeout(PATIENCE * 9 / 10, life.retired());
            assert!(waiting.await.is_err());
            life.resume();
            assert_eq!((life.is_open(), life.paused()), (true, None));
            let waiting = timeout(Duration::from_hours(1), life.retired());
            assert!(waiting.await.is_err(), "it is open again");
        }
        life.pause(Pause::ReadOnly);
        let start = Instant::now();
        life.retired().await;
        assert_eq!(start.elapsed(), PATIENCE);
        assert_eq!(life.reason(), Some(Pause::ReadOnly.text()));
        life.resume();
        assert!(!life.is_open(), "that was its end");
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_first_reason_counts() {
        let life = Life::new();
        life.retire("one".to_owned());
        life.retire("two".to_owned());
        life.pause(Pause::Closing);
        life.retired().await;
        assert_eq!((life.reason(), life.paused()), (Some("one"), None));
    }
}
