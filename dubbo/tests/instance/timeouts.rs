//! How long a call may take: the nearest setting counts, the provider sees it, and it is kept.

use std::time::Duration;

use dubbo::{Code, Request};
use examples::greet::GreetRequest;
use tokio::time::Instant;

use super::rig::{answering, consume, consume_with, desk, greet, provide, request, url_of};

/// Answers with the seconds that the caller will wait, rounded up.
fn remaining(request: &Request<GreetRequest>) -> String {
    let context = request.context();
    match context.deadline() {
        Some(at) => at
            .duration_since(Instant::now())
            .as_secs_f64()
            .ceil()
            .to_string(),
        None => "for ever".to_owned(),
    }
}

#[tokio::test]
async fn the_nearest_timeout_is_the_deadline_that_the_provider_sees() {
    let provider = provide("", answering(|request| Ok(remaining(request)))).await;
    let url = url_of(&provider);
    for (consumer, reference, want) in [
        ("check: true", "", "3"),
        ("request-timeout: 60s", "", "60"),
        ("request-timeout: 60s", "timeout: 40000", "40"),
        (
            "request-timeout: 60s",
            "timeout: 40s, methods: [{name: Greet, timeout: 20s}]",
            "20",
        ),
        (
            "request-timeout: 60s",
            "timeout: 40s, methods: [{name: GreetMany, timeout: 20s}]",
            "40",
        ),
        ("request-timeout: 60s", "timeout: 0", "for ever"),
        (
            "request-timeout: 0",
            "methods: [{name: Greet, timeout: 20s}]",
            "20",
        ),
        (
            "request-timeout: 60s",
            "methods: [{name: Greet, timeout: 0ms}]",
            "for ever",
        ),
    ] {
        let consumer = consume_with(&format!(
            "dubbo: {{consumer: {{{consumer}, references: {{greet.Greeter: {{url: '{url}', {reference}}}}}}}}}"
        ))
        .await;
        let seen = greet(&consumer, "").await.expect("answers");
        assert_eq!(seen, want, "{reference}");
    }
}

#[tokio::test]
async fn what_a_call_says_wins_and_its_deadline_bounds_it_all() {
    let provider = provide("", answering(|request| Ok(remaining(request)))).await;
    let consumer = consume(&url_of(&provider), "timeout: 40s").await;
    let seconds = Duration::from_secs;
    let call = || consumer.greet(request(""));
    let soon = Instant::now() + seconds(30);
    for (call, want) in [
        (call().timeout(seconds(10)), "10"),
        (call().timeout(seconds(50)), "50"),
        (call().deadline(soon), "30"),
        (call().deadline(soon).timeout(seconds(10)), "10"),
        (call().deadline(soon).timeout(seconds(50)), "30"),
    ] {
        let text = format!("{call:?}");
        let seen = call.await.expect("answers").into_message().greeting;
        assert_eq!(seen, want, "{text}");
    }
}

#[tokio::test]
async fn a_stream_has_a_deadline_only_when_its_caller_sets_one() {
    let provider = provide("", answering(|request| Ok(remaining(request)))).await;
    let consumer = consume(
        &url_of(&provider),
        "methods: [{name: GreetMany, timeout: 20s}]",
    )
    .await;
    let call = || consumer.greet_many(request(""));
    for (call, want) in [
        (call(), "for ever"),
        (call().timeout(Duration::from_secs(9)), "9"),
    ] {
        let mut greetings = call.await.expect("answers").into_message();
        let first = greetings.message().await.expect("works").expect("one");
        assert_eq!(first.greeting, want);
    }
}

#[tokio::test]
async fn a_call_ends_when_its_time_is_up_whatever_the_provider_does() {
    let (service, mut calls) = desk();
    let provider = provide("", service).await;
    let options = "retries: 0, timeout: 1m, methods: [{name: Greet, timeout: 50ms}]";
    let consumer = consume(&url_of(&provider), options).await;
    let began = Instant::now();
    let status = greet(&consumer, "slow").await.expect_err("nobody answers");
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let took = began.elapsed();
    assert!(
        took >= Duration::from_millis(50) && took < Duration::from_secs(50),
        "{took:?}"
    );
    assert_eq!(
        calls.next().await.name,
        "slow",
        "it had reached the handler"
    );
    let text = status.message();
    for part in ["greet.Greeter", "Greet", &url_of(&provider)] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
}
