//! The outcomes of the last while: in time, or in number of calls.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// How far back a window reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowKind {
    /// The last `length`, in `buckets` parts, the oldest of which is forgotten whole.
    Time {
        /// How long it is; 10 s by default.
        length: Duration,
        /// Of how many parts; 10 by default, at least 1.
        buckets: u32,
    },
    /// The last so many calls.
    Count(u32),
}

impl Default for WindowKind {
    fn default() -> Self {
        Self::Time {
            length: Duration::from_secs(10),
            buckets: 10,
        }
    }
}

/// Counted outcomes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) calls: u32,
    pub(super) failures: u32,
    pub(super) slow: u32,
}

/// One outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) failed: bool,
    pub(super) slow: bool,
}

/// A window over outcomes.
#[derive(Debug)]
pub(super) struct Window {
    kind: WindowKind,
    began: Instant,
    /// Of a window in time, the newest last; each with the number of its part.
    buckets: VecDeque<(u64, Tally)>,
    /// Of a window in number, the newest last.
    outcomes: VecDeque<Outcome>,
}

impl Window {
    pub(super) fn new(kind: WindowKind, now: Instant) -> Self {
        Self {
            kind,
            began: now,
            buckets: VecDeque::new(),
            outcomes: VecDeque::new(),
        }
    }

    pub(super) fn kind(&self) -> WindowKind {
        self.kind
    }

    pub(super) fn add(&mut self, outcome: Outcome, now: Instant) {
        match self.kind {
            WindowKind::Count(most) => {
                while self.outcomes.len() >= most.max(1) as usize {
                    self.outcomes.pop_front();
                }
                self.outcomes.push_back(outcome);
            }
            WindowKind::Time { .. } => {
                let part = self.part(now);
                self.forget(part);
                if self.buckets.back().is_none_or(|&(newest, _)| newest < part) {
                    self.buckets.push_back((part, Tally::default()));
                }
                if let Some((_, tally)) = self.buckets.back_mut() {
                    tally.add(outcome);
                }
            }
        }
    }

    /// All that is in it at `now`.
    pub(super) fn tally(&mut self, now: Instant) -> Tally {
        let mut all = Tally::default();
        match self.kind {
            WindowKind::Count(_) => {
                for &outcome in &self.outcomes {
                    all.add(outcome);
                }
            }
            WindowKind::Time { .. } => {
                let part = self.part(now);
                self.forget(part);
                for (_, tally) in &self.buckets {
                    all.calls = all.calls.saturating_add(tally.calls);
                    all.failures = all.failures.saturating_add(tally.failures);
                    all.slow = all.slow.saturating_add(tally.slow);
                }
            }
        }
        all
    }

    /// The rate of failures in which each part of the time counts 0.85 times the next newer one; `None` without calls.
    pub(super) fn recent_failure_rate(&mut self, now: Instant) -> Option<f64> {
        let (mut calls, mut failures) = (0.0, 0.0);
        match self.kind {
            WindowKind::Count(_) => {
                let mut weight = 1.0;
                for outcome in self.outcomes.iter().rev() {
                    calls += weight;
                    failures += if outcome.failed { weight } else { 0.0 };
                    weight *= DECAY;
                }
            }
            WindowKind::Time { .. } => {
                let part = self.part(now);
                self.forget(part);
                for &(bucket, tally) in &self.buckets {
                    let age = i32::try_from(part - bucket).unwrap_or(i32::MAX);
                    let weight = DECAY.powi(age);
                    calls += f64::from(tally.calls) * weight;
                    failures += f64::from(tally.failures) * weight;
                }
            }
        }
        (calls > 0.0).then(|| failures / calls)
    }

    pub(super) fn clear(&mut self) {
        self.buckets.clear();
        self.outcomes.clear();
    }

    fn part(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.began);
        let part = since.as_nanos() / self.width().as_nanos();
        u64::try_from(part).unwrap_or(u64::MAX)
    }

    fn width(&self) -> Duration {
        match self.kind {
            WindowKind::Time { length, buckets } => {
                (length / buckets.max(1)).max(Duration::from_nanos(1))
            }
            WindowKind::Count(_) => Duration::MAX,
        }
    }

    fn forget(&mut self, newest: u64) {
        let WindowKind::Time { buckets, .. } = self.kind else {
            return;
        };
        let reach = u64::from(buckets.max(1));
        while let Some(&(part, _)) = self.buckets.front()
            && part + reach <= newest
        {
            self.buckets.pop_front();
        }
    }
}

impl Tally {
    fn add(&mut self, outcome: Outcome) {
        self.calls = self.calls.saturating_add(1);
        self.failures = self.failures.saturating_add(outcome.failed.into());
        self.slow = self.slow.saturating_add(outcome.slow.into());
    }

    pub(super) fn failure_rate(self) -> f64 {
        rate(self.failures, self.calls)
    }

    pub(super) fn slow_rate(self) -> f64 {
        rate(self.slow, self.calls)
    }
}

/// 0 without any.
pub(super) fn rate(part: u32, of: u32) -> f64 {
    if of == 0 {
        return 0.0;
    }
    f64::from(part) / f64::from(of)
}

/// `docs/spec/cluster.md` §7.7.
const DECAY: f64 = 0.85;

#[cfg(test)]
mod tests {
    use super::*;

    const OK: Outcome = Outcome {
        failed: false,
        slow: false,
    };
    const FAILED: Outcome = Outcome {
        failed: true,
        slow: false,
    };

    #[test]
    fn a_window_in_time_forgets_part_by_part() {
        let start = Instant::now();
        let mut window = Window::new(WindowKind::default(), start);
        let at = |millis| start + Duration::from_millis(millis);
        for (when, outcome) in [(0, FAILED), (900, OK), (1_000, FAILED), (9_500, OK)] {
            window.add(outcome, at(when));
        }
        for (when, calls, failures) in [
            (9_999, 4, 2),
            (10_000, 2, 1),
            (10_999, 2, 1),
            (11_000, 1, 0),
            (19_000, 0, 0),
        ] {
            let tally = window.tally(at(when));
            assert_eq!(
                (tally.calls, tally.failures),
                (calls, failures),
                "at {when}"
            );
        }
    }

    #[test]
    fn a_window_in_number_forgets_the_oldest() {
        let now = Instant::now();
        let mut window = Window::new(WindowKind::Count(3), now);
        for outcome in [FAILED, FAILED, OK, OK] {
            window.add(outcome, now);
        }
        let tally = window.tally(now);
        assert_eq!((tally.calls, tally.failures), (3, 1));
        window.clear();
        assert_eq!(window.tally(now), Tally::default());
    }

    #[test]
    fn what_is_recent_counts_more() {
        let start = Instant::now();
        let mut old = Window::new(WindowKind::default(), start);
        let mut new = Window::new(WindowKind::default(), start);
        assert_eq!(old.recent_failure_rate(start), None);
        let later = start + Duration::from_secs(8);
        for (window, first, second) in [(&mut old, FAILED, OK), (&mut new, OK, FAILED)] {
            window.add(first, start);
            window.add(second, later);
        }
        let faded = 0.85_f64.powi(8);
        let rate = old.recent_failure_rate(later).expect("has calls");
        assert!((rate - faded / (1.0 + faded)).abs() < 1e-9, "{rate}");
        let rate = new.recent_failure_rate(later).expect("has calls");
        assert!((rate - 1.0 / (1.0 + faded)).abs() < 1e-9, "{rate}");
    }
}
