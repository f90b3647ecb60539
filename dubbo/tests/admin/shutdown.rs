use std::time::Duration;

use dubbo::Code;
use dubbo_test::{
    peer::h2::{Client, envelope},
    soon,
};
use tokio::time::Instant;

use super::{
    probe::Probe,
    rig::{consume, desk, greet, url_of},
    support::registered,
};

const SERVING: &[u8] = b"\x08\x01";
const NOT_SERVING: &[u8] = b"\x08\x02";

#[tokio::test]
async fn config_a16_an_end_loses_no_call_in_flight_and_refuses_those_that_are_too_late() {
    let probe = Probe::new();
    let (service, mut calls) = desk();
    let shutdown = "shutdown: {consumer-update-wait-time: 200ms, step-timeout: 300ms, offline-request-window-timeout: 5s}";
    let provider = registered(&probe, shutdown)
        .provide(service)
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let consumer = consume(&url_of(&provider), "retries: 0, timeout: 1m").await;
    let caller = consumer.clone();
    let in_flight = tokio::spawn(async move { greet(&caller, "slow").await });
    let slow = calls.next().await;
    let exported = provider.exported();
    let address = exported[0].address().parse().expect("an address");
    let mut health = Client::connect(address).await;
    let headers = [("content-type", "application/grpc"), ("te", "trailers")];
    let mut watch = health.post("/grpc.health.v1.Health/Watch", &headers).await;
    watch.data(envelope(b"\x0a\x0dgreet.Greeter"), true);
    watch.response().await;
    assert_eq!(watch.next_data().await, Some(envelope(SERVING)));

    let began = Instant::now();
    let ending = tokio::spawn({
        let provider = provider.clone();
        async move { provider.shutdown(Duration::from_mins(1)).await }
    });
    assert_eq!(watch.next_data().await, Some(envelope(NOT_SERVING)));
    assert!(
        probe.providers().await.is_empty(),
        "the registry was told before"
    );
    let refused = soon("a refusal", async {
        loop {
            // Until then late calls are served, by a desk where nobody answers them.
            let late = greet(&consumer, "late");
            if let Ok(Err(status)) = tokio::time::timeout(Duration::from_millis(20), late).await {
                return status;
            }
        }
    })
    .await;
    assert_eq!(refused.code(), Code::Unavailable);
    assert!(refused.is_not_processed(), "{refused}");
    assert!(
        began.elapsed() >= Duration::from_millis(400),
        "{:?}",
        began.elapsed()
    );
    slow.answer("done");
    assert_eq!(
        in_flight.await.expect("no panic").expect("is answered"),
        "done"
    );
    soon("the end", ending).await.expect("no panic");
    assert!(began.elapsed() < Duration::from_secs(8));
}

#[tokio::test]
async fn config_a16_the_time_for_an_end_is_its_time_in_all() {
    let probe = Probe::new();
    let (service, mut calls) = desk();
    let provider = registered(&probe, "shutdown: {timeout: 300ms}")
        .provide(service)
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let consumer = consume(&url_of(&provider), "retries: 0, timeout: 1m").await;
    let call = tokio::spawn(async move { greet(&consumer, "never").await });
    let _never = calls.next().await;
    let began = Instant::now();
    let grace = Duration::from_millis(300);
    soon("the end", provider.shutdown(grace)).await;
    let took = began.elapsed();
    assert!(
        took >= grace && took < grace + Duration::from_secs(3),
        "{took:?}"
    );
    call.await.expect("no panic").expect_err("cut");
}
