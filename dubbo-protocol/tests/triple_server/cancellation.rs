//! A caller that gives up stops its handler, and soon (`docs/spec/triple.md` §6.3).

use std::time::Duration;

use dubbo_core::request::Response;
use futures_util::StreamExt as _;
use h2::Reason;
use tokio::{sync::mpsc, time::Instant};

use crate::{
    greeter::{GREET, GREET_MANY, GREET_STREAM, Provider, Req, Resp, builder, due, hello},
    wire::{self, Exchange, Wire, request},
};

/// Where a handler is in its life.
#[derive(Debug, PartialEq)]
enum Event {
    Started,
    Dropped(Instant),
}

struct Guard(mpsc::UnboundedSender<Event>);

impl Guard {
    fn start(events: &mpsc::UnboundedSender<Event>) -> Self {
        let _ = events.send(Event::Started);
        Self(events.clone())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Dropped(Instant::now()));
    }
}

/// A service whose handlers never end, and tell when they start and when they are dropped.
async fn endless() -> (Provider, Wire, mpsc::UnboundedReceiver<Event>) {
    let (events, received) = mpsc::unbounded_channel();
    let (unary, many, stream) = (events.clone(), events.clone(), events);
    let service = builder()
        .unary::<Req, Resp, _, _>(GREET, move |_| {
            let guard = Guard::start(&unary);
            async move {
                let _guard = guard;
                std::future::pending().await
            }
        })
        .client_stream::<Req, Resp, _, _>(GREET_MANY, move |request| {
            let guard = Guard::start(&many);
            async move {
                let _guard = guard;
                let mut requests = request.into_message();
                while requests.message().await?.is_some() {}
                Ok(hello("end").into())
            }
        })
        .server_stream::<Req, Resp, _, _>(GREET_STREAM, move |_| {
            let guard = Guard::start(&stream);
            let one = futures_util::stream::iter([Ok(hello("x"))]);
            let items = one.chain(futures_util::stream::pending()).map(move |item| {
                let _guard = &guard;
                item
            });
            std::future::ready(Ok(Response::stream(items)))
        })
        .build();
    let provider = Provider::of(service).await;
    let wire = Wire::connect(provider.address).await;
    (provider, wire, received)
}

async fn start(
    wire: &mut Wire,
    path: &str,
    events: &mut mpsc::UnboundedReceiver<Event>,
) -> Exchange {
    let mut exchange = wire.open(path, &[]).await;
    exchange.data(request("x"), path != wire::GREET_MANY);
    assert_eq!(due(events.recv()).await, Some(Event::Started));
    exchange
}

async fn drop_after(since: Instant, events: &mut mpsc::UnboundedReceiver<Event>) -> Duration {
    match due(events.recv()).await {
        Some(Event::Dropped(at)) => at.duration_since(since),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_reset_stream_drops_its_handler_within_50_ms() {
    let (_provider, mut wire, mut events) = endless().await;
    for path in [wire::GREET, wire::GREET_MANY, wire::GREET_STREAM] {
        // On a busy machine one try may be late; all of them are not.
        let mut soonest = Duration::MAX;
        for _ in 0..5 {
            let mut exchange = start(&mut wire, path, &mut events).await;
            let since = Instant::now();
            exchange.send.send_reset(Reason::CANCEL);
            soonest = soonest.min(drop_after(since, &mut events).await);
        }
        assert!(soonest < Duration::from_millis(50), "{path}: {soonest:?}");
    }
}

#[tokio::test]
async fn a_connection_that_ends_takes_its_handlers_along() {
    for path in [wire::GREET, wire::GREET_MANY, wire::GREET_STREAM] {
        let (provider, wire, mut events) = endless().await;
        drop(wire);
        let stream = tokio::net::TcpStream::connect(provider.address)
            .await
            .expect("listening");
        let (mut send, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
        let connection = tokio::spawn(connection);
        let call = http::Request::post(format!("http://test{path}"))
            .header("content-type", "application/grpc+proto")
            .body(())
            .expect("a request");
        let (_response, mut body) = send.send_request(call, false).expect("open");
        body.send_data(request("x").into(), path != wire::GREET_MANY)
            .expect("open");
        assert_eq!(due(events.recv()).await, Some(Event::Started));
        let since = Instant::now();
        // The socket closes with its owner, without a word of HTTP/2.
        connection.abort();
        drop_after(since, &mut events).await;
    }
}

#[tokio::test]
async fn other_calls_on_the_connection_live_on() {
    let (_provider, mut wire, mut events) = endless().await;
    let mut first = start(&mut wire, wire::GREET_MANY, &mut events).await;
    let mut other = start(&mut wire, wire::GREET_MANY, &mut events).await;
    first.send.send_reset(Reason::CANCEL);
    drop_after(Instant::now(), &mut events).await;
    other.data("", true);
    assert_eq!(other.answer().await.greetings(), ["hello end"]);
}
