//! How often a failed call is tried again, and what its cluster makes of it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use dubbo::{Code, Status};

use super::rig::{answering, consume, greet, provide, request, url_of};

/// A provider that counts and fails every call.
async fn failing(
    status: impl Fn() -> Status + Send + Sync + 'static,
) -> (dubbo::Instance, Arc<AtomicUsize>) {
    let attempts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&attempts);
    let service = answering(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Err(status())
    });
    (provide("", service).await, attempts)
}

#[tokio::test]
async fn a_call_has_as_many_attempts_as_the_nearest_retries_say_and_one() {
    let (provider, attempts) = failing(|| Status::unavailable("never up")).await;
    let url = url_of(&provider);
    for (options, own, want) in [
        ("", None, [3, 3]),
        (
            "retries: 2, methods: [{name: GreetMany, retries: 0}]",
            None,
            [3, 1],
        ),
        (
            "retries: 2, methods: [{name: GreetMany, retries: 0}]",
            Some("1"),
            [2, 2],
        ),
        ("retries: 0", None, [1, 1]),
        (
            "retries: 0, methods: [{name: Greet, retries: 4}]",
            None,
            [5, 1],
        ),
        ("retries: 0", Some("3"), [4, 4]),
        ("retries: 5", Some("0"), [1, 1]),
        ("retries: -1", None, [1, 1]),
        (
            "retries: 5, methods: [{name: Greet, retries: -7}]",
            None,
            [1, 6],
        ),
        ("retries: 5", Some("-1"), [1, 1]),
        ("cluster: failfast, retries: 5", None, [1, 1]),
        ("cluster: FailOver, retries: 1", None, [2, 2]),
    ] {
        let consumer = consume(&url, options).await;
        let (mut one, mut many) = (
            consumer.greet(request("")),
            consumer.greet_many(request("")),
        );
        if let Some(own) = own {
            (one, many) = (one.attach("retries", own), many.attach("retries", own));
        }
        let status = one.await.expect_err("fails");
        assert_eq!(status.code(), Code::Unavailable, "{status}");
        let first = attempts.swap(0, Ordering::Relaxed);
        many.await.expect_err("fails");
        let second = attempts.swap(0, Ordering::Relaxed);
        assert_eq!([first, second], want, "{options}, attachment {own:?}");
    }
}

#[tokio::test]
async fn what_would_fail_again_or_is_the_applications_word_is_not_repeated() {
    for (status, want) in [
        (Status::business("sold out"), 1),
        (Status::not_found("no such thing"), 1),
        (Status::invalid_argument("what?"), 1),
        (Status::unavailable("down"), 3),
        (Status::resource_exhausted("busy"), 3),
    ] {
        let code = status.code();
        let (provider, attempts) = failing(move || status.clone()).await;
        let consumer = consume(&url_of(&provider), "").await;
        let status = greet(&consumer, "").await.expect_err("fails");
        assert_eq!(
            (status.code(), attempts.load(Ordering::Relaxed)),
            (code, want),
            "{status}"
        );
    }
}

#[tokio::test]
async fn a_call_moves_on_to_a_provider_that_works() {
    let (broken, attempts) = failing(|| Status::unavailable("down")).await;
    let works = provide("", answering(|_| Ok("works".to_owned()))).await;
    let urls = format!("{}; {}", url_of(&broken), url_of(&works));
    let consumer = consume(&urls, "retries: 1, loadbalance: roundrobin").await;
    for _ in 0..10 {
        assert_eq!(greet(&consumer, "").await.expect("answers"), "works");
    }
    assert_eq!(
        attempts.load(Ordering::Relaxed),
        5,
        "every other call began there"
    );

    let failfast = consume(&urls, "cluster: failfast, loadbalance: roundrobin").await;
    let mut outcomes = Vec::new();
    for _ in 0..4 {
        outcomes.push(greet(&failfast, "").await.is_ok());
    }
    assert_eq!(outcomes.iter().filter(|ok| **ok).count(), 2, "{outcomes:?}");
}
