//! Connections that are no good, and what they cost the others.

use h2::Ping;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    greeter::{Provider, due, greeter},
    wire::Wire,
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
async fn an_http1_caller_is_told_to_use_http2() {
    let provider = Provider::of(greeter()).await;
    let mut stream = connect(&provider).await;
    let request =
        b"POST /greet.GreetService/Greet HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}";
    stream.write_all(request).await.expect("open");
    let mut answer = String::new();
    due(stream.read_to_string(&mut answer))
        .await
        .expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 505 "), "{answer}");
    assert!(answer.contains("HTTP/2 with prior knowledge"), "{answer}");
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
