//! How soon calls are over.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

/// The paces of the methods of one service, by their number.
#[derive(Debug, Clone)]
pub(super) struct Paces {
    began: Instant,
    methods: Arc<[Method]>,
}

/// The pace of one method.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    paces: Paces,
    method: usize,
}

/// All of it may be lost when calls end at the same time on several connections: it is a guess.
#[derive(Debug)]
struct Method {
    /// How many calls have to be quick yet before it counts as quick.
    left: AtomicU32,
    /// How often it was not, lately.
    strikes: AtomicU32,
    /// When it last was not, in seconds after the beginning.
    struck: AtomicU32,
}

impl Paces {
    /// Those of `methods` methods, of which nothing is known: their first calls have to show it.
    pub(super) fn of(methods: usize) -> Self {
        let unknown = || Method {
            left: AtomicU32::new(PROOF),
            strikes: AtomicU32::new(0),
            struck: AtomicU32::new(0),
        };
        Self {
            began: Instant::now(),
            methods: std::iter::repeat_with(unknown).take(methods).collect(),
        }
    }

    /// The pace of the method with this number.
    pub(super) fn of_method(&self, method: usize) -> Option<Pace> {
        (method < self.methods.len()).then(|| Pace {
            paces: self.clone(),
            method,
        })
    }
}

impl Pace {
    /// Whether a call is over, or waits for something, so soon that a task of its own would cost more.
    pub(super) fn is_quick(&self) -> bool {
        self.method().left.load(Ordering::Relaxed) == 0
    }

    /// Notes how long a call kept its thread.
    pub(super) fn note(&self, took: Duration) {
        let method = self.method();
        let left = method.left.load(Ordering::Relaxed);
        if took <= QUICK {
            if left > 0 {
                method.left.store(left - 1, Ordering::Relaxed);
            }
            return;
        }
        let now = u32::try_from(self.paces.began.elapsed().as_secs()).unwrap_or(u32::MAX);
        let forgotten = now.saturating_sub(method.struck.load(Ordering::Relaxed)) > MEMORY;
        let strikes = match method.strikes.load(Ordering::Relaxed) {
            _ if forgotten => 0,
            strikes => (strikes + 1).min(MOST_STRIKES),
        };
        method.struck.store(now, Ordering::Relaxed);
        method.strikes.store(strikes, Ordering::Relaxed);
        method.left.store(PROOF << strikes, Ordering::Relaxed);
    }

    fn method(&self) -> &Method {
        &self.paces.methods[self.method]
    }
}

/// Twenty times what an ordinary small call takes, and no more than the other calls of a connection can wait.
const QUICK: Duration = Duration::from_micros(50);

/// So many quick calls, one after another, make a quick method; twice as many after each that was not.
const PROOF: u32 = 32;
const MOST_STRIKES: u32 = 12;

/// After so many seconds it is forgotten that a method was slow: a machine that is busy makes any call slow.
const MEMORY: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Duration = Duration::from_micros(51);

    fn quick_calls_until_it_counts(pace: &Pace) -> u32 {
        let mut calls = 0;
        while !pace.is_quick() {
            pace.note(QUICK);
            calls += 1;
        }
        calls
    }

    #[test]
    fn a_method_has_to_show_that_it_is_quick_and_more_so_after_it_was_not() {
        let paces = Paces::of(2);
        let pace = paces.of_method(0).expect("there");
        assert_eq!(quick_calls_until_it_counts(&pace), PROOF);
        let mut asked = Vec::new();
        for _ in 0..14 {
            pace.note(SLOW);
            asked.push(quick_calls_until_it_counts(&pace) / PROOF);
        }
        assert_eq!(
            asked,
            [
                2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 4096, 4096
            ]
        );
        assert!(!paces.of_method(1).expect("there").is_quick());
        assert!(paces.of_method(2).is_none());
    }

    #[test]
    fn a_method_that_was_slow_long_ago_starts_anew() {
        let mut paces = Paces::of(1);
        let past = Instant::now().checked_sub(Duration::from_secs(100));
        paces.began = past.expect("a clock that runs for longer");
        let pace = paces.of_method(0).expect("there");
        pace.note(SLOW);
        assert_eq!(quick_calls_until_it_counts(&pace), PROOF);
        pace.note(SLOW);
        assert_eq!(quick_calls_until_it_counts(&pace), 2 * PROOF);
    }
}
