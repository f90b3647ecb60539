//! Noticing a peer that has fallen silent, although its socket looks open (`docs/spec/dubbo-protocol.md` §7.1).

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::time::{Duration, Instant, Sleep, sleep_until};

use super::super::parameters::Heartbeat;

/// When to ask a peer for a sign of life, and when to give it up.
#[derive(Debug)]
pub(super) struct Pulse {
    terms: Heartbeat,
    last_read: Instant,
    last_sent: Instant,
    /// Since when the peer takes nothing of what it is sent.
    stuck: Option<Instant>,
    timer: Pin<Box<Sleep>>,
}

/// What silence asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// Nothing came for this long, which is too long.
    GiveUp(Duration),
    /// The peer took nothing of what it was sent for this long, which is too long.
    Stuck(Duration),
    /// A heartbeat is due.
    Probe,
}

impl Pulse {
    /// From now on; `None` if silence means nothing.
    pub(super) fn new(terms: Heartbeat) -> Option<Self> {
        let now = Instant::now();
        let first = [terms.interval, terms.timeout]
            .into_iter()
            .flatten()
            .min()?;
        Some(Self {
            terms,
            last_read: now,
            last_sent: now,
            stuck: None,
            timer: Box::pin(sleep_until(now + first)),
        })
    }

    /// Notes that something came from the peer. The timer is not touched: it finds out when it runs out.
    pub(super) fn note_read(&mut self) {
        self.last_read = Instant::now();
    }

    /// Notes whether the peer takes what it is sent.
    pub(super) fn note_stuck(&mut self, stuck: bool) {
        self.stuck = stuck.then(|| self.stuck.unwrap_or_else(Instant::now));
    }

    /// What is to be done now.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Silence> {
        loop {
            ready!(self.timer.as_mut().poll(cx));
            let now = Instant::now();
            let mut end = None;
            if let Some(timeout) = self.terms.timeout {
                if now >= self.last_read + timeout {
                    return Poll::Ready(Silence::GiveUp(timeout));
                }
                let since = self.stuck.unwrap_or(now);
                if now >= since + timeout {
                    return Poll::Ready(Silence::Stuck(timeout));
                }
                end = Some(self.last_read.min(since) + timeout);
            }
            let last = self.last_read.max(self.last_sent);
            let due = self.terms.interval.map(|interval| last + interval);
            let probe = due.is_some_and(|due| now >= due);
            let next = if probe {
                self.last_sent = now;
                self.terms.interval.map(|interval| now + interval)
            } else {
                due
            };
            if let Some(next) = [next, end].into_iter().flatten().min() {
                self.timer.as_mut().reset(next);
            }
            if probe {
                return Poll::Ready(Silence::Probe);
            }
        }
    }
}
