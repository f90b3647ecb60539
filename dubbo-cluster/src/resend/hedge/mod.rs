//! Hedging: an attempt that takes unusually long gets company, and the first answer counts.

mod latencies;
mod race;
#[cfg(test)]
mod tests;

use std::{fmt, time::Duration};

use dubbo_core::{invocation::RpcResult, status::Status};
use tokio::time::Instant;

use self::latencies::Latencies;
pub(crate) use self::race::{Pace, Raced, race};

/// How calls of a method are hedged (`docs/spec/cluster.md` §7.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HedgeOptions {
    max_attempts: u32,
    delay: Option<Duration>,
}

/// Options that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HedgeError {
    /// Not so many attempts.
    #[error("a hedged call has 1 to {MOST} attempts, not {0}")]
    Attempts(u32),
    /// Without a pause, all attempts begin at once.
    #[error("a hedge of no delay begins all attempts at once; the cluster `forking` does that")]
    Delay,
}

impl HedgeOptions {
    /// Up to `max_attempts` attempts, the first included; each begins `delay` after the one before. `None` is the time in
    /// which 95 of 100 attempts of the last minute were answered: 10 ms at least, half of an attempt's time at most, and
    /// 50 ms as long as there were fewer than 20.
    ///
    /// # Errors
    ///
    /// Not from 1 to 5 attempts, or a delay of nothing.
    pub fn new(max_attempts: u32, delay: Option<Duration>) -> Result<Self, HedgeError> {
        if !(1..=MOST).contains(&max_attempts) {
            return Err(HedgeError::Attempts(max_attempts));
        }
        if delay.is_some_and(|delay| delay.is_zero()) {
            return Err(HedgeError::Delay);
        }
        Ok(Self {
            max_attempts,
            delay,
        })
    }
}

impl Default for HedgeOptions {
    /// Two attempts, the second when the first is slower than 95 of 100.
    fn default() -> Self {
        Self {
            max_attempts: 2,
            delay: None,
        }
    }
}

/// The hedging of one method: its options, and how long attempts took. It is for calls that may be made twice.
pub(crate) struct Hedging {
    options: HedgeOptions,
    latencies: Latencies,
}

impl Hedging {
    pub(crate) fn new(options: HedgeOptions) -> Self {
        Self {
            options,
            latencies: Latencies::new(Instant::now()),
        }
    }

    /// How long an attempt is waited for before the next one is begun; `timeout` is what each of them may take.
    pub(crate) fn delay(&self, timeout: Option<Duration>, now: Instant) -> Duration {
        let usual = || {
            let p95 = self.latencies.p95(now)?;
            Some(p95.max(SHORTEST))
        };
        let delay = self.options.delay.or_else(usual).unwrap_or(UNKNOWN);
        timeout.map_or(delay, |timeout| delay.min(timeout / 2))
    }

    /// Makes the attempts of one call. `begin` makes that of a number, from 0; `None` ends it, as when nobody is left to try,
    /// the budget is spent or the providers have enough to do. A failure for which `is_final` holds is an answer. `timeout` is
    /// what each attempt may take.
    ///
    /// # Cancel safety
    ///
    /// Dropping it drops the attempts.
    pub(crate) async fn call<F>(
        &self,
        timeout: Option<Duration>,
        mut begin: impl FnMut(u32) -> Option<F>,
        is_final: impl Fn(&Status) -> bool,
    ) -> Raced
    where
        F: Future<Output = RpcResult>,
    {
        let pace = Pace {
            attempts: self.options.max_attempts,
            delay: self.delay(timeout, Instant::now()),
        };
        let is_answer = |result: &RpcResult| result.as_ref().err().is_none_or(&is_final);
        let begin = |number| {
            let attempt = begin(number)?;
            Some(async {
                let mut timing = Timing {
                    latencies: &self.latencies,
                    started: Instant::now(),
                    counts: true,
                };
                let result = attempt.await;
                timing.counts = is_answer(&result);
                result
            })
        };
        race(pace, begin, &is_final).await
    }
}

impl fmt::Debug for Hedging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hedging").field(&self.options).finish()
    }
}

/// Notes how long an attempt took, also one that is given up: it would have taken longer, and without it the slow ones
/// would be missing from what is usual.
struct Timing<'a> {
    latencies: &'a Latencies,
    started: Instant,
    /// A failure says nothing about how long answers take.
    counts: bool,
}

impl Drop for Timing<'_> {
    fn drop(&mut self) {
        if self.counts {
            let now = Instant::now();
            self.latencies.record(now - self.started, now);
        }
    }
}

const MOST: u32 = 5;
const SHORTEST: Duration = Duration::from_millis(10);
const UNKNOWN: Duration = Duration::from_millis(50);
