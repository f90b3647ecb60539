//! Connections over HTTP/1.1, from their first byte to their last.

use std::{sync::Arc, time::Duration};

use dubbo_core::protocol::Protocol as _;
use tokio::{sync::Semaphore, time::Instant};

use crate::{
    greeter::{Provider, due, greeter, hello, unary},
    support::{GREET, GREET_STREAM, Http1, JSON},
};

const X: &[u8] = b"{\"name\":\"x\"}";

#[tokio::test]
async fn one_connection_takes_one_request_after_another() {
    let provider = Provider::of(greeter()).await;
    let mut caller = Http1::connect(provider.address).await;
    for _ in 0..3 {
        caller.send("POST", GREET, &[JSON], X).await;
        assert_eq!(caller.answer().await.status, 200);
    }
    // All at once is one after another, too.
    for _ in 0..3 {
        caller.send("POST", GREET, &[JSON], X).await;
    }
    for _ in 0..3 {
        assert_eq!(caller.answer().await.text(), "{\"greeting\":\"hello x\"}");
    }
    caller
        .send("POST", GREET, &[JSON, ("connection", "close")], X)
        .await;
    assert_eq!(caller.answer().await.status, 200);
    caller.is_closed().await;
}

#[tokio::test]
async fn an_old_client_is_served_as_far_as_its_version_goes() {
    let provider = Provider::of(greeter()).await;
    let events = "data:{\"greeting\":\"m0\"}\n\ndata:{\"greeting\":\"m1\"}\n\ndata:{\"greeting\":\"m2\"}\n\n";
    for (path, content, status, body) in [
        (GREET, "application/json", 200, "{\"greeting\":\"hello x\"}"),
        (GREET_STREAM, "application/json", 200, events),
        (GREET, "application/grpc", 505, ""),
    ] {
        let mut caller = Http1::connect(provider.address).await;
        let length = X.len();
        let head = format!(
            "POST {path} HTTP/1.0\r\ncontent-type: {content}\r\ncontent-length: {length}\r\n\r\n"
        );
        caller.raw([head.as_bytes(), X].concat()).await;
        let answer = caller.answer().await;
        assert_eq!(answer.status, status, "{content}");
        if status == 200 {
            assert_eq!(answer.text(), body);
        } else {
            let (_, _, message) = answer.refused();
            assert!(message.contains("came with HTTP/1.1"), "{message}");
        }
        caller.is_closed().await;
    }
}

#[tokio::test]
async fn who_waits_for_leave_to_send_a_body_gets_it() {
    let provider = Provider::of(greeter()).await;
    let mut caller = Http1::connect(provider.address).await;
    caller
        .raw(format!(
            "POST {GREET} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
             expect: 100-continue\r\ncontent-length: 12\r\n\r\n"
        ))
        .await;
    assert_eq!(caller.head().await.0, 100);
    caller.raw(X).await;
    assert_eq!(caller.answer().await.status, 200);
}

#[tokio::test]
async fn an_offer_to_upgrade_is_passed_over() {
    let provider = Provider::of(greeter()).await;
    let mut caller = Http1::connect(provider.address).await;
    let headers = [
        JSON,
        ("connection", "Upgrade, HTTP2-Settings"),
        ("upgrade", "h2c"),
        ("http2-settings", "AAMAAABkAAQAoAAAAAIAAAAA"),
    ];
    caller.send("POST", GREET, &headers, X).await;
    let answer = caller.answer().await;
    assert_eq!(
        (answer.status, answer.text()),
        (200, "{\"greeting\":\"hello x\"}")
    );
}

#[tokio::test]
async fn a_request_that_is_no_http_is_refused_and_the_server_goes_on() {
    let provider = Provider::of(greeter()).await;
    for request in [
        "POST /a b c HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nbad header\r\n\r\n",
        "POST / HTTP/9.9\r\n\r\n",
    ] {
        let mut caller = Http1::connect(provider.address).await;
        caller.raw(request).await;
        assert_eq!(caller.head().await.0, 400, "{request:?}");
        caller.is_closed().await;
    }
    let mut caller = Http1::connect(provider.address).await;
    caller.send("POST", GREET, &[JSON], X).await;
    assert_eq!(caller.answer().await.status, 200);
}

/// A service that answers as soon as it is let, and how to let it.
async fn held() -> (Provider, Arc<Semaphore>, Arc<Semaphore>) {
    let (begun, let_go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (begins, goes) = (Arc::clone(&begun), Arc::clone(&let_go));
    let service = unary(move |_| {
        let goes = Arc::clone(&goes);
        begins.add_permits(1);
        async move {
            goes.acquire().await.expect("open").forget();
            Ok(hello("x").into())
        }
    });
    (Provider::of(service).await, begun, let_go)
}

#[tokio::test]
async fn a_server_that_ends_lets_calls_finish_and_hangs_up_on_the_idle() {
    let (provider, begun, let_go) = held().await;
    let mut busy = Http1::connect(provider.address).await;
    busy.send("POST", GREET, &[JSON], X).await;
    let mut idle = Http1::connect(provider.address).await;
    idle.send("GET", "/", &[], b"").await;
    assert_eq!(idle.answer().await.status, 404);
    due(begun.acquire()).await.expect("open").forget();

    let Provider { protocol, .. } = provider;
    let drained = tokio::spawn(async move {
        protocol
            .drain(Instant::now() + Duration::from_secs(20))
            .await
    });
    idle.is_closed().await;
    let_go.add_permits(1);
    let answer = busy.answer().await;
    assert_eq!(
        (answer.status, answer.text()),
        (200, "{\"greeting\":\"hello x\"}")
    );
    assert_eq!(answer.header("connection"), Some("close"));
    busy.is_closed().await;
    assert_eq!(due(drained).await.expect("no panic").aborted, 0);
}

#[tokio::test]
async fn calls_that_do_not_finish_are_cut_and_counted() {
    let (provider, begun, _let_go) = held().await;
    let mut busy = Http1::connect(provider.address).await;
    busy.send("POST", GREET, &[JSON], X).await;
    due(begun.acquire()).await.expect("open").forget();
    let drained = due(provider.protocol.drain(Instant::now())).await;
    assert_eq!(drained.aborted, 1);
    busy.is_closed().await;
}

/// It cannot be ended; whoever ends the server is told that something is left.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_handler_that_blocks_its_thread_is_left_behind_and_counted() {
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let (blocked, begun) = (
        Arc::new(parking_lot::Mutex::new(blocked)),
        Arc::new(Semaphore::new(0)),
    );
    let begins = Arc::clone(&begun);
    let provider = Provider::of(unary(move |_| {
        begins.add_permits(1);
        // Until the test is over.
        let _ = blocked.lock().recv();
        async { Ok(hello("nobody").into()) }
    }))
    .await;
    let mut busy = Http1::connect(provider.address).await;
    busy.send("POST", GREET, &[JSON], X).await;
    due(begun.acquire()).await.expect("open").forget();
    let drained = due(provider.protocol.drain(Instant::now())).await;
    assert_eq!(drained.aborted, 1);
    drop(release);
}
