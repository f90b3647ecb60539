//! Counting calls in a time. The clock is whoever asks.

use std::{collections::VecDeque, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::Strategy;

/// So many calls in an interval, which is longer than nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rate {
    pub(super) calls: u64,
    pub(super) interval: Duration,
}

impl Rate {
    /// The part of the interval that one call takes.
    fn share(self) -> f64 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "what is lost is no part of a call"
        )]
        let calls = self.calls as f64;
        self.interval.as_secs_f64() / calls
    }
}

/// What has been counted. It holds for any rate: a limit that changes finds what was taken under the one before.
#[derive(Debug)]
pub(super) struct Window(Mutex<Counted>);

#[derive(Debug)]
enum Counted {
    Fixed {
        opened: Option<Instant>,
        taken: u64,
    },
    /// How many calls are still to be worked off, as of a moment.
    Gcra {
        owed: f64,
        at: Option<Instant>,
    },
    Sliding(VecDeque<Instant>),
}

impl Window {
    pub(super) fn new(strategy: Strategy) -> Self {
        Self(Mutex::new(match strategy {
            Strategy::Fixed => Counted::Fixed {
                opened: None,
                taken: 0,
            },
            Strategy::Gcra => Counted::Gcra {
                owed: 0.0,
                at: None,
            },
            Strategy::Sliding => Counted::Sliding(VecDeque::new()),
        }))
    }

    /// Takes a call at `now`, if `rate` has room for it.
    ///
    /// # Errors
    ///
    /// How long until it has.
    pub(super) fn admit(&self, rate: Rate, now: Instant) -> Result<(), Duration> {
        if rate.calls == 0 {
            return Err(rate.interval);
        }
        match &mut *self.0.lock() {
            Counted::Fixed { opened, taken } => fixed(rate, now, opened, taken),
            Counted::Gcra { owed, at } => gcra(rate, now, owed, at),
            Counted::Sliding(times) => sliding(rate, now, times),
        }
    }
}

fn fixed(
    rate: Rate,
    now: Instant,
    opened: &mut Option<Instant>,
    taken: &mut u64,
) -> Result<(), Duration> {
    let age = opened.map(|opened| now.saturating_duration_since(opened));
    let age = age.filter(|age| *age <= rate.interval).unwrap_or_else(|| {
        (*opened, *taken) = (Some(now), 0);
        Duration::ZERO
    });
    if *taken < rate.calls {
        *taken += 1;
        return Ok(());
    }
    // The next one opens after the end of this one, not with it.
    Err(rate.interval.saturating_sub(age) + Duration::from_millis(1))
}

/// The generic cell rate algorithm, in calls instead of times: what is owed at a rate that changes stays so many calls.
fn gcra(
    rate: Rate,
    now: Instant,
    owed: &mut f64,
    at: &mut Option<Instant>,
) -> Result<(), Duration> {
    let share = rate.share();
    let since = at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
    let left = (*owed - since.as_secs_f64() / share).max(0.0);
    (*owed, *at) = (left, Some(at.map_or(now, |at| at.max(now))));
    #[expect(
        clippy::cast_precision_loss,
        reason = "what is lost is no part of a call"
    )]
    let most = rate.calls as f64;
    let over = left + 1.0 - most;
    if over <= ROUNDING {
        *owed = left + 1.0;
        return Ok(());
    }
    Err(Duration::try_from_secs_f64(over * share).unwrap_or(rate.interval))
}

fn sliding(rate: Rate, now: Instant, times: &mut VecDeque<Instant>) -> Result<(), Duration> {
    let is_over = |time: &Instant| now.saturating_duration_since(*time) > rate.interval;
    while times.front().is_some_and(is_over) {
        times.pop_front();
    }
    let taken = u64::try_from(times.len()).unwrap_or(u64::MAX);
    if taken < rate.calls {
        times.push_back(now);
        return Ok(());
    }
    // The one whose end makes room: the first, unless the rate was larger before.
    let over = usize::try_from(taken - rate.calls).unwrap_or(usize::MAX);
    let first = times.get(over).or_else(|| times.back()).copied();
    let age = first.map_or(Duration::ZERO, |first| now.saturating_duration_since(first));
    Err(rate.interval.saturating_sub(age) + Duration::from_millis(1))
}

/// A share of a call that a sum of times can be off by.
const ROUNDING: f64 = 1e-6;
