//! What hedged calls take and cost, on a paused clock.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use dubbo_core::{
    cluster::{Node, NodeWeight},
    invocation::{Body, Invocation, Reply, RpcResult},
    invoker::Invoker,
    payload::{Codec, Payload},
    status::{Retry, Status},
    url::Url,
};
use fastrand::Rng;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use super::*;
use crate::{
    cluster::Failover,
    resend::{PolicyDocument, Resend},
    testing::{self, Fixed},
};

const SECOND: Option<Duration> = Some(Duration::from_secs(1));

fn answer() -> Reply {
    let payload = Payload::encoded(Codec::Protobuf, Bytes::new());
    Reply::new(Body::Unary(payload))
}

fn is_final(status: &Status) -> bool {
    status.retry() == Retry::Never
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Attempts that end as `ends` say, each after a time; when each began, and how the call ended after how long.
async fn raced(hedging: &Hedging, ends: &[(u64, Option<Status>)]) -> (Vec<u64>, Raced, u64) {
    let start = Instant::now();
    let moments = RefCell::new(Vec::new());
    let begin = |number: u32| {
        let (after, status) = ends.get(number as usize)?.clone();
        moments.borrow_mut().push(as_millis(start.elapsed()));
        Some(async move {
            sleep(millis(after)).await;
            status.map_or_else(|| Ok(answer()), Err)
        })
    };
    let raced = hedging.call(SECOND, begin, is_final).await;
    (moments.into_inner(), raced, as_millis(start.elapsed()))
}

fn as_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).expect("short")
}

fn hedging(attempts: u32, delay: u64) -> Hedging {
    let options = HedgeOptions::new(attempts, Some(millis(delay))).expect("valid");
    Hedging::new(options)
}

#[tokio::test(start_paused = true)]
async fn attempts_follow_one_another_until_there_is_an_answer() {
    let down = || Some(Status::unavailable("down"));
    let wait = || Some(Status::resource_exhausted("full").with_pushback(millis(1)));
    let refused = || Some(Status::business("sold out"));
    for (attempts, ends, begun, winner, took) in [
        // Answered before anybody else is asked.
        (3, vec![(15, None), (1, None)], vec![0], Some(0), 15),
        // Each after its delay.
        (
            3,
            vec![(500, None), (500, None), (5, None)],
            vec![0, 20, 40],
            Some(2),
            45,
        ),
        // No more than allowed.
        (
            2,
            vec![(500, None), (490, None), (5, None)],
            vec![0, 20],
            Some(0),
            500,
        ),
        // Nobody left to ask.
        (3, vec![(50, None)], vec![0], Some(0), 50),
        // A failure lets the next begin at once, and those behind it after their delay.
        (
            3,
            vec![(5, down()), (100, None), (5, None)],
            vec![0, 5, 25],
            Some(2),
            30,
        ),
        // All fail.
        (2, vec![(5, down()), (5, down())], vec![0, 5], None, 10),
        // A pushback ends it, and what is under way still counts.
        (3, vec![(5, wait()), (5, None)], vec![0], None, 5),
        (
            3,
            vec![(50, None), (5, wait()), (1, None)],
            vec![0, 20],
            Some(0),
            50,
        ),
        // What every provider would answer is an answer.
        (3, vec![(5, refused()), (5, None)], vec![0], Some(0), 5),
    ] {
        let name = format!("{ends:?}");
        let got = raced(&hedging(attempts, 20), &ends).await;
        let won = got.1.answer.as_ref().map(|(number, _)| *number);
        assert_eq!((got.0, won, got.2), (begun, winner, took), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn failures_are_told_in_their_order() {
    let status = |text: &'static str| Some(Status::unavailable(text));
    let ends = [(50, status("late")), (10, status("soon"))];
    let (_, raced, took) = raced(&hedging(2, 20), &ends).await;
    assert_eq!(took, 50);
    let failures = raced.failures.iter();
    let told: Vec<_> = failures
        .map(|lost| (lost.number, as_millis(lost.elapsed), lost.status.message()))
        .collect();
    assert_eq!(told, [(1, 10, "soon"), (0, 50, "late")]);
}

#[tokio::test(start_paused = true)]
async fn losers_are_dropped_with_the_answer() {
    struct Dropped<'a>(&'a RefCell<Vec<u32>>, u32);
    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.borrow_mut().push(self.1);
        }
    }
    let dropped = RefCell::new(Vec::new());
    let begin = |number| {
        let guard = Dropped(&dropped, number);
        Some(async move {
            let _guard = guard;
            sleep(if number == 1 { millis(1) } else { millis(900) }).await;
            Ok(answer())
        })
    };
    let raced = hedging(3, 20).call(SECOND, begin, is_final).await;
    assert!(matches!(raced.answer, Some((1, Ok(_)))));
    let mut dropped = dropped.into_inner();
    dropped.sort_unstable();
    assert_eq!(dropped, [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn the_delay_is_what_is_usual_within_bounds() {
    let hedging = Hedging::new(HedgeOptions::default());
    let delay = |timeout| hedging.delay(timeout, Instant::now());
    assert_eq!(delay(None), millis(50), "nothing is known");
    assert_eq!(delay(Some(millis(60))), millis(30), "half of an attempt");
    for (latency, timeout, want) in [
        (1, None, 10..=10),
        (40, None, 40..=45),
        (40, Some(millis(60)), 30..=30),
        (700, SECOND, 500..=500),
    ] {
        tokio::time::advance(Duration::from_secs(61)).await;
        for _ in 0..20 {
            raced(&hedging, &[(latency, None)]).await;
        }
        tokio::time::advance(Duration::from_secs(2)).await;
        let got = as_millis(delay(timeout));
        assert!(want.contains(&got), "{latency} ms: {got}");
    }
}

#[tokio::test(start_paused = true)]
async fn those_that_were_given_up_count_as_slow() {
    let hedging = hedging(2, 20);
    for _ in 0..100 {
        raced(&hedging, &[(900, None), (10, None)]).await;
    }
    let p95 = hedging.latencies.p95(Instant::now()).expect("enough");
    assert!(p95 >= millis(30), "{p95:?}");
}

#[test]
fn what_cannot_be_is_refused() {
    for (attempts, delay, why) in [
        (0, None, "a hedged call has 1 to 5 attempts, not 0"),
        (6, None, "a hedged call has 1 to 5 attempts, not 6"),
        (
            2,
            Some(Duration::ZERO),
            "a hedge of no delay begins all attempts at once; the cluster `forking` does that",
        ),
    ] {
        let error = HedgeOptions::new(attempts, delay).expect_err(why);
        assert_eq!(error.to_string(), why);
    }
}

/// A provider of whose replies one in a hundred takes a second, and the others 10 ms.
struct Sometimes {
    url: Url,
    rng: Arc<Mutex<Rng>>,
    calls: AtomicUsize,
}

#[async_trait]
impl Invoker for Sometimes {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn invoke(&self, _: Invocation) -> RpcResult {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let is_slow = self.rng.lock().u32(..100) == 0;
        sleep(millis(if is_slow { 1_000 } else { 10 })).await;
        Ok(answer())
    }
}

/// The acceptance test of `docs/spec/cluster.md` §7.13.
#[tokio::test(start_paused = true)]
async fn a_hedge_saves_the_slowest_of_a_hundred_thousand_calls_for_little_more_load() {
    const CALLS: usize = 100_000;
    const POLICY: &str = "policies: { all: { hedge: { enabled: true, delay: 20ms } } }";
    for (is_idempotent, p999, extra) in [("true", 60, CALLS * 15 / 1_000), ("false", 1_000, 0)] {
        let rng = Arc::new(Mutex::new(Rng::with_seed(42)));
        let providers = [1, 2].map(|port| {
            Arc::new(Sometimes {
                url: testing::url(port),
                rng: Arc::clone(&rng),
                calls: AtomicUsize::new(0),
            })
        });
        let nodes = providers.iter().map(|provider| {
            let invoker: Arc<dyn Invoker> = Arc::clone(provider) as _;
            Node::new(invoker, NodeWeight::constant(1))
        });
        let directory = Fixed::of(&[]);
        directory.set_nodes(nodes);
        let config = testing::asking(&[("idempotent", is_idempotent)]);
        let document = PolicyDocument::parse("test.yaml", POLICY).expect("no mistakes");
        config.extensions.shared::<Resend>().set_policies(document);
        let cluster = testing::join(&Failover, directory, config);
        let mut took = Vec::with_capacity(CALLS);
        for _ in 0..CALLS {
            let start = Instant::now();
            let mut call = testing::invocation();
            call.timeout = Some(Duration::from_secs(3));
            cluster.invoke(call).await.expect("answers");
            took.push(start.elapsed());
        }
        took.sort_unstable();
        let slowest = as_millis(took[CALLS * 999 / 1_000]);
        let calls = providers
            .iter()
            .map(|provider| provider.calls.load(Ordering::Relaxed));
        let more = calls.sum::<usize>() - CALLS;
        assert!(
            slowest <= p999 && more <= extra,
            "{slowest} ms, {more} more"
        );
        assert!(
            is_idempotent == "true" || slowest == 1_000,
            "the control group waits"
        );
    }
}
