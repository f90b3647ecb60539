//! How long calls keep the thread that makes them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

/// The paces of the methods of one service, by their number.
#[derive(Debug, Clone)]
pub(super) struct Paces(Arc<[AtomicU32]>);

/// The pace of one method: how long its calls keep a thread, on average, in nanoseconds. What is polled for longer, such as a
/// thread that the system has put aside, counts by its length, so that one such call in a thousand is none too many for
/// calls that are quick, and one in ten is.
///
/// Calls that end at the same time on several connections may lose a measurement. It is a guess.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    all: Paces,
    method: usize,
}

impl Paces {
    /// Those of `methods` methods, of which nothing is known: their calls have to show that they are quick.
    pub(super) fn of(methods: usize) -> Self {
        let unknown = || AtomicU32::new(UNKNOWN);
        Self(std::iter::repeat_with(unknown).take(methods).collect())
    }

    /// The pace of the method with this number.
    pub(super) fn of_method(&self, method: usize) -> Option<Pace> {
        (method < self.0.len()).then(|| Pace {
            all: self.clone(),
            method,
        })
    }
}

impl Pace {
    /// Whether a call is over, or waits for something, so soon that a task of its own would cost more.
    pub(super) fn is_quick(&self) -> bool {
        self.average().load(Ordering::Relaxed) <= QUICK
    }

    /// Notes how long a call kept its thread.
    pub(super) fn note(&self, took: Duration) {
        let took = u32::try_from(took.as_nanos()).unwrap_or(u32::MAX);
        let before = self.average().load(Ordering::Relaxed);
        if took <= QUICK && before <= QUICK / 2 {
            // Nothing to learn, and the processors need not pass it around.
            return;
        }
        let after = before - before / WEIGHT + took / WEIGHT;
        self.average().store(after, Ordering::Relaxed);
    }

    fn average(&self) -> &AtomicU32 {
        &self.all.0[self.method]
    }
}

/// Some ten times what an ordinary small call takes, and no more than the other calls of a connection can wait. What is
/// compiled without optimisation takes that many times longer.
const QUICK: u32 = if cfg!(debug_assertions) {
    1_000_000
} else {
    50_000
};

/// It takes some hundred quick calls to show it.
const UNKNOWN: u32 = 4 * QUICK;

/// The newest call counts for so little of the average.
const WEIGHT: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    /// So many times as long as a quick call may take, at most.
    fn times(factor: f64) -> Duration {
        Duration::from_nanos(u64::from(QUICK)).mul_f64(factor)
    }

    fn calls_until_quick(pace: &Pace) -> usize {
        let mut calls = 0;
        while !pace.is_quick() {
            pace.note(times(0.06));
            calls += 1;
        }
        calls
    }

    #[test]
    fn a_method_has_to_show_that_it_is_quick() {
        let paces = Paces::of(2);
        let pace = paces.of_method(0).expect("there");
        assert!((300..500).contains(&calls_until_quick(&pace)));
        assert!(!paces.of_method(1).expect("there").is_quick());
        assert!(paces.of_method(2).is_none());
    }

    #[test]
    fn calls_that_keep_their_thread_are_soon_known_by_it() {
        for (factor, calls) in [(2_000.0, 1), (400.0, 1), (20.0, 16)] {
            let pace = Paces::of(1).of_method(0).expect("there");
            calls_until_quick(&pace);
            let mut slow = 0;
            while pace.is_quick() {
                pace.note(times(factor));
                slow += 1;
            }
            assert!(slow <= calls, "{slow} calls of {factor} times the limit");
            assert!(calls_until_quick(&pace) > 0);
        }
    }

    #[test]
    fn a_thread_that_is_put_aside_now_and_then_does_not_make_a_method_slow() {
        let pace = Paces::of(1).of_method(0).expect("there");
        calls_until_quick(&pace);
        let mut quick = 0;
        for call in 0..100_000 {
            let aside = call % 1_000 == 999;
            pace.note(times(if aside { 80.0 } else { 0.06 }));
            quick += usize::from(pace.is_quick());
        }
        assert!(quick > 99_000, "{quick} of 100,000");
    }

    #[test]
    fn the_longest_call_is_counted_without_overflow() {
        let pace = Paces::of(1).of_method(0).expect("there");
        for _ in 0..10_000 {
            pace.note(Duration::MAX);
        }
        assert!(!pace.is_quick());
        assert!(calls_until_quick(&pace) > 1_000);
    }
}
