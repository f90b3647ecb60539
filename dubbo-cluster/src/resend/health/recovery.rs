//! Coming back step by step: what failed gets few calls at a time, then more.

use std::time::Duration;

use tokio::time::Instant;

use super::window::rate;

/// How a provider that failed comes back (`docs/spec/cluster.md` §7.8).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct RecoveryOptions {
    /// How many calls at a time it gets at first; 2.
    pub initial: u32,
    /// After how long that is looked at again; 30 s.
    pub window: Duration,
    /// The part of what it carried in its best time that it gets at most before it gets everything; 0.3.
    pub cap: f64,
}

impl Default for RecoveryOptions {
    fn default() -> Self {
        Self {
            initial: 2,
            window: Duration::from_secs(30),
            cap: 0.3,
        }
    }
}

/// The machine. Time is handed in.
#[derive(Debug)]
pub(super) struct Recovery {
    coming_back: Option<ComingBack>,
    best: Best,
}

#[derive(Debug, Clone, Copy)]
struct ComingBack {
    allowance: u32,
    cap: u32,
    window_ends: Instant,
    ok: u32,
    calls: u32,
    good_at_cap: u32,
}

/// The most calls at a time of the last hour, to the half.
#[derive(Debug)]
struct Best {
    since: Instant,
    now: u32,
    before: u32,
}

impl Recovery {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            coming_back: None,
            best: Best {
                since: now,
                now: 0,
                before: 0,
            },
        }
    }

    /// How many calls at a time may be under way; `None` is as many as there are.
    pub(super) fn allowance(&self) -> Option<u32> {
        self.coming_back.map(|back| back.allowance)
    }

    /// Starts over with little.
    pub(super) fn begin(&mut self, options: &RecoveryOptions, now: Instant) {
        let best = self.best.now.max(self.best.before);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a part of a count is a count"
        )]
        let cap = (f64::from(best) * options.cap) as u32;
        let initial = options.initial.max(1);
        self.coming_back = Some(ComingBack {
            allowance: initial,
            cap: cap.max(initial),
            window_ends: now + options.window,
            ok: 0,
            calls: 0,
            good_at_cap: 0,
        });
    }

    /// Gets everything again at once.
    pub(super) fn end(&mut self) {
        self.coming_back = None;
    }

    /// Notes that so many calls are under way while all is well.
    pub(super) fn carried(&mut self, active: u32, now: Instant) {
        if self.coming_back.is_some() {
            return;
        }
        if now.saturating_duration_since(self.best.since) >= HALF_AN_HOUR {
            self.best = Best {
                since: now,
                now: 0,
                before: self.best.now,
            };
        }
        self.best.now = self.best.now.max(active);
    }

    /// Takes in how a call ended.
    pub(super) fn settle(&mut self, failed: bool, options: &RecoveryOptions, now: Instant) {
        self.look(options, now);
        if let Some(back) = &mut self.coming_back {
            back.calls = back.calls.saturating_add(1);
            back.ok = back.ok.saturating_add(u32::from(!failed));
        }
    }

    /// Takes the steps whose time has come.
    pub(super) fn look(&mut self, options: &RecoveryOptions, now: Instant) {
        let Some(back) = &mut self.coming_back else {
            return;
        };
        if now < back.window_ends {
            return;
        }
        let (ok, calls) = (
            std::mem::take(&mut back.ok),
            std::mem::take(&mut back.calls),
        );
        // Windows without a call say nothing, so it does not matter how many went by.
        back.window_ends = now + options.window;
        if calls == 0 {
            return;
        }
        let ok = rate(ok, calls);
        if ok >= GOOD {
            back.good_at_cap = if back.allowance == back.cap {
                back.good_at_cap + 1
            } else {
                0
            };
            back.allowance = back.allowance.saturating_mul(2).min(back.cap);
        } else {
            back.good_at_cap = 0;
            if ok < BAD {
                back.allowance = (back.allowance / 2).max(1);
            }
        }
        if back.good_at_cap >= ENOUGH_AT_CAP {
            self.coming_back = None;
        }
    }
}

const GOOD: f64 = 0.95;
const BAD: f64 = 0.8;
const ENOUGH_AT_CAP: u32 = 2;
const HALF_AN_HOUR: Duration = Duration::from_mins(30);

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: fn() -> RecoveryOptions = RecoveryOptions::default;

    /// A recovery of a provider that carried `best` calls at a time, begun.
    fn begun(best: u32) -> (Recovery, Instant) {
        let now = Instant::now();
        let mut recovery = Recovery::new(now);
        recovery.carried(best, now);
        recovery.begin(&OPTIONS(), now);
        (recovery, now)
    }

    /// One window in which `ok` of 100 calls work; none at all without.
    fn window(recovery: &mut Recovery, now: &mut Instant, ok: Option<u32>) -> Option<u32> {
        for n in ok.iter().flat_map(|&ok| (0..100).map(move |n| n < ok)) {
            recovery.settle(!n, &OPTIONS(), *now);
        }
        *now += OPTIONS().window;
        recovery.look(&OPTIONS(), *now);
        recovery.allowance()
    }

    #[test]
    fn cluster_t38_good_windows_double_the_allowance_and_two_at_the_cap_end_it() {
        let (mut recovery, mut now) = begun(100);
        assert_eq!(recovery.allowance(), Some(2));
        let steps = [4, 8, 16, 30].map(Some).into_iter().chain([Some(30), None]);
        for want in steps {
            assert_eq!(window(&mut recovery, &mut now, Some(100)), want);
        }
    }

    #[test]
    fn cluster_t38_a_bad_window_halves_it_and_one_between_or_an_empty_one_changes_nothing() {
        for (ok, want) in [(Some(79), 8), (Some(85), 16), (None, 16), (Some(95), 30)] {
            let (mut recovery, mut now) = begun(100);
            for _ in 0..3 {
                window(&mut recovery, &mut now, Some(100));
            }
            assert_eq!(recovery.allowance(), Some(16));
            assert_eq!(window(&mut recovery, &mut now, ok), Some(want), "{ok:?}");
        }
    }

    #[test]
    fn cluster_t38_it_never_falls_below_one_and_the_cap_never_below_what_it_began_with() {
        let (mut recovery, mut now) = begun(0);
        for want in [1, 1, 1] {
            assert_eq!(window(&mut recovery, &mut now, Some(0)), Some(want));
        }
        assert_eq!(window(&mut recovery, &mut now, Some(100)), Some(2));
        window(&mut recovery, &mut now, Some(100));
        assert_eq!(window(&mut recovery, &mut now, Some(100)), None);
    }

    #[test]
    fn the_best_time_is_that_of_the_last_hour() {
        let start = Instant::now();
        let mut recovery = Recovery::new(start);
        recovery.carried(100, start);
        for (minutes, want) in [(29, 30), (31, 30), (62, 3)] {
            let now = start + Duration::from_mins(minutes);
            recovery.end();
            recovery.carried(10, now);
            recovery.begin(&OPTIONS(), now);
            let cap = recovery.coming_back.map(|back| back.cap);
            assert_eq!(cap, Some(want), "after {minutes} min");
        }
    }
}
