//! The four kinds of calls, as they look when all is well (`docs/spec/triple.md` §12, TV4 and TV10).

use std::future::poll_fn;

use bytes::Bytes;
use dubbo_core::request::Response;
use futures_util::FutureExt as _;

use crate::{
    greeter::{
        GREET_MANY as MANY, Provider, Req, Resp, builder, due, greeter, hello, server_stream, unary,
    },
    wire::{
        GREET, GREET_BIDI, GREET_MANY, GREET_STREAM, Wire, envelope, messages, next, request, unhex,
    },
};

#[tokio::test]
async fn a_unary_call_has_the_bytes_that_every_peer_has() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let body = unhex("00 00 00 00 07  0a 05 64 75 62 62 6f");
    let answer = wire
        .call(GREET, &[("grpc-accept-encoding", "identity")], body)
        .await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.header("content-type"),
        Some("application/grpc+proto")
    );
    let takes = answer.header("grpc-accept-encoding");
    assert_eq!(takes, Some("gzip,deflate,zstd"));
    assert_eq!(answer.header("grpc-encoding"), None);
    assert_eq!(
        answer.data,
        unhex("00 00 00 00 0d 0a 0b 68 65 6c 6c 6f 20 64 75 62 62 6f")
    );
    let trailers = answer.trailers.as_ref().expect("after the message");
    assert_eq!((trailers.len(), answer.code()), (1, 0));
}

#[tokio::test]
async fn a_response_says_the_content_type_of_its_request() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    for (sent, want) in [
        ("application/grpc", "application/grpc"),
        ("Application/gRPC+Proto", "application/grpc+proto"),
    ] {
        let answer = wire.greet("x", &[("content-type", sent)]).await;
        assert_eq!(answer.header("content-type"), Some(want));
        assert_eq!(answer.code(), 0);
    }
    let json = envelope(0, br#"{"name":"x"}"#);
    let answer = wire
        .call(
            GREET,
            &[("content-type", "application/grpc+json;charset=UTF-8")],
            json,
        )
        .await;
    assert_eq!(
        answer.header("content-type"),
        Some("application/grpc+json; charset=utf-8")
    );
    assert_eq!(messages(&answer.data), [br#"{"greeting":"hello x"}"#]);
}

#[tokio::test]
async fn the_first_letter_of_a_method_may_have_the_other_case() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let answer = wire
        .call("/greet.GreetService/greet", &[], request("x"))
        .await;
    assert_eq!(answer.greetings(), ["hello x"]);
}

#[tokio::test]
async fn an_empty_message_is_a_message() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let answer = wire.call(GREET, &[], envelope(0, b"")).await;
    assert_eq!(answer.greetings(), ["hello "]);
    let answer = wire.call(GREET_MANY, &[], envelope(0, b"").repeat(3)).await;
    assert_eq!(answer.greetings(), ["hello ++"]);
}

#[tokio::test]
async fn a_server_stream_has_its_messages_and_then_its_trailers() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let answer = wire.call(GREET_STREAM, &[], request("x")).await;
    assert_eq!(
        answer.data,
        unhex("00 00 00 00 04 0a 02 6d 30 00 00 00 00 04 0a 02 6d 31 00 00 00 00 04 0a 02 6d 32")
    );
    assert!(answer.trailers.is_some());
    assert_eq!(answer.code(), 0);
}

#[tokio::test]
async fn a_server_stream_without_messages_ends_well() {
    let provider = Provider::of(server_stream(|_| {
        Response::stream(futures_util::stream::empty())
    }))
    .await;
    let mut wire = Wire::connect(provider.address).await;
    let answer = wire.call(GREET_STREAM, &[], request("x")).await;
    assert_eq!((answer.data.len(), answer.code()), (0, 0));
}

#[tokio::test]
async fn a_client_stream_is_answered_once() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let mut exchange = wire.open(GREET_MANY, &[]).await;
    for name in ["a", "b", "c"] {
        exchange.data(request(name), false);
    }
    exchange.data("", true);
    assert_eq!(exchange.answer().await.greetings(), ["hello a+b+c"]);
    let none = wire.call(GREET_MANY, &[], "").await;
    assert_eq!(none.greetings(), ["hello "]);
}

#[tokio::test]
async fn both_sides_of_a_bidi_call_can_wait_for_each_other() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let mut exchange = wire.open(GREET_BIDI, &[]).await;
    // A caller may wait for the headers before it sends anything.
    let (head, mut body) = due(&mut exchange.response)
        .await
        .expect("headers")
        .into_parts();
    assert_eq!(head.status, 200);
    for name in ["a", "b"] {
        exchange.data(request(name), false);
        let chunk = next(&mut body).await.expect("open").expect("an echo");
        let wanted = request(&format!("hello {name}"));
        assert_eq!(chunk, Bytes::from(wanted));
    }
    exchange.data("", true);
    assert_eq!(next(&mut body).await.expect("open"), None);
    let trailers = due(body.trailers()).await.expect("open").expect("some");
    assert_eq!(trailers["grpc-status"], "0");
}

#[tokio::test]
async fn a_handlers_stream_is_pulled_only_as_fast_as_the_caller_reads() {
    let (made, mut making) = tokio::sync::mpsc::unbounded_channel();
    let provider = Provider::of(server_stream(move |_| {
        let made = made.clone();
        let chunks = std::iter::repeat_with(move || {
            let _ = made.send(());
            Ok(hello(&"x".repeat(64 << 10)))
        });
        Response::stream(futures_util::stream::iter(chunks))
    }))
    .await;
    let mut wire = Wire::connect(provider.address).await;
    let mut exchange = wire.open(GREET_STREAM, &[]).await;
    exchange.data(request("x"), true);
    let (_, mut body) = due(&mut exchange.response)
        .await
        .expect("headers")
        .into_parts();
    // The first frame is there, and is not given back to the window, which holds 65,535 bytes.
    due(body.data()).await.expect("one").expect("open");
    let answer = wire
        .call("/greet.GreetService/Nope", &[], request("x"))
        .await;
    assert_eq!(answer.code(), 12, "the connection goes on");
    let mut count = 0;
    while making.try_recv().is_ok() {
        count += 1;
    }
    assert!(
        (1..=4).contains(&count),
        "{count} messages for a caller that does not read"
    );
}

#[tokio::test]
async fn a_requests_stream_is_read_only_as_fast_as_the_handler_takes() {
    let (proceed, wait) = tokio::sync::watch::channel(false);
    let service = builder()
        .client_stream::<Req, Resp, _, _>(MANY, move |request| {
            let mut wait = wait.clone();
            async move {
                wait.wait_for(|go| *go).await.expect("told");
                let mut requests = request.into_message();
                let mut total = 0;
                while let Some(request) = requests.message().await? {
                    total += request.name.len();
                }
                Ok(hello(&total.to_string()).into())
            }
        })
        .build();
    let provider = Provider::of(service).await;
    let mut wire = Wire::connect(provider.address).await;
    let mut exchange = wire.open(GREET_MANY, &[]).await;
    let big = Bytes::from([request(&"x".repeat(1 << 20)), request(&"y".repeat(1 << 20))].concat());
    let mut sent = 0;
    exchange.send.reserve_capacity(big.len());
    while sent < WINDOW {
        let granted = due(poll_fn(|cx| exchange.send.poll_capacity(cx))).await;
        let end = sent + granted.expect("open").expect("open");
        exchange.data(big.slice(sent..end), false);
        sent = end;
    }
    assert_eq!(sent, WINDOW);
    // Other calls on the connection still get in, and answers mean that all before them has arrived.
    assert_eq!(
        wire.greet("x", &[]).await.code(),
        12,
        "it has no such handler"
    );
    let more = poll_fn(|cx| exchange.send.poll_capacity(cx)).now_or_never();
    assert!(
        more.is_none(),
        "a window beyond the first for a handler that does not read"
    );
    proceed.send_replace(true);
    exchange.data(big.slice(sent..), true);
    let total = 2 << 20;
    assert_eq!(
        exchange.answer().await.greetings(),
        [format!("hello {total}")]
    );
}

#[tokio::test]
async fn calls_on_one_connection_do_not_wait_for_each_other() {
    let (proceed, wait) = tokio::sync::watch::channel(false);
    let provider = Provider::of(unary(move |request| {
        let mut wait = wait.clone();
        async move {
            if request.message().name == "slow" {
                wait.wait_for(|go| *go).await.expect("told");
            }
            Ok(hello(&request.message().name).into())
        }
    }))
    .await;
    let mut wire = Wire::connect(provider.address).await;
    let mut slow = wire.open(GREET, &[]).await;
    slow.data(request("slow"), true);
    assert_eq!(wire.greet("quick", &[]).await.greetings(), ["hello quick"]);
    proceed.send_replace(true);
    assert_eq!(slow.answer().await.greetings(), ["hello slow"]);
}

/// What a stream may send before its handler reads.
const WINDOW: usize = 1 << 20;
