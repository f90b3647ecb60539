//! A circuit breaker: it stops calls to what fails, and lets a few through to see whether that is over.

use std::{fmt, time::Duration};

use fastrand::Rng;
use tokio::time::Instant;

use super::window::{Outcome, Window, WindowKind, rate};

/// When a breaker opens, for how long, and what closes it (`docs/spec/cluster.md` §7.7).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct BreakerOptions {
    /// Which calls count.
    pub window: WindowKind,
    /// It stays closed below so many calls in the window; 20.
    pub min_calls: u32,
    /// The part of failed calls that opens it, from 0 to 1; 0.5.
    pub failure_rate: f64,
    /// From when on a call is slow; by default 0.8 of its timeout, and none is without one.
    pub slow_call_duration: Option<Duration>,
    /// The part of slow calls that opens it, from 0 to 1; 0.8.
    pub slow_call_rate: f64,
    /// How long it stays open at first; 5 s. Each time that it opens again after a look, twice as long.
    pub open_wait: Duration,
    /// The longest that it stays open; 60 s.
    pub max_open_wait: Duration,
    /// How many calls are let through to see; 10.
    pub half_open_permits: u32,
}

impl Default for BreakerOptions {
    fn default() -> Self {
        Self {
            window: WindowKind::default(),
            min_calls: 20,
            failure_rate: 0.5,
            slow_call_duration: None,
            slow_call_rate: 0.8,
            open_wait: Duration::from_secs(5),
            max_open_wait: Duration::from_mins(1),
            half_open_permits: 10,
        }
    }
}

impl BreakerOptions {
    /// From when on an attempt that may take `timeout` is slow.
    pub(super) fn slow_from(&self, timeout: Option<Duration>) -> Option<Duration> {
        self.slow_call_duration
            .or_else(|| timeout.map(|timeout| timeout.mul_f64(SLOW_PART)))
    }
}

/// Where a breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BreakerState {
    /// Calls pass.
    Closed,
    /// No call passes.
    Open,
    /// A few calls pass, to see.
    HalfOpen,
}

impl fmt::Display for BreakerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
        })
    }
}

/// The machine. Time and chance are handed in.
#[derive(Debug)]
pub(super) struct Breaker {
    window: Window,
    state: State,
    /// How often it opened again without having been closed.
    reopened: u32,
    /// Changes with each state, so that an outcome is told from those of another one.
    epoch: u64,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Closed,
    Open { until: Instant },
    HalfOpen(Probes),
}

/// The calls of one look.
#[derive(Debug, Clone, Copy, Default)]
struct Probes {
    given: u32,
    settled: u32,
    ok: u32,
}

/// Leave for one call; [`Breaker::settle`] or [`Breaker::give_back`] takes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leave {
    epoch: u64,
    pub(super) is_probe: bool,
}

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Closed,
    Opened,
}

impl Breaker {
    pub(super) fn new(kind: WindowKind, now: Instant) -> Self {
        Self {
            window: Window::new(kind, now),
            state: State::Closed,
            reopened: 0,
            epoch: 0,
        }
    }

    pub(super) fn state(&self, now: Instant) -> BreakerState {
        match self.state {
            State::Closed => BreakerState::Closed,
            State::Open { until } if now < until => BreakerState::Open,
            State::Open { .. } | State::HalfOpen(_) => BreakerState::HalfOpen,
        }
    }

    /// Until when certainly no call passes; `None` when one may now.
    pub(super) fn closed_until(&self) -> Option<Instant> {
        match self.state {
            State::Open { until } => Some(until),
            State::Closed | State::HalfOpen(_) => None,
        }
    }

    /// Leave for a call, if one may pass. No more than `concurrent` probes are under way at a time, if that is set.
    pub(super) fn enter(
        &mut self,
        options: &BreakerOptions,
        concurrent: Option<u32>,
        now: Instant,
    ) -> Option<Leave> {
        if self.window.kind() != options.window {
            self.window = Window::new(options.window, now);
        }
        if let State::Open { until } = self.state {
            if now < until {
                return None;
            }
            self.state = State::HalfOpen(Probes::default());
            self.epoch += 1;
        }
        if let State::HalfOpen(probes) = &mut self.state {
            let under_way = probes.given - probes.settled;
            if probes.given >= options.half_open_permits.max(1)
                || concurrent.is_some_and(|most| under_way >= most)
            {
                return None;
            }
            probes.given += 1;
            return Some(self.leave(true));
        }
        Some(self.leave(false))
    }

    /// Whether [`enter`](Self::enter) would give leave.
    pub(super) fn may_enter(
        &self,
        options: &BreakerOptions,
        concurrent: Option<u32>,
        now: Instant,
    ) -> bool {
        match self.state {
            State::Closed => true,
            State::Open { until } => now >= until,
            State::HalfOpen(probes) => {
                let under_way = probes.given - probes.settled;
                probes.given < options.half_open_permits.max(1)
                    && concurrent.is_none_or(|most| under_way < most)
            }
        }
    }

    /// Takes in how a call ended.
    pub(super) fn settle(
        &mut self,
        leave: Leave,
        outcome: Outcome,
        options: &BreakerOptions,
        now: Instant,
        chance: &mut Rng,
    ) -> Option<Change> {
        if leave.epoch != self.epoch {
            return None;
        }
        match &mut self.state {
            State::Closed => {
                self.window.add(outcome, now);
                let tally = self.window.tally(now);
                let is_bad = tally.failure_rate() >= options.failure_rate
                    || tally.slow_rate() >= options.slow_call_rate;
                if tally.calls < options.min_calls.max(1) || !is_bad {
                    return None;
                }
                self.reopened = 0;
                self.open(options, now, chance);
                Some(Change::Opened)
            }
            State::HalfOpen(probes) => {
                probes.settled += 1;
                probes.ok += u32::from(!outcome.failed);
                if probes.settled < options.half_open_permits.max(1) {
                    return None;
                }
                let ok = rate(probes.ok, probes.settled);
                if ok >= CLOSE_RATE {
                    self.state = State::Closed;
                    self.epoch += 1;
                    self.window.clear();
                    Some(Change::Closed)
                } else if ok < REOPEN_RATE {
                    self.reopened = self.reopened.saturating_add(1);
                    self.open(options, now, chance);
                    Some(Change::Opened)
                } else {
                    *probes = Probes::default();
                    None
                }
            }
            State::Open { .. } => None,
        }
    }

    /// A call that its caller gave up says nothing.
    pub(super) fn give_back(&mut self, leave: Leave) {
        if let State::HalfOpen(probes) = &mut self.state
            && leave.epoch == self.epoch
        {
            probes.given = probes.given.saturating_sub(1);
        }
    }

    /// How likely another attempt should be, from 0.1 to 1: less, the more calls failed of late, once there are enough to
    /// say so.
    pub(super) fn retry_weight(&mut self, options: &BreakerOptions, now: Instant) -> f64 {
        if self.window.tally(now).calls < options.min_calls {
            return 1.0;
        }
        let rate = self.window.recent_failure_rate(now).unwrap_or(0.0);
        (1.0 - rate.sqrt()).max(LEAST_RETRY_WEIGHT)
    }

    fn open(&mut self, options: &BreakerOptions, now: Instant, chance: &mut Rng) {
        let factor = 2_u32.saturating_pow(self.reopened.min(31));
        let wait = options
            .open_wait
            .saturating_mul(factor)
            .min(options.max_open_wait);
        let wait = wait.mul_f64(1.0 + JITTER * (2.0 * chance.f64() - 1.0));
        self.state = State::Open { until: now + wait };
        self.epoch += 1;
        self.window.clear();
    }

    fn leave(&self, is_probe: bool) -> Leave {
        Leave {
            epoch: self.epoch,
            is_probe,
        }
    }
}

const SLOW_PART: f64 = 0.8;
const CLOSE_RATE: f64 = 0.95;
const REOPEN_RATE: f64 = 0.8;
const JITTER: f64 = 0.2;
const LEAST_RETRY_WEIGHT: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    struct Rig {
        breaker: Breaker,
        options: BreakerOptions,
        now: Instant,
        chance: Rng,
    }

    impl Rig {
        fn new() -> Self {
            let now = Instant::now();
            Self {
                breaker: Breaker::new(WindowKind::default(), now),
                options: BreakerOptions::default(),
                now,
                chance: Rng::with_seed(42),
            }
        }

        fn call(&mut self, failed: bool, slow: bool) -> Option<Change> {
            let leave = self.breaker.enter(&self.options, None, self.now);
            let leave = leave.expect("a call may pass");
            self.settle(leave, failed, slow)
        }

        fn settle(&mut self, leave: Leave, failed: bool, slow: bool) -> Option<Change> {
            let outcome = Outcome { failed, slow };
            let chance = &mut self.chance;
            self.breaker
                .settle(leave, outcome, &self.options, self.now, chance)
        }

        fn is_refused(&mut self) -> bool {
            self.breaker.enter(&self.options, None, self.now).is_none()
        }

        /// Opens it, and waits until it lets calls through to see.
        fn half_open(&mut self) -> Duration {
            for _ in 0..20 {
                self.call(true, false);
            }
            self.wait_until_half_open()
        }

        fn wait_until_half_open(&mut self) -> Duration {
            let until = self.breaker.closed_until().expect("open");
            let wait = until - self.now;
            self.now = until - Duration::from_millis(1);
            assert!(self.is_refused());
            self.now = until;
            wait
        }

        fn look(&mut self, ok: u32) -> Option<Change> {
            let changes = (0..10).map(|n| self.call(n >= ok, false));
            changes.last().expect("ten")
        }
    }

    fn within(wait: Duration, seconds: f64) -> bool {
        (seconds * 0.8..=seconds * 1.2).contains(&wait.as_secs_f64())
    }

    #[test]
    fn cluster_t37_the_twentieth_failure_opens_it() {
        let mut rig = Rig::new();
        for _ in 0..19 {
            assert_eq!(rig.call(true, false), None);
        }
        assert_eq!(rig.call(true, false), Some(Change::Opened));
        assert!(rig.is_refused());
        let wait = rig.wait_until_half_open();
        assert!(within(wait, 5.0), "{wait:?}");
    }

    #[test]
    fn cluster_t37_a_look_closes_it_opens_it_for_longer_or_goes_on() {
        for (ok, want) in [
            (10, Some(Change::Closed)),
            (8, None),
            (7, Some(Change::Opened)),
        ] {
            let mut rig = Rig::new();
            rig.half_open();
            assert_eq!(rig.look(ok), want, "{ok} of 10");
            match want {
                Some(Change::Opened) => {
                    let wait = rig.wait_until_half_open();
                    assert!(within(wait, 10.0), "{wait:?}");
                    assert_eq!(rig.look(0), Some(Change::Opened));
                    let wait = rig.wait_until_half_open();
                    assert!(within(wait, 20.0), "{wait:?}");
                }
                Some(Change::Closed) => {
                    let wait = rig.half_open();
                    assert!(within(wait, 5.0), "it was closed meanwhile: {wait:?}");
                }
                None => assert_eq!(rig.look(10), Some(Change::Closed)),
            }
        }
    }

    #[test]
    fn cluster_t37_no_more_than_ten_or_so_many_at_a_time_are_let_through() {
        let mut rig = Rig::new();
        rig.half_open();
        let most = |rig: &mut Rig, concurrent| {
            let mut leaves = Vec::new();
            while let Some(leave) = rig.breaker.enter(&rig.options, concurrent, rig.now) {
                assert!(leave.is_probe);
                leaves.push(leave);
            }
            leaves
        };
        let two = most(&mut rig, Some(2));
        assert_eq!(two.len(), 2);
        for leave in two {
            rig.breaker.give_back(leave);
        }
        let ten = most(&mut rig, None);
        assert_eq!(ten.len(), 10);
        assert!(!rig.breaker.may_enter(&rig.options, None, rig.now));
        for leave in &ten[1..] {
            assert_eq!(rig.settle(*leave, false, false), None);
        }
        // The caller of the last one gave up.
        rig.breaker.give_back(ten[0]);
        assert_eq!(rig.call(false, false), Some(Change::Closed));
    }

    #[test]
    fn cluster_t37_slow_calls_open_it_though_all_work() {
        let mut rig = Rig::new();
        let changes: Vec<_> = (0..20).map(|_| rig.call(false, true)).collect();
        assert_eq!(changes.last(), Some(&Some(Change::Opened)));
        let timeout = Some(Duration::from_secs(1));
        let slow = rig.options.slow_from(timeout);
        assert_eq!(slow, Some(Duration::from_millis(800)));
        assert_eq!(rig.options.slow_from(None), None);
    }

    #[test]
    fn an_outcome_of_before_says_nothing_about_now() {
        let mut rig = Rig::new();
        let early = rig
            .breaker
            .enter(&rig.options, None, rig.now)
            .expect("closed");
        rig.half_open();
        assert_eq!(rig.settle(early, true, false), None);
        assert_eq!(
            rig.look(10),
            Some(Change::Closed),
            "the early one was no probe"
        );
        let late = rig
            .breaker
            .enter(&rig.options, None, rig.now)
            .expect("closed");
        rig.breaker.give_back(late);
        assert_eq!(rig.breaker.state(rig.now), BreakerState::Closed);
    }

    #[test]
    fn it_never_stays_open_beyond_the_longest_wait() {
        let mut rig = Rig::new();
        rig.half_open();
        for _ in 0..40 {
            assert_eq!(rig.look(0), Some(Change::Opened));
            assert!(rig.wait_until_half_open() <= Duration::from_secs(72));
        }
    }

    #[test]
    fn retries_get_less_likely_the_more_calls_fail() {
        let mut rig = Rig::new();
        rig.options.min_calls = 1_000;
        let weight = |rig: &mut Rig| rig.breaker.retry_weight(&rig.options, rig.now);
        assert!((weight(&mut rig) - 1.0).abs() < 1e-9);
        for n in 0..16 {
            rig.call(n % 4 == 0, false);
        }
        assert!((weight(&mut rig) - 1.0).abs() < 1e-9, "too few to say so");
        rig.options.min_calls = 16;
        assert!((weight(&mut rig) - 0.5).abs() < 1e-9);
        rig.options.min_calls = 1_000;
        for _ in 0..400 {
            rig.call(true, false);
        }
        rig.options.min_calls = 400;
        assert!((weight(&mut rig) - 0.1).abs() < 1e-9);
    }
}
