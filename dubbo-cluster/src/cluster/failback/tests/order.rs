//! Which call is made again when.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};

use super::{Estate, unavailable};
use crate::testing::{Answer, Fixed, Scripted, invocation};

#[tokio::test(start_paused = true)]
async fn cluster_t21_calls_of_one_request_keep_their_order() {
    for seed in 0..20 {
        // The first two calls fail, and then the first of all later attempts, too.
        let script = [
            unavailable(),
            unavailable(),
            unavailable(),
            Answer::After(Duration::ZERO),
        ];
        let provider = Scripted::with(1, script);
        let estate = Estate::seeded(Fixed::of(&[Arc::clone(&provider)]), seed);
        let reference = estate.join(Some(3), &[]);
        for _ in 0..2 {
            let mut call = invocation();
            call.attachments.insert("dubbo-request-id", "order-7");
            reference.invoke(call).await.expect("goes on");
        }
        sleep(Duration::from_mins(1)).await;
        let attempts: Vec<_> = provider
            .calls()
            .iter()
            .map(|got| got.attachments.get("dubbo-attempt").map(str::to_owned))
            .collect();
        let two = || Some("2".to_owned());
        // Its second attempt fails, its third one works, and only then comes the other one's second.
        let want = [None, None, two(), Some("3".to_owned()), two()];
        assert_eq!(attempts, want, "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn later_attempts_say_what_they_are() {
    let provider = Scripted::with(1, [unavailable()]);
    let estate = Estate::of(Fixed::of(&[Arc::clone(&provider)]));
    let reference = estate.join(Some(2), &[]);
    let mut call = invocation();
    call.attachments.insert("tenant", "a");
    reference.invoke(call).await.expect("goes on");
    sleep(Duration::from_mins(1)).await;
    let calls = provider.calls();
    let values = |name: &str| -> Vec<Option<&str>> {
        calls.iter().map(|got| got.attachments.get(name)).collect()
    };
    assert_eq!(values("tenant"), [Some("a"); 3]);
    assert_eq!(values("dubbo-attempt"), [None, Some("2"), Some("3")]);
    assert_eq!(
        values("grpc-previous-rpc-attempts"),
        [None, Some("1"), Some("2")]
    );
    let ids = values("dubbo-request-id");
    assert!(ids[1].is_some() && ids[1] == ids[2], "{ids:?}");
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_asks_for_a_pause_gets_it() {
    let busy = dubbo_core::status::Status::resource_exhausted("busy")
        .not_processed()
        .with_pushback(Duration::from_secs(30));
    let provider = Scripted::with(1, [Answer::Fail(busy), Answer::After(Duration::ZERO)]);
    let estate = Estate::of(Fixed::of(&[Arc::clone(&provider)]));
    let reference = estate.join(Some(3), &[]);
    let start = Instant::now();
    reference.invoke(invocation()).await.expect("goes on");
    sleep(Duration::from_mins(1)).await;
    let times = super::times(&provider, start);
    assert!(times.len() == 2 && times[1] >= 30.0, "{times:?}");
}
