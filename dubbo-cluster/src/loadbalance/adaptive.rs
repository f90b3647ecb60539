//! `adaptive`: of two, the one that does better, by its answers and by what it says of itself.

use std::{fmt, sync::Arc, time::Duration};

use dubbo_core::{
    attachments::Attachments,
    cluster::{Candidates, LoadBalance, MethodState, Node, Recent},
    extension::BoxError,
    invocation::{Invocation, RpcResult},
    url::{Key, Url},
};
use tokio::time::Instant;

use super::{
    Clock,
    chance::Chance,
    draw::{self, Urn},
    p2c::PROBES,
};

/// Draws two providers and picks the one with the lower score: the time of its slowest answers lately times the calls
/// under way with this one, beside its weight and its part of calls that worked, squared.
///
/// `docs/spec/cluster.md` §3.9. A provider that has not answered yet is tried with up to three calls at a time. Requests ask
/// with the attachment `lb_adaptive` how busy the provider is, as Dubbo Java's do; with `compat.java-adaptive-score` the
/// answer is what decides.
pub struct Adaptive {
    java_score: bool,
    chance: Chance,
    clock: Clock,
}

impl Adaptive {
    /// As the consumer's `url` says.
    ///
    /// # Errors
    ///
    /// `compat.java-adaptive-score` is no truth value.
    pub fn new(url: &Url) -> Result<Self, BoxError> {
        Ok(Self {
            java_score: url.get(&JAVA_SCORE)?,
            chance: Chance::new(),
            clock: Clock::system(),
        })
    }

    /// The same picks for the same seed, as long as one caller at a time picks; by Java's score if it is `java_score`.
    pub fn from_seed(seed: u64, clock: Clock, java_score: bool) -> Self {
        Self {
            java_score,
            chance: Chance::from_seed(seed),
            clock,
        }
    }

    fn score(&self, node: &Node, weight: u32, invocation: &Invocation, now: Instant) -> f64 {
        let seen = node.state.seen(&invocation.method);
        if self.java_score {
            return seen.map_or(0.0, |seen| java_score(seen, weight, invocation, now));
        }
        let active = seen.map_or(0, MethodState::active);
        let recent = seen.map_or(Recent::NONE, |seen| seen.recent(MEMORY, now));
        match recent.peak {
            Some(peak) => {
                let share = f64::from(weight.max(1)) * recent.success_ratio().powi(2);
                peak.as_secs_f64() * (f64::from(active) + 1.0) / share
            }
            None if active < PROBES => 0.0,
            None => f64::INFINITY,
        }
    }
}

/// What the provider says about its load, beside the calls that worked. One that was not chosen for two timeouts is.
fn java_score(seen: &MethodState, weight: u32, invocation: &Invocation, now: Instant) -> f64 {
    let timeout = invocation.timeout.unwrap_or(TIMEOUT);
    if seen
        .since_picked(now)
        .is_some_and(|since| since > timeout * 2)
    {
        return 0.0;
    }
    let recent = seen.recent(MEMORY, now);
    let requests = recent.ended + f64::from(seen.active());
    let worked = recent.succeeded / (requests + 1.0);
    seen.load().unwrap_or_default() / (worked * f64::from(weight) + 1.0)
}

impl LoadBalance for Adaptive {
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
        let drawn = draw::some(candidates, millis, 2, &mut rng, wanted);
        let mut lowest = f64::INFINITY;
        let mut equals = Urn::default();
        for at in drawn {
            let node = candidates.get(at)?;
            let weight = node.effective_weight(millis);
            let score = self.score(node, weight, invocation, now);
            if score < lowest {
                (lowest, equals) = (score, Urn::default());
            }
            if score <= lowest {
                equals.add(at, weight, &mut rng);
            }
        }
        let (at, _) = equals.drawn?;
        if self.java_score {
            let node = candidates.get(at)?;
            node.state.method(&invocation.method).picked(now);
        }
        Some(at)
    }

    fn before(&self, _node: &Node, invocation: &mut Invocation) {
        invocation.attachments.insert(ATTACHMENT, QUESTION);
    }

    fn after(&self, _node: &Node, method: &MethodState, result: &RpcResult) {
        let answer = match result {
            Ok(reply) => answer_in(&reply.trailers).or_else(|| answer_in(&reply.headers)),
            Err(_) => None,
        };
        if let Some(Answer { told_millis, load }) = answer {
            method.report_load(load, told_millis, Instant::now());
        }
    }
}

/// What a provider says of itself.
struct Answer {
    /// When, by its own clock.
    told_millis: u64,
    /// Its system load in percent of its processors.
    load: f64,
}

/// What is not to be read is no answer: the attachment is the provider's, and no call fails for it.
fn answer_in(attachments: &Attachments) -> Option<Answer> {
    let (mut told_millis, mut load) = (None, None);
    for part in attachments.get(ATTACHMENT)?.split(',') {
        match part.split_once(':')? {
            ("curTime", value) => told_millis = value.parse().ok(),
            ("load", value) => load = value.parse().ok(),
            _ => {}
        }
    }
    let load = load.filter(|load: &f64| load.is_finite() && *load >= 0.0)?;
    Some(Answer {
        told_millis: told_millis?,
        load,
    })
}

impl fmt::Debug for Adaptive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adaptive")
            .field("java_score", &self.java_score)
            .finish_non_exhaustive()
    }
}

dubbo_core::extension!(dyn LoadBalance, "adaptive", |cx| Ok(Arc::new(
    Adaptive::new(cx.url)?
)));

const JAVA_SCORE: Key<bool> = Key {
    name: "compat.java-adaptive-score",
    default: || false,
};

/// The question and the answer have one key.
const ATTACHMENT: &str = "lb_adaptive";
const QUESTION: &str = "mem,load";

/// How long a slow answer and a failure count.
const MEMORY: Duration = Duration::from_secs(10);

/// Where nobody says how long an attempt may take.
const TIMEOUT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use dubbo_core::invocation::Reply;
    use tokio::time::advance;

    use super::*;
    use crate::testing::{candidates, consumer, invocation, weighted};

    fn counts(candidates: &Candidates, java_score: bool, picks: usize) -> Vec<u32> {
        let adaptive = Adaptive::from_seed(42, Clock::new(|| 0), java_score);
        let mut counts = vec![0; candidates.len()];
        for _ in 0..picks {
            counts[adaptive
                .select(candidates, &invocation())
                .expect("somebody")] += 1;
        }
        counts
    }

    fn method(candidates: &Candidates, at: usize) -> &MethodState {
        let node = candidates.get(at).expect("is there");
        node.state.method(&invocation().method)
    }

    /// Calls of the one at `at`, each with its success and its milliseconds.
    fn finished(candidates: &Candidates, at: usize, calls: &[(bool, u64)]) {
        let (method, now) = (method(candidates, at), Instant::now());
        method.recent(MEMORY, now);
        for &(ok, millis) in calls {
            method.finished(ok, Duration::from_millis(millis), now);
        }
    }

    /// What the one at `at` answers with.
    fn answers(candidates: &Candidates, at: usize, text: &str) {
        let adaptive = Adaptive::from_seed(42, Clock::new(|| 0), false);
        let mut reply = Reply::new(invocation().body);
        reply.trailers.insert(ATTACHMENT, text.to_owned());
        let node = candidates.get(at).expect("is there");
        let method = node.state.method(&invocation().method);
        adaptive.after(node, method, &Ok(reply));
    }

    #[tokio::test(start_paused = true)]
    async fn time_calls_under_way_failures_and_weight_make_the_score() {
        for (calls, active, weights, want) in [
            ([&[(true, 10)][..], &[(true, 20)]], [0, 0], [1, 1], [9, 0]),
            ([&[(true, 10)], &[(true, 20)]], [2, 0], [1, 1], [0, 9]),
            ([&[(true, 10)], &[(false, 10)]], [0, 0], [1, 1], [9, 0]),
            ([&[(true, 10)], &[(true, 20)]], [0, 0], [1, 3], [0, 9]),
            ([&[(true, 10)], &[]], [0, 0], [1, 1], [0, 9]),
            ([&[(true, 10)], &[]], [0, 3], [1, 1], [9, 0]),
            (
                [&[(true, 10), (true, 90)], &[(true, 60)]],
                [0, 0],
                [1, 1],
                [0, 9],
            ),
            ([&[(true, 10)], &[(true, 20)]], [9, 9], [1, 0], [9, 0]),
        ] {
            let two = candidates(&weighted(&weights));
            let mut attempts = Vec::new();
            for at in 0..2 {
                finished(&two, at, calls[at]);
                attempts.extend((0..active[at]).map(|_| method(&two, at).begin()));
            }
            let got = counts(&two, false, 9);
            assert_eq!(got, want, "{calls:?}, {active:?} active, {weights:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_forgotten_with_time_and_equals_share_by_weight() {
        let two = candidates(&weighted(&[1, 1]));
        finished(&two, 0, &[(true, 10)]);
        finished(&two, 1, &[(false, 10)]);
        advance(Duration::from_secs(30)).await;
        finished(&two, 0, &[(true, 10)]);
        assert_eq!(counts(&two, false, 9), [0, 9]);

        let fresh = counts(&candidates(&weighted(&[1, 2])), false, 30_000);
        assert!(fresh[0].abs_diff(10_000) <= 327, "{fresh:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_asks_for_the_load_and_java_s_score_follows_the_answer() {
        let two = candidates(&weighted(&[1, 1]));
        let adaptive = Adaptive::from_seed(42, Clock::new(|| 0), true);
        let mut call = invocation();
        adaptive.before(two.get(0).expect("a"), &mut call);
        assert_eq!(call.attachments.get("lb_adaptive"), Some("mem,load"));

        answers(&two, 0, "curTime:20,load:80.5");
        answers(&two, 1, "curTime:10,load:20");
        assert_eq!(counts(&two, true, 9), [0, 9]);
        answers(&two, 1, "curTime:30,load:99");
        assert_eq!(counts(&two, true, 9), [9, 0]);
        answers(&two, 1, "curTime:29,load:1");
        assert_eq!(counts(&two, true, 9), [9, 0], "it was overtaken");
        for unreadable in [
            "",
            "load:1",
            "curTime:40,load:x",
            "curTime:40,load:-1",
            "x",
            "curTime:40,load:NaN",
        ] {
            answers(&two, 1, unreadable);
            assert_eq!(counts(&two, true, 9), [9, 0], "{unreadable:?} is no answer");
        }
        finished(&two, 1, &[(true, 1), (true, 1), (true, 1)]);
        assert_eq!(
            counts(&two, true, 9),
            [0, 9],
            "99 / (3/4 + 1) is less than 80.5"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn by_java_s_score_one_that_was_not_chosen_for_two_timeouts_is() {
        let two = candidates(&weighted(&[1, 1]));
        answers(&two, 0, "curTime:1,load:10");
        answers(&two, 1, "curTime:1,load:90");
        method(&two, 1).picked(Instant::now());
        assert_eq!(counts(&two, true, 9), [9, 0]);
        advance(Duration::from_millis(1_999)).await;
        assert_eq!(counts(&two, true, 9), [9, 0]);
        advance(Duration::from_millis(2)).await;
        assert_eq!(counts(&two, true, 9), [8, 1]);
    }

    #[test]
    fn the_switch_is_a_truth_value() {
        let made = |text: &str| {
            let url = consumer().with_param("compat.java-adaptive-score", text);
            Adaptive::new(&url).map(|made| made.java_score)
        };
        assert!(made("true").expect("is one") && !made("").expect("the default"));
        let error = made("perhaps").expect_err("is none").to_string();
        assert!(error.contains("compat.java-adaptive-score"), "{error}");
    }
}
