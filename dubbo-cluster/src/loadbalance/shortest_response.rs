//! `shortestresponse`: the provider that is expected to answer first.

use std::{fmt, sync::Arc, time::Duration};

use dubbo_core::{
    cluster::{Candidates, LoadBalance, MethodState, Node, Recent},
    extension::BoxError,
    invocation::Invocation,
    url::{Key, Url},
};
use tokio::time::Instant;

use super::{Clock, chance::Chance, least, p2c::PROBES};

/// Picks the provider that is expected to answer first: how long its calls of the method took lately, times those that are
/// under way with this one. Among equals the weights decide, warm-up applied.
///
/// `docs/spec/cluster.md` §3.8. Lately is about `shortestResponseSlidePeriod`, 30 s. Of more than 48 providers, 16 that
/// chance chooses are compared.
pub struct ShortestResponse {
    memory: Duration,
    chance: Chance,
    clock: Clock,
}

impl ShortestResponse {
    /// As the consumer's `url` says.
    ///
    /// # Errors
    ///
    /// `shortestResponseSlidePeriod` is no time above 0.
    pub fn new(url: &Url) -> Result<Self, BoxError> {
        let memory = url.get(&SLIDE_PERIOD)?;
        if memory.is_zero() {
            let name = SLIDE_PERIOD.name;
            return Err(format!("`{name}` is 0: it is how long a response time counts").into());
        }
        Ok(Self {
            memory,
            chance: Chance::new(),
            clock: Clock::system(),
        })
    }

    /// The same picks for the same seed, as long as one caller at a time picks.
    pub fn from_seed(seed: u64, clock: Clock, memory: Duration) -> Self {
        Self {
            memory,
            chance: Chance::from_seed(seed),
            clock,
        }
    }

    /// In milliseconds. Those that have not answered yet come first until they are tried, and then last.
    fn estimate(&self, node: &Node, invocation: &Invocation, now: Instant) -> Estimate {
        let seen = node.state.seen(&invocation.method);
        let active = seen.map_or(0, MethodState::active);
        let recent = seen.map_or(Recent::NONE, |seen| seen.recent(self.memory, now));
        match recent.latency.or(recent.peak) {
            Some(latency) => {
                // To the millisecond, so that the weights decide among those that are about as quick. One that fails at
                // once is not quick: its work is done when another has done it.
                let millis = latency.as_micros().div_ceil(1_000).max(1);
                let expected = millis.saturating_mul(u128::from(active) + 1);
                Estimate::Known(times(expected, 1.0 / recent.success_ratio()))
            }
            None if active < PROBES => Estimate::Untried,
            None => Estimate::BeingTried(active),
        }
    }
}

/// Rounded up.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "estimates are compared, and times above 0"
)]
fn times(millis: u128, factor: f64) -> u128 {
    (millis as f64 * factor - ROUNDING).ceil() as u128
}

/// Least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Estimate {
    Untried,
    Known(u128),
    BeingTried(u32),
}

impl LoadBalance for ShortestResponse {
    fn select(&self, candidates: &Candidates, invocation: &Invocation) -> Option<usize> {
        self.select_where(candidates, invocation, &|_| true)
    }

    fn select_where(
        &self,
        candidates: &Candidates,
        invocation: &Invocation,
        wanted: &dyn Fn(&Node) -> bool,
    ) -> Option<usize> {
        let (millis, now) = (self.clock.now_millis(), Instant::now());
        let mut rng = self.chance.rng();
        least::pick(candidates, millis, &mut rng, wanted, |node| {
            self.estimate(node, invocation, now)
        })
    }
}

impl fmt::Debug for ShortestResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShortestResponse")
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}

dubbo_core::extension!(dyn LoadBalance, "shortestresponse", |cx| Ok(Arc::new(
    ShortestResponse::new(cx.url)?
)));

/// What decays is not exact: 1 ms is not 2 ms for that.
const ROUNDING: f64 = 1e-6;

const SLIDE_PERIOD: Key<Duration> = Key {
    name: "shortestResponseSlidePeriod",
    default: || Duration::from_secs(30),
};

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;
    use crate::testing::{candidates, consumer, invocation, weighted};

    const MEMORY: Duration = Duration::from_secs(30);

    fn counts(candidates: &Candidates, picks: usize) -> Vec<u32> {
        let shortest = ShortestResponse::from_seed(42, Clock::new(|| 0), MEMORY);
        let mut counts = vec![0; candidates.len()];
        for _ in 0..picks {
            counts[shortest
                .select(candidates, &invocation())
                .expect("somebody")] += 1;
        }
        counts
    }

    /// One call of each that took so many milliseconds; 0 is none.
    fn answered(candidates: &Candidates, millis: &[u64]) {
        let (call, now) = (invocation(), Instant::now());
        for (node, &millis) in candidates.iter().zip(millis) {
            let method = node.state.method(&call.method);
            method.recent(MEMORY, now);
            if millis > 0 {
                method.finished(true, Duration::from_millis(millis), now);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn response_times_and_calls_under_way_decide_and_then_the_weights() {
        let three = candidates(&weighted(&[100, 1, 2]));
        answered(&three, &[30, 10, 10]);
        let got = counts(&three, 30_000);
        assert_eq!(got[0], 0);
        assert!(got[1].abs_diff(10_000) <= 327, "{got:?}");

        let call = invocation();
        let begin = |at: usize| {
            three
                .get(at)
                .expect("three")
                .state
                .method(&call.method)
                .begin()
        };
        let _attempts = [begin(1), begin(1), begin(1), begin(2)];
        assert_eq!(counts(&three, 100), [0, 0, 100], "30, 40 and 20 ms");
        let _more = [begin(2), begin(2)];
        assert_eq!(counts(&three, 100), [100, 0, 0], "30, 40 and 40 ms");
    }

    #[tokio::test(start_paused = true)]
    async fn the_unknown_are_tried_with_three_calls_at_a_time() {
        let two = candidates(&weighted(&[1, 1]));
        answered(&two, &[10, 0]);
        let call = invocation();
        let unknown = two.get(1).expect("two").state.method(&call.method);
        let mut attempts = Vec::new();
        for outstanding in 0..5 {
            let want = if outstanding < 3 { [0, 10] } else { [10, 0] };
            assert_eq!(counts(&two, 10), want, "{outstanding} outstanding");
            attempts.push(unknown.begin());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_was_slow_is_tried_again_and_not_all_at_once() {
        for (seconds, want) in [(0, [10, 0]), (60, [10, 0]), (75, [0, 10])] {
            let all = candidates(&weighted(&[1, 1]));
            answered(&all, &[10, 100]);
            advance(Duration::from_secs(seconds)).await;
            answered(&all, &[10]);
            assert_eq!(counts(&all, 10), want, "after {seconds} s");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_fails_at_once_is_not_quick() {
        let two = candidates(&weighted(&[1, 1]));
        answered(&two, &[20, 1]);
        let (call, now) = (invocation(), Instant::now());
        let failing = two.get(1).expect("two").state.method(&call.method);
        assert_eq!(counts(&two, 10), [0, 10]);
        for _ in 0..40 {
            failing.finished(false, Duration::ZERO, now);
        }
        assert_eq!(
            counts(&two, 10),
            [10, 0],
            "1 ms / (2/42) is more than 20 ms"
        );

        let never = candidates(&weighted(&[1, 1]));
        answered(&never, &[20, 0]);
        let failing = never.get(1).expect("two").state.method(&call.method);
        for _ in 0..40 {
            failing.finished(false, Duration::ZERO, now);
        }
        assert_eq!(counts(&never, 10), [10, 0]);
        advance(Duration::from_mins(5)).await;
        answered(&never, &[20]);
        assert_eq!(counts(&never, 10), [0, 10], "it is forgotten");
    }

    #[test]
    fn a_slide_period_is_a_time_above_0() {
        let period = |text: &str| {
            let url = consumer().with_param("shortestResponseSlidePeriod", text);
            ShortestResponse::new(&url).map(|made| made.memory)
        };
        assert_eq!(period("").expect("the default"), MEMORY);
        assert_eq!(
            period("5000").expect("milliseconds"),
            Duration::from_secs(5)
        );
        for wrong in ["0", "soon"] {
            let error = period(wrong).expect_err(wrong).to_string();
            assert!(error.contains("shortestResponseSlidePeriod"), "{error}");
        }
    }
}
