//! Callers that stop waiting (`docs/spec/triple.md` §9.1; §12, TV13).

use std::{sync::Arc, time::Duration};

use tokio::sync::Notify;

use crate::{
    greeter::{Provider, due, greeter, unary},
    support::{Caller, GREET, Http1, JSON},
};

const X: &str = "{\"name\":\"x\"}";

#[tokio::test]
async fn a_timeout_that_is_none_is_refused() {
    let provider = Provider::of(greeter()).await;
    for mut caller in Caller::both(provider.address).await {
        for name in ["triple-timeout-ms", "connect-timeout-ms"] {
            for (value, status, code, part) in [
                (
                    "abc",
                    400,
                    "invalid_argument",
                    "\"abc\": it should be a number",
                ),
                (
                    "12345678901",
                    400,
                    "invalid_argument",
                    "more than 10 digits",
                ),
                ("0", 408, "deadline_exceeded", "deadline"),
                ("-1", 408, "deadline_exceeded", "deadline"),
            ] {
                let answer = caller.json_with(GREET, &[(name, value)], X).await;
                let (got, name, message) = answer.refused();
                assert_eq!((got, &*name), (status, code), "{value}");
                assert!(message.contains(part), "{message}");
            }
            let answer = caller.json_with(GREET, &[(name, "9999999999")], X).await;
            assert_eq!(answer.status, 200);
        }
        for (name, value) in [
            ("triple-protocol-version", "1"),
            ("connect-protocol-version", "2"),
        ] {
            let answer = caller.json_with(GREET, &[(name, value)], X).await;
            let (status, code, message) = answer.refused();
            assert_eq!((status, &*code), (400, "invalid_argument"));
            assert!(
                message.contains(name) && message.contains(value),
                "{message}"
            );
        }
    }
}

/// Tells when it is dropped.
struct Dropped(Arc<Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// A service that never answers, when it has begun, and when it was given up.
async fn endless() -> (Provider, Arc<Notify>, Arc<Notify>) {
    let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begins, drops) = (Arc::clone(&begun), Arc::clone(&dropped));
    let service = unary(move |_| {
        let dropped = Dropped(Arc::clone(&drops));
        begins.notify_one();
        async move {
            let _dropped = dropped;
            std::future::pending().await
        }
    });
    (Provider::of(service).await, begun, dropped)
}

#[tokio::test]
async fn a_handler_is_given_up_when_its_caller_stops_waiting() {
    let (provider, _begun, dropped) = endless().await;
    for mut caller in Caller::both(provider.address).await {
        let answer = caller
            .json_with(GREET, &[("triple-timeout-ms", "20")], X)
            .await;
        let (status, code, _) = answer.refused();
        assert_eq!((status, &*code), (408, "deadline_exceeded"));
        due(dropped.notified()).await;
    }
}

#[tokio::test]
async fn a_request_has_to_be_complete_by_then() {
    let provider = Provider::of(greeter()).await;
    let mut caller = Http1::connect(provider.address).await;
    caller
        .raw(format!(
            "POST {GREET} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
             triple-timeout-ms: 20\r\ncontent-length: 100\r\n\r\n{{"
        ))
        .await;
    let (status, code, _) = caller.answer().await.refused();
    assert_eq!((status, &*code), (408, "deadline_exceeded"));
}

#[tokio::test]
async fn a_handler_is_given_up_when_its_caller_hangs_up() {
    let (provider, begun, dropped) = endless().await;
    let mut caller = Http1::connect(provider.address).await;
    caller.send("POST", GREET, &[JSON], X.as_bytes()).await;
    due(begun.notified()).await;
    drop(caller);
    due(dropped.notified()).await;

    let mut caller = Caller::http2(provider.address).await;
    let call = tokio::spawn(async move { caller.json(GREET, X).await });
    due(begun.notified()).await;
    call.abort();
    due(dropped.notified()).await;
    tokio::time::timeout(Duration::from_millis(1), dropped.notified())
        .await
        .expect_err("it was given up once");
}
