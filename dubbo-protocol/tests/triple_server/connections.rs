//! Connections that are no good, and what they cost the others.

use std::future::poll_fn;

use futures_util::{StreamExt as _, stream};
use h2::{Ping, Reason};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    greeter::{Provider, due, greeter},
    wire::{GREET, GREET_BIDI, Wire, messages, next, request},
};

async fn connect(provider: &Provider) -> TcpStream {
    TcpStream::connect(provider.address)
        .await
        .expect("listening")
}

#[tokio::test]
async fn garbage_closes_its_own_connection_alone() {
    let provider = Provider::of(greeter()).await;
    let mut healthy = Wire::connect(provider.address).await;
    let preface = &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..];
    let noise: Vec<u8> = (0..4_096_u32)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes())
        .collect();
    for garbage in [
        &b"\0\0\0\0\0\0\0\0"[..],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        b"\xda\xbb\xc2\x00\x00\x00\x00\x00",
        &noise,
        // A frame of a stream that is not open, and one that is too large.
        &[preface, b"\0\0\x04\x08\0\0\0\0\x05\0\0\0\0"].concat(),
        &[preface, b"\xff\xff\xff\x00\x00\x00\x00\x00\x01"].concat(),
    ] {
        let mut stream = connect(&provider).await;
        // The server may hang up before it has read everything.
        let _ = stream.write_all(garbage).await;
        let mut answer = Vec::new();
        let _ = due(stream.read_to_end(&mut answer)).await;
        assert_eq!(healthy.greet("x", &[]).await.code(), 0);
    }
}

#[tokio::test]
async fn silent_peers_do_not_keep_others_out() {
    let provider = Provider::of(greeter()).await;
    let mut silent = Vec::new();
    for _ in 0..50 {
        silent.push(connect(&provider).await);
    }
    let mut half = connect(&provider).await;
    half.write_all(b"PRI * HT").await.expect("open");
    let mut wire = Wire::connect(provider.address).await;
    assert_eq!(wire.greet("x", &[]).await.code(), 0);
}

#[tokio::test]
async fn pings_are_answered_however_many_there_are() {
    let provider = Provider::of(greeter()).await;
    let (mut send, mut connection) = h2::client::handshake(connect(&provider).await)
        .await
        .expect("HTTP/2");
    let mut pings = connection.ping_pong().expect("not taken");
    let driver = tokio::spawn(connection);
    for _ in 0..100 {
        due(pings.ping(Ping::opaque())).await.expect("a pong");
    }
    let request = http::Request::post("http://test/x/y")
        .body(())
        .expect("a request");
    let (response, _) = send.send_request(request, true).expect("open");
    assert_eq!(due(response).await.expect("served").status(), 404);
    driver.abort();
}

/// A caller with many calls under one timeout ends them all in one write.
#[tokio::test]
async fn a_burst_of_cancellations_spares_the_connection() {
    const CALLS: u32 = 4_000;
    let provider = Provider::of(greeter()).await;
    let mut stream = connect(&provider).await;
    let mut bytes = [
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..],
        &frame(SETTINGS, 0, 0, b""),
    ]
    .concat();
    for n in 0..CALLS {
        bytes.extend(frame(HEADERS, END_HEADERS, 2 * n + 1, &call_of_greet()));
        bytes.extend(frame(RST_STREAM, 0, 2 * n + 1, b"\0\0\0\x08"));
    }
    let last = 2 * CALLS + 1;
    bytes.extend(frame(HEADERS, END_HEADERS, last, &call_of_greet()));
    bytes.extend(frame(DATA, END_STREAM, last, &request("x")));
    let (mut read, mut write) = stream.split();
    let answered = async {
        loop {
            let mut head = [0; 9];
            read.read_exact(&mut head).await.expect("open");
            let len = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; len as usize];
            read.read_exact(&mut payload).await.expect("open");
            assert_ne!(head[3], GOAWAY, "{}", String::from_utf8_lossy(&payload));
            if head[3] == HEADERS && head[5..] == last.to_be_bytes() {
                return;
            }
        }
    };
    let (written, ()) = due(async { tokio::join!(write.write_all(&bytes), answered) }).await;
    written.expect("open");
}

#[tokio::test]
async fn the_rest_of_a_refused_request_is_read_and_not_reset() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let over_limit = vec![0, 0xff, 0xff, 0xff, 0xff];
    for (path, content, first) in [
        ("/no.Such/Method", "application/grpc+proto", vec![]),
        (GREET, "application/grpc+hessian2", vec![]),
        (GREET, "text/xml", vec![]),
        (GREET, "application/grpc+proto", over_limit),
    ] {
        let mut exchange = wire.open(path, &[("content-type", content)]).await;
        exchange.data(first, false);
        let answer = due(&mut exchange.response).await.expect("answered");
        let mut body = answer.into_body();
        while next(&mut body).await.expect("open").is_some() {}
        // A reset would come no later than this.
        assert_eq!(wire.greet("x", &[]).await.code(), 0);
        exchange.data(vec![0; 16 << 10], true);
    }
}

#[tokio::test]
async fn the_rest_of_a_refused_request_is_not_read_for_ever() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let mut exchange = wire.open("/no.Such/Method", &[]).await;
    exchange.data(vec![0; 2 << 20], false);
    let reset = due(poll_fn(|cx| exchange.send.poll_reset(cx))).await;
    assert_eq!(reset.expect("open"), Reason::NO_ERROR);
    assert_eq!(wire.greet("x", &[]).await.code(), 0);
}

#[tokio::test]
async fn refused_calls_with_bodies_hold_up_no_other() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let mut other = wire.open(GREET_BIDI, &[]).await;
    other.data(request("x"), false);
    let mut greetings = due(&mut other.response)
        .await
        .expect("answered")
        .into_body();
    // More than the windows of the connection, and more calls than it may have at once.
    stream::iter(0..20_000)
        .for_each_concurrent(50, async |_| {
            let mut exchange = wire.clone().open("/no.Such/Method", &[]).await;
            exchange.data(vec![0; 16 << 10], true);
            assert_eq!(exchange.answer().await.refused().0, 12);
        })
        .await;
    other.data(request("y"), true);
    let mut data = Vec::new();
    while let Some(chunk) = next(&mut greetings).await.expect("open") {
        data.extend_from_slice(&chunk);
    }
    assert_eq!(messages(&data).len(), 2);
}

/// The header block of a gRPC call, as plain literals.
fn call_of_greet() -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", GREET),
        (":authority", "test"),
        ("content-type", "application/grpc"),
    ] {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).expect("short"));
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len()).expect("short").to_be_bytes();
    [&len[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
