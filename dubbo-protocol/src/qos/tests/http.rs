use std::{sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{Echo, Page};
use crate::qos::{Listener, Routes};

async fn bind() -> Listener {
    let routes = Routes::new()
        .page("/a", Arc::new(Page("a")))
        .page("/a/b/", Arc::new(Page("b")))
        .page("/hangs", Arc::new(Page("h")))
        .page("/panics", Arc::new(Page("p")))
        .shell(Arc::new(Echo));
    Listener::bind("127.0.0.1", 0, routes)
        .await
        .expect("a free port")
}

/// The head of the answer and its body.
async fn ask(listener: &Listener, request: &[u8]) -> (String, String) {
    let mut stream = TcpStream::connect(listener.address()).await.expect("open");
    stream.write_all(request).await.expect("room");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("whole");
    let answer = String::from_utf8(answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer of HTTP");
    (head.to_owned(), body.to_owned())
}

#[tokio::test]
async fn the_page_of_the_longest_path_answers_and_the_connection_is_closed() {
    let listener = bind().await;
    for (request, status, want) in [
        ("GET /a", 200, "a: GET /a true 0 end"),
        ("GET /a/b", 200, "b: GET /a/b true 0 end"),
        ("DELETE /a/c?x=1", 200, "a: DELETE /a/c true 0 end"),
        (
            "GET /ab",
            404,
            "nothing is served at `/ab`; there is /panics, /hangs, /a/b, /a\n",
        ),
        (
            "GET /panics",
            500,
            "`/panics` failed: it panicked, and the log has more\n",
        ),
    ] {
        let (head, body) = ask(
            &listener,
            format!("{request} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes(),
        )
        .await;
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status}")),
            "{request}: {head}"
        );
        assert!(head.contains("connection: close"), "{head}");
        assert_eq!(body, want);
    }
}

#[tokio::test]
async fn a_body_over_a_mebibyte_is_refused_or_broken_off() {
    let listener = bind().await;
    let announced = b"POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 1048577\r\n\r\n";
    let (head, body) = ask(&listener, announced).await;
    assert!(head.starts_with("HTTP/1.1 413"), "{head}");
    assert_eq!(body, "the body is over the limit of 1048576 bytes\n");

    let mut chunked = b"POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for _ in 0..16 {
        chunked.extend_from_slice(b"10000\r\n");
        chunked.extend_from_slice(&vec![b'x'; 0x10000]);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"1\r\nx\r\n");
    let (_, body) = ask(&listener, &chunked).await;
    assert!(
        body.ends_with("the body is over the limit of 1048576 bytes"),
        "{body}"
    );
}

#[tokio::test]
async fn what_is_no_http_and_no_line_is_hung_up_on() {
    let listener = bind().await;
    let (head, _) = ask(&listener, b"GARBAGE\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
    let without_shell = Listener::bind("127.0.0.1", 0, Routes::new())
        .await
        .expect("a free port");
    let mut stream = TcpStream::connect(without_shell.address())
        .await
        .expect("open");
    stream.write_all(b"ls\r\n").await.expect("room");
    let read = stream.read(&mut [0]).await;
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
}

#[tokio::test]
async fn closing_gives_the_port_back_and_hangs_up() {
    let listener = bind().await;
    let address = listener.address();
    let mut hanging = TcpStream::connect(address).await.expect("open");
    hanging
        .write_all(b"GET /hangs HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .expect("room");
    let closed = tokio::time::timeout(Duration::from_secs(10), listener.close()).await;
    closed.expect("it does not wait for pages that hang");
    let read = hanging.read(&mut [0]).await;
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    let again = Listener::bind("127.0.0.1", address.port(), Routes::new())
        .await
        .expect("free again");
    drop(again);
}
