//! A service that fails every call: how often it is asked.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dubbo::{Instance, Status};
use dubbo_test::soon;
use futures_util::future::join_all;
use tokio::time::Instant;

use super::rig::{BOTH, Consumer, Node, over, provide, tasks, tasks_are};

#[test]
fn every_call_of_plain_compat_is_made_once_and_as_often_as_retries_says() {
    over(&BOTH, async |protocol| {
        for (options, each) in [("retries: 0", 1), ("", 3)] {
            // Of either sort, so that it is as many in all as in the others.
            let calls = CALLS / 2;
            let storm = storm(protocol, calls, options, "").await;
            assert_eq!(
                storm.attempts,
                calls * each,
                "{protocol}, {options}: {storm:?}"
            );
        }
    });
}

#[test]
fn strict_makes_no_more_attempts_than_its_budget_has() {
    over(&BOTH, async |protocol| {
        let storm = storm(
            protocol,
            CALLS,
            "params: {idempotent: 'true'}",
            "mode: strict",
        )
        .await;
        storm.is_within_its_budget();
    });
}

#[test]
fn compat_with_a_budget_makes_no_more_attempts_than_it_has() {
    over(&BOTH, async |protocol| {
        let storm = storm(protocol, CALLS, "", "budget: default").await;
        storm.is_within_its_budget();
    });
}

/// What came of calls that all fail.
#[derive(Debug)]
struct Storm {
    attempts: usize,
    took: Duration,
}

impl Storm {
    fn is_within_its_budget(&self) {
        // A step is a second; the first and the last one may be parts of one. Ten of them have the reserve of a window.
        let steps = usize::try_from(self.took.as_secs()).expect("short") + 2;
        let most = CALLS + CALLS / 5 + 10 * 10 * steps.div_ceil(10);
        assert!(self.attempts <= most, "{self:?}: at most {most}");
        // Every call wants to be tried again, and what the last ones bring is there for those before them alone.
        let least = CALLS + CALLS / 5;
        assert!(self.attempts >= least, "{self:?}: at least {least}");
    }
}

/// Calls a service of three providers that fail them all, so many at a time, and waits until nothing is left.
async fn storm(protocol: &str, calls: usize, options: &str, retry: &str) -> Storm {
    let began = tasks().await;
    let attempts = Arc::new(AtomicUsize::new(0));
    let mut providers: Vec<Instance> = Vec::new();
    let mut urls = Vec::new();
    for _ in 0..3 {
        let (provider, address) = provide(protocol, Down(Arc::clone(&attempts))).await;
        providers.push(provider);
        urls.push(format!("{protocol}://{address}"));
    }
    let before = tasks().await;
    let consumer = Consumer::of(&urls.join(";"), &format!("timeout: 10s, {options}"), retry).await;
    let start = Instant::now();
    let left = AtomicUsize::new(calls);
    join_all((0..AT_A_TIME).map(async |_| {
        let take = |left: usize| left.checked_sub(1);
        while left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok()
        {
            consumer.ask().await.expect_err("it fails them all");
        }
    }))
    .await;
    let took = start.elapsed();
    consumer.end(before).await;
    for provider in providers {
        provider.shutdown(Duration::ZERO).await;
    }
    soon("the end of all tasks", tasks_are(began)).await;
    let attempts = attempts.load(Ordering::Relaxed);
    Storm { attempts, took }
}

/// Fails, and counts.
struct Down(Arc<AtomicUsize>);

impl Node for Down {
    async fn ask(&self, _: String) -> Result<String, Status> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Err(Status::unavailable("down"))
    }
}

/// `docs/spec/cluster.md` §7.6.
const CALLS: usize = 10_000;
const AT_A_TIME: usize = 50;
