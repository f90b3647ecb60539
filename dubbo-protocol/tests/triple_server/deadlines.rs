//! The caller's time (`docs/spec/triple.md` §9.1; §12, TV13).

use std::time::Duration;

use dubbo_core::request::Response;
use futures_util::StreamExt as _;
use tokio::time::Instant;

use crate::{
    greeter::{Provider, due, hello, server_stream, unary},
    wire::{GREET, GREET_STREAM, Wire, request},
};

/// Tells when it is dropped.
struct Dropped(tokio::sync::mpsc::UnboundedSender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[tokio::test]
async fn a_handler_knows_its_deadline() {
    let (seen, mut deadlines) = tokio::sync::mpsc::unbounded_channel();
    let provider = Provider::of(unary(move |request| {
        let _ = seen.send(request.context().deadline());
        async { Ok(hello("x").into()) }
    }))
    .await;
    let mut wire = Wire::connect(provider.address).await;
    for (value, seconds) in [
        ("10S", Some(10)),
        ("60000000u", Some(60)),
        ("5H", Some(18_000)),
        ("99999999S", Some(99_999_999)),
        ("99999999H", Some(359_999_996_400)),
    ] {
        let before = Instant::now();
        let answer = wire.greet("x", &[("grpc-timeout", value)]).await;
        assert_eq!(answer.code(), 0, "{value}");
        let deadline = deadlines.recv().await.expect("called");
        let want = seconds.map(Duration::from_secs);
        let got = deadline.map(|at| at.duration_since(before));
        let close = got
            .zip(want)
            .is_some_and(|(got, want)| got >= want && got < want + Duration::from_secs(5));
        assert!(close, "{value}: {got:?}");
    }
    assert_eq!(wire.greet("x", &[]).await.code(), 0);
    assert_eq!(deadlines.recv().await.expect("called"), None);
}

#[tokio::test]
async fn a_timeout_that_cannot_be_read_is_the_callers_error() {
    let provider = Provider::of(unary(|_| async { panic!("called") })).await;
    let mut wire = Wire::connect(provider.address).await;
    for (value, code, text) in [
        ("100000000n", 3, "9 digits"),
        ("5x", 3, "unit 'x'"),
        ("", 3, "empty"),
        ("-1S", 3, "'-'"),
        ("0n", 4, "deadline"),
        ("0H", 4, "deadline"),
    ] {
        let answer = wire.greet("x", &[("grpc-timeout", value)]).await;
        let (got, message) = answer.refused();
        assert_eq!(got, code, "{value:?}");
        assert!(message.contains(text), "{value:?}: {message}");
    }
}

#[tokio::test]
async fn a_handler_is_dropped_at_the_deadline_and_the_caller_told() {
    let (dropped, mut drops) = tokio::sync::mpsc::unbounded_channel();
    let provider = Provider::of(unary(move |_| {
        let guard = Dropped(dropped.clone());
        async move {
            let _guard = guard;
            std::future::pending().await
        }
    }))
    .await;
    let mut wire = Wire::connect(provider.address).await;
    let before = Instant::now();
    let answer = wire.greet("x", &[("grpc-timeout", "30m")]).await;
    let (code, message) = answer.refused();
    assert_eq!(code, 4);
    assert!(message.contains("greet.GreetService/Greet"), "{message}");
    assert!(before.elapsed() >= Duration::from_millis(30));
    due(drops.recv()).await.expect("dropped");
}

#[tokio::test]
async fn a_caller_that_is_slow_to_send_its_request_runs_out_of_time_too() {
    let provider = Provider::of(unary(|_| async { panic!("called") })).await;
    let mut wire = Wire::connect(provider.address).await;
    let mut exchange = wire.open(GREET, &[("grpc-timeout", "30m")]).await;
    exchange.data(request("x"), false);
    assert_eq!(exchange.answer().await.refused().0, 4);
}

#[tokio::test]
async fn a_stream_ends_at_the_deadline_and_its_handler_is_dropped() {
    let (dropped, mut drops) = tokio::sync::mpsc::unbounded_channel();
    let provider = Provider::of(server_stream(move |_| {
        let guard = Dropped(dropped.clone());
        let one = futures_util::stream::iter([Ok(hello("x"))]);
        let never = futures_util::stream::pending();
        Response::stream(one.chain(never).map(move |item| {
            let _guard = &guard;
            item
        }))
    }))
    .await;
    let mut wire = Wire::connect(provider.address).await;
    let answer = wire
        .call(GREET_STREAM, &[("grpc-timeout", "30m")], request("x"))
        .await;
    assert_eq!((answer.greetings().len(), answer.code()), (1, 4));
    due(drops.recv()).await.expect("dropped");
}
