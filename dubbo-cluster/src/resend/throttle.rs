//! Stops trying again while most attempts fail (`docs/spec/cluster.md` §7.6), as gRPC's retry throttling does.

use std::sync::atomic::{AtomicI64, Ordering};

use dubbo_core::yaml::Section;

/// How fast tokens come back.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ThrottleOptions {
    /// The most tokens, and how many there are at first; 10. A failed attempt takes one. Calls are tried again while more
    /// than half of them are there.
    pub tokens: u32,
    /// How much of a token an attempt that works brings back, up to 1; 0.1.
    pub per_success: f64,
}

impl Default for ThrottleOptions {
    fn default() -> Self {
        Self {
            tokens: 10,
            per_success: 0.1,
        }
    }
}

impl ThrottleOptions {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        let default = Self::default();
        let per_success = s.parse("per-success", "a number above 0, up to 1", |text| {
            let number: f64 = text.parse().ok()?;
            (number > 0.0 && number <= 1.0).then_some(number)
        });
        Self {
            tokens: s.integer("tokens", 1..=1_000).unwrap_or(default.tokens),
            per_success: per_success.unwrap_or(default.per_success),
        }
    }
}

/// The tokens of one target.
#[derive(Debug)]
pub(super) struct Throttle {
    /// In thousandths.
    tokens: AtomicI64,
    most: i64,
    brought: i64,
}

impl Throttle {
    pub(super) fn new(options: ThrottleOptions) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "from 1 to 1000")]
        let brought = (options.per_success * 1_000.0).round() as i64;
        let most = i64::from(options.tokens) * TOKEN;
        Self {
            tokens: AtomicI64::new(most),
            most,
            brought: brought.clamp(1, TOKEN),
        }
    }

    pub(super) fn worked(&self) {
        // Full as a rule, and then a look is all.
        if self.tokens.load(Ordering::Relaxed) < self.most {
            self.change(self.brought);
        }
    }

    pub(super) fn failed(&self) {
        self.change(-TOKEN);
    }

    pub(super) fn allows(&self) -> bool {
        self.tokens.load(Ordering::Relaxed) * 2 > self.most
    }

    fn change(&self, by: i64) {
        let change = |tokens: i64| Some((tokens + by).clamp(0, self.most));
        // It changes always, so it cannot fail.
        let _ = self
            .tokens
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
    }
}

const TOKEN: i64 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_half_of_the_tokens_allow_and_ten_successes_bring_one() {
        let throttle = Throttle::new(ThrottleOptions::default());
        for _ in 0..4 {
            throttle.failed();
            assert!(throttle.allows());
        }
        throttle.failed();
        assert!(!throttle.allows(), "5 of 10 are not more than half");
        throttle.worked();
        assert!(throttle.allows(), "5.1 are");
        for _ in 0..100 {
            throttle.failed();
        }
        for _ in 0..50 {
            throttle.worked();
        }
        assert!(!throttle.allows(), "none is below none, and 50 bring 5");
        for _ in 0..1_000 {
            throttle.worked();
        }
        for _ in 0..5 {
            assert!(throttle.allows(), "never more than all");
            throttle.failed();
        }
        assert!(!throttle.allows());
    }
}
