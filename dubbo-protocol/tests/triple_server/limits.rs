//! Limits on messages (`docs/spec/triple.md` §9.2).

use std::io::Write as _;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use futures_util::{StreamExt as _, stream::FuturesUnordered};

use crate::{
    greeter::{GreetResponse, Provider, greeter, unary, url},
    wire::{GREET, GREET_MANY, Wire, envelope, request},
};

#[tokio::test]
async fn a_request_over_the_limit_is_refused_with_both_sizes() {
    let url = url().with_param("max-server-recv-msg-size", "1kib");
    let provider = Provider::at(&url, greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let of_size = |size: usize| "x".repeat(size - 3);
    assert_eq!(wire.greet(&of_size(1_024), &[]).await.code(), 0);
    let answer = wire.greet(&of_size(1_025), &[]).await;
    let (code, message) = answer.refused();
    assert_eq!(code, 8);
    assert!(
        message.contains("1025") && message.contains("1024"),
        "{message}"
    );
    // For each message, not for the stream.
    let body = request(&of_size(1_000)).repeat(5);
    assert_eq!(wire.call(GREET_MANY, &[], body).await.code(), 0);
}

#[tokio::test]
async fn the_limit_is_4_mib_unless_said_otherwise() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let answer = wire.greet(&"x".repeat(5 << 20), &[]).await;
    let (code, message) = answer.refused();
    assert_eq!(code, 8);
    assert!(
        message.contains("5242885") && message.contains("4194304"),
        "{message}"
    );
}

#[tokio::test]
async fn a_prefix_is_refused_before_the_message_comes() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let mut exchange = wire.open(GREET, &[]).await;
    exchange.data(vec![0, 0xff, 0xff, 0xff, 0xff], false);
    assert_eq!(exchange.answer().await.refused().0, 8);
}

/// Each is within the limit of a message; together they are 272 MiB.
#[tokio::test]
async fn unfinished_requests_of_a_connection_have_a_limit_together() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let mut other = Wire::connect(provider.address).await;
    let unfinished = Bytes::from([&[0, 0, 0x40, 0, 0][..], &vec![0; (4 << 20) - 1]].concat());
    let mut answers = FuturesUnordered::new();
    for _ in 0..68 {
        let mut exchange = wire.open(GREET, &[]).await;
        exchange.data(unfinished.clone(), false);
        answers.push(exchange.answer());
    }
    let (code, message) = answers.next().await.expect("some").refused();
    assert_eq!(code, 8);
    assert!(message.contains("the limit is 268435456"), "{message}");
    // That is the matter of those requests alone.
    assert_eq!(other.greet("x", &[]).await.code(), 0);
    drop(answers);
    assert_eq!(wire.greet("x", &[]).await.code(), 0);
}

#[tokio::test]
async fn a_message_that_inflates_beyond_the_limit_is_refused() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..64 {
        bomb.write_all(&vec![0; 1 << 20]).expect("in memory");
    }
    let bomb = bomb.finish().expect("in memory");
    assert!(bomb.len() < 128 << 10, "{}", bomb.len());
    let answer = wire
        .call(GREET, &[("grpc-encoding", "gzip")], envelope(1, &bomb))
        .await;
    let (code, message) = answer.refused();
    assert_eq!(code, 8);
    assert!(
        message.contains("inflates to more than the limit of 4194304"),
        "{message}"
    );
}

#[tokio::test]
async fn an_answer_over_the_limit_is_an_error_and_not_a_message() {
    let url = url().with_param("max-server-send-msg-size", "100");
    let service = unary(|request| async move {
        let len: usize = request.message().name.parse().expect("a number");
        let greeting = "x".repeat(len - 2);
        Ok(GreetResponse { greeting }.into())
    });
    let provider = Provider::at(&url, service).await;
    let mut wire = Wire::connect(provider.address).await;
    assert_eq!(wire.greet("100", &[]).await.code(), 0);
    let answer = wire.greet("101", &[]).await;
    let (code, message) = answer.refused();
    assert_eq!(code, 8);
    assert!(
        message.contains("101") && message.contains("100"),
        "{message}"
    );
}

#[tokio::test]
async fn headers_beyond_reason_are_refused_and_the_connection_goes_on() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let long = "x".repeat(100 << 10);
    let mut exchange = wire.open(GREET, &[("k", &long)]).await;
    exchange.data(request("x"), true);
    match exchange.try_answer().await {
        Ok(answer) => assert_eq!(answer.status, 431),
        Err(error) => assert!(error.is_reset(), "{error}"),
    }
    assert_eq!(wire.greet("x", &[]).await.code(), 0);
}
