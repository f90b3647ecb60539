//! What a provider says about being asked again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dubbo::Status;
use tokio::time::Instant;

use super::rig::{BOTH, Consumer, Node, over, provide, tasks};

#[test]
fn a_provider_that_asks_not_to_be_asked_again_is_asked_once() {
    over(&BOTH, async |protocol| {
        for retry in ["", "mode: strict"] {
            let (asked, _) = refused(protocol, retry, Status::done).await;
            assert_eq!(asked, 1, "{protocol}, {retry}");
        }
    });
}

#[test]
fn a_provider_that_says_how_long_to_wait_is_left_alone_as_long() {
    over(&BOTH, async |protocol| {
        let asking = |status: Status| status.with_pushback(WAIT);
        let (asked, took) = refused(protocol, "mode: strict", asking).await;
        assert_eq!(asked, 3, "{protocol}");
        assert!(took >= 2 * WAIT, "{protocol}: {took:?}");
    });
}

/// How often a provider that refuses with what `say` says is asked, and how long that takes.
async fn refused(protocol: &str, retry: &str, say: fn(Status) -> Status) -> (usize, Duration) {
    let asked = Arc::new(AtomicUsize::new(0));
    let refuses = Refuses {
        asked: Arc::clone(&asked),
        say,
    };
    let (provider, address) = provide(protocol, refuses).await;
    let before = tasks().await;
    let url = format!("{protocol}://{address}");
    let consumer = Consumer::of(&url, "params: {idempotent: 'true'}", retry).await;
    let start = Instant::now();
    consumer.ask().await.expect_err("it refuses");
    let took = start.elapsed();
    consumer.end(before).await;
    provider.shutdown(Duration::ZERO).await;
    (asked.load(Ordering::Relaxed), took)
}

/// A provider that refuses every call.
struct Refuses {
    asked: Arc<AtomicUsize>,
    say: fn(Status) -> Status,
}

impl Node for Refuses {
    async fn ask(&self, _: String) -> Result<String, Status> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Err((self.say)(Status::unavailable("busy")))
    }
}

const WAIT: Duration = Duration::from_millis(300);
