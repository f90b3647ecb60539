//! The end of a server: told beforehand, without a lost call, and in time (`docs/spec/triple.md` §9.3).

use std::time::Duration;

use dubbo_core::protocol::{Drained, Protocol as _, ProtocolError};
use h2::Reason;
use tokio::{net::TcpStream, sync::watch, time::Instant};

use crate::{
    greeter::{INTERFACE, Provider, due, greeter, hello, unary, url},
    wire::{Exchange, GREET, Wire, envelope, next, request},
};

/// A provider whose handler waits to be released, and a caller whose call it is working on.
async fn at_work() -> (Provider, Wire, Exchange, watch::Sender<bool>) {
    let (release, released) = watch::channel(false);
    let (started, mut starts) = tokio::sync::mpsc::unbounded_channel();
    let provider = Provider::of(unary(move |_| {
        let _ = started.send(());
        let mut released = released.clone();
        async move {
            released.wait_for(|go| *go).await.expect("told");
            Ok(hello("in time").into())
        }
    }))
    .await;
    let mut wire = Wire::connect(provider.address).await;
    let mut exchange = wire.open(GREET, &[]).await;
    exchange.data(request("x"), true);
    due(starts.recv()).await.expect("started");
    (provider, wire, exchange, release)
}

fn later() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

#[tokio::test]
async fn calls_in_flight_finish_and_new_ones_are_refused_as_not_processed() {
    let (provider, mut wire, exchange, release) = at_work().await;
    let protocol = provider.protocol;
    let shutdown = tokio::spawn(async move { protocol.drain(later()).await });

    // New calls on the connection: one that crosses the first GOAWAY may be served, soon none is.
    let refusal = due(async {
        loop {
            match wire.try_open(GREET, &[]).await {
                Err(error) => return error,
                Ok(mut late) => late.send.send_reset(Reason::CANCEL),
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(refusal.is_go_away(), "{refusal}");
    assert_eq!(refusal.reason(), Some(Reason::NO_ERROR));

    // New connections: the port is closed.
    due(async {
        while TcpStream::connect(provider.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;

    release.send_replace(true);
    assert_eq!(exchange.answer().await.greetings(), ["hello in time"]);
    assert_eq!(due(shutdown).await.expect("done"), Drained { aborted: 0 });
}

#[tokio::test]
async fn open_watches_do_not_hold_up_the_end() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let mut exchange = wire.open("/grpc.health.v1.Health/Watch", &[]).await;
    let about = [&[0x0a, 0x12][..], INTERFACE.as_bytes()].concat();
    exchange.data(envelope(0, &about), true);
    let (_, mut body) = due(&mut exchange.response)
        .await
        .expect("answered")
        .into_parts();
    assert_eq!(
        next(&mut body).await.expect("open").expect("one")[..],
        envelope(0, b"\x08\x01")
    );

    let shutdown = provider.protocol.drain(later());
    let heard = async {
        // Without an announcement it is told now.
        assert_eq!(
            next(&mut body).await.expect("open").expect("one")[..],
            envelope(0, b"\x08\x02")
        );
        assert_eq!(next(&mut body).await.expect("open"), None);
        let trailers = due(body.trailers()).await.expect("open").expect("some");
        assert_eq!(trailers["grpc-status"], "14");
    };
    let (drained, ()) = due(async { tokio::join!(shutdown, heard) }).await;
    assert_eq!(drained, Drained { aborted: 0 });
}

#[tokio::test]
async fn what_is_left_at_the_deadline_is_cut_and_counted() {
    let (provider, _wire, exchange, release) = at_work().await;
    let before = Instant::now();
    let grace = Duration::from_millis(50);
    let drained = due(provider.protocol.drain(before + grace)).await;
    assert_eq!(drained, Drained { aborted: 1 });
    assert!(before.elapsed() >= grace);
    exchange
        .try_answer()
        .await
        .expect_err("the connection is cut");
    // The handler went with it.
    drop(provider);
    due(release.closed()).await;
}

#[tokio::test]
async fn idle_and_half_open_connections_end_at_once() {
    let provider = Provider::of(greeter()).await;
    let mut idle = Wire::connect(provider.address).await;
    assert_eq!(idle.greet("x", &[]).await.code(), 0);
    let _silent = TcpStream::connect(provider.address)
        .await
        .expect("listening");
    let drained = due(provider.protocol.drain(later())).await;
    assert_eq!(drained, Drained { aborted: 0 });
}

#[tokio::test]
async fn nothing_is_exported_after_the_end() {
    let provider = Provider::of(greeter()).await;
    let _ = provider.protocol.drain(later()).await;
    let service = greeter();
    let descriptor = std::sync::Arc::clone(service.descriptor());
    let invoker = service.into_invoker(url());
    let error = provider
        .protocol
        .export(&url(), descriptor, invoker)
        .await
        .err();
    assert!(matches!(error, Some(ProtocolError::ShutDown)), "{error:?}");
}

#[tokio::test]
async fn a_dropped_protocol_ends_its_connections() {
    let (provider, _wire, exchange, _release) = at_work().await;
    drop(provider);
    exchange
        .try_answer()
        .await
        .expect_err("the connection is cut");
}
