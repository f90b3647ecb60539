//! Connections of HTTP/1.1: one call at a time each, as many as there are calls, and what happens when they end.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use dubbo_core::{
    invocation::{Body, Invocation, PayloadStream},
    payload::{Adapter as _, Payload},
    service::MethodRef,
    status::{Code, Retry, Status},
    stream,
};
use dubbo_protocol::TripleProtocol;
use dubbo_test::{peer::h2::envelope, soon};
use futures_util::future::join_all;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::rig::{HTTP1_WAYS, Rig, Text, greet};
use crate::support::{self, GREETER, message};

/// A peer of HTTP/1.1 that a test plays.
struct Peer {
    listener: TcpListener,
}

impl Peer {
    async fn bind() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        Self {
            listener: listener.expect("a free port"),
        }
    }

    fn address(&self) -> SocketAddr {
        self.listener.local_addr().expect("bound")
    }

    async fn accept(&self) -> TcpStream {
        let accepted = soon("a connection", self.listener.accept()).await;
        accepted.expect("open").0
    }
}

/// Reads a request with a body of known length: its head.
pub(super) async fn request(stream: &mut TcpStream) -> String {
    let mut seen = Vec::new();
    loop {
        let read = soon("a request", stream.read_buf(&mut seen)).await;
        assert!(read.expect("open") > 0, "it ended: {seen:?}");
        let Some(end) = seen.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&seen[..end]).into_owned();
        let length = head.lines().find_map(|line| {
            let length = line.strip_prefix("content-length: ")?;
            length.parse::<usize>().ok()
        });
        if seen.len() >= end + 4 + length.expect("it is known") {
            return head;
        }
    }
}

/// An answer of Connect.
fn hello() -> Vec<u8> {
    let body = message("hi");
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/proto\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), &body].concat()
}

const CONNECT: &str = HTTP1_WAYS[1];

#[tokio::test]
async fn a_request_of_http_1_is_what_servers_and_proxies_read() {
    let (peer, protocol) = (Peer::bind().await, TripleProtocol::default());
    let stub = support::stub(&protocol, peer.address(), CONNECT).await;
    let served = async {
        let mut stream = peer.accept().await;
        let head = request(&mut stream).await;
        stream.write_all(&hello()).await.expect("open");
        head
    };
    let call = support::greet(&stub, "x").timeout(Duration::from_secs(9));
    let (reply, head) = tokio::join!(call, served);
    assert_eq!(reply.expect("it works").message(), "hi");
    let mut lines = head.lines();
    assert_eq!(lines.next(), Some("POST /greet.Greeter/Greet HTTP/1.1"));
    let address = peer.address();
    for line in [
        &*format!("host: {address}"),
        "content-type: application/proto",
        "connect-protocol-version: 1",
        "content-length: 3",
    ] {
        assert!(head.lines().any(|other| other == line), "{line} in {head}");
    }
    assert!(head.contains("connect-timeout-ms: "), "{head}");
    assert!(!head.contains("te: "), "{head}");
}

#[tokio::test]
async fn calls_one_after_the_other_share_a_connection_and_calls_at_once_do_not() {
    let (peer, protocol) = (Peer::bind().await, TripleProtocol::default());
    let stub = support::stub(&protocol, peer.address(), CONNECT).await;
    let served = async {
        let mut first = peer.accept().await;
        for _ in 0..3 {
            request(&mut first).await;
            first.write_all(&hello()).await.expect("open");
        }
        // Two at once: each has its own.
        request(&mut first).await;
        let mut second = peer.accept().await;
        request(&mut second).await;
        second.write_all(&hello()).await.expect("open");
        first.write_all(&hello()).await.expect("open");
    };
    let calls = async {
        for _ in 0..3 {
            support::greet(&stub, "x").await.expect("it works");
        }
        let both = [support::greet(&stub, "x"), support::greet(&stub, "x")];
        for reply in join_all(both.map(IntoFuture::into_future)).await {
            reply.expect("it works");
        }
    };
    soon("all of it", async { tokio::join!(served, calls) }).await;
}

#[tokio::test]
async fn calls_beyond_the_bound_wait_for_their_turn() {
    let (peer, protocol) = (Peer::bind().await, TripleProtocol::default());
    let query = format!("{CONNECT}&connections=2");
    let stub = support::stub(&protocol, peer.address(), &query).await;
    let served = async {
        let (mut first, mut second) = (peer.accept().await, peer.accept().await);
        for stream in [&mut first, &mut second] {
            request(stream).await;
        }
        let third = tokio::time::timeout(Duration::from_millis(50), peer.listener.accept());
        assert!(third.await.is_err(), "two is the bound");
        first.write_all(&hello()).await.expect("open");
        // The third call has the first connection.
        request(&mut first).await;
        first.write_all(&hello()).await.expect("open");
        second.write_all(&hello()).await.expect("open");
    };
    let calls = [(); 3].map(|()| support::greet(&stub, "x").into_future());
    let (replies, ()) = soon("all of it", async { tokio::join!(join_all(calls), served) }).await;
    for reply in replies {
        assert_eq!(reply.expect("it works").message(), "hi");
    }
}

#[tokio::test]
async fn a_call_whose_turn_never_comes_was_not_sent() {
    let rig = Rig::plain().await;
    let stub = rig.stub(&format!("{CONNECT}&connections=1")).await;
    let mut first = Box::pin(greet(&stub, "hang").into_future());
    let began = tokio::time::timeout(Duration::from_millis(100), &mut first);
    assert!(began.await.is_err(), "it hangs");
    let second = greet(&stub, "you").timeout(Duration::from_millis(50));
    let status = second.await.expect_err("no turn");
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(status.retry(), Retry::Safe, "{status}");
}

#[tokio::test]
async fn a_connection_that_the_peer_has_half_closed_takes_no_call() {
    let (peer, protocol) = (Peer::bind().await, TripleProtocol::default());
    let stub = support::stub(&protocol, peer.address(), CONNECT).await;
    let served = async {
        for _ in 0..3 {
            let mut stream = peer.accept().await;
            request(&mut stream).await;
            stream.write_all(&hello()).await.expect("open");
            stream.shutdown().await.expect("open");
            // It still reads, and gets nothing but the end.
            let mut rest = Vec::new();
            let read = soon("the end", stream.read_to_end(&mut rest)).await;
            assert_eq!((read.expect("an end"), &rest[..]), (0, &b""[..]));
        }
    };
    let calls = async {
        for _ in 0..3 {
            let reply = soon("an answer", support::greet(&stub, "x")).await;
            assert_eq!(reply.expect("it works").message(), "hi");
            while stub.invoker().in_flight() > 0 {
                tokio::task::yield_now().await;
            }
        }
    };
    tokio::join!(served, calls);
}

#[tokio::test]
async fn a_peer_that_ends_within_an_answer_may_have_done_the_call() {
    let cut = hello();
    let whole_head = cut.len() - 2;
    for sent in [0, 20, whole_head] {
        let (peer, protocol) = (Peer::bind().await, TripleProtocol::default());
        let stub = support::stub(&protocol, peer.address(), CONNECT).await;
        let served = async {
            let mut stream = peer.accept().await;
            request(&mut stream).await;
            stream.write_all(&cut[..sent]).await.expect("open");
        };
        let (reply, ()) = tokio::join!(soon("an end", support::greet(&stub, "x")), served);
        let status = reply.expect_err("it was cut off");
        assert_eq!(status.code(), Code::Unavailable, "{sent}: {status}");
        assert_eq!(status.retry(), Retry::Ambiguous, "{sent}: {status}");
        let address = peer.address().to_string();
        for part in ["the peer closed the connection", &address] {
            assert!(status.message().contains(part), "{part} in {status}");
        }
    }
}

#[tokio::test]
async fn an_early_answer_over_http_1_ends_the_requests() {
    let (peer, protocol) = (Peer::bind().await, TripleProtocol::default());
    let stub = support::stub(&protocol, peer.address(), HTTP1_WAYS[0]).await;
    let (feed, requests) = stream::channel(1);
    let served = async {
        let mut stream = peer.accept().await;
        let mut seen = Vec::new();
        while !seen.ends_with(b"early\r\n") {
            let read = soon("a request", stream.read_buf(&mut seen)).await;
            assert!(read.expect("open") > 0, "it ended");
        }
        let mut body = envelope(&message("enough")).to_vec();
        body.extend_from_slice(b"\x80\0\0\0\x10grpc-status: 0\r\n");
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/grpc-web\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let answer = [head.as_bytes(), &body].concat();
        stream.write_all(&answer).await.expect("open");
        // A request that goes on without end has no other end than that of its connection.
        let read = soon("the end", stream.read_to_end(&mut seen)).await;
        read.expect("an end");
    };
    let call = async {
        let call = support::join(&stub, requests);
        feed.send("early".to_owned()).await.expect("somebody reads");
        let reply = call.await.expect("it works");
        assert_eq!(reply.message(), "enough");
        let end = async { while feed.send("more".to_owned()).await.is_ok() {} };
        soon("the end of the requests", end).await;
    };
    soon("both", async { tokio::join!(served, call) }).await;
}

#[tokio::test]
async fn a_stream_that_fails_at_the_caller_ends_the_call_with_its_failure() {
    let rig = Rig::plain().await;
    let stub = rig.stub(HTTP1_WAYS[0]).await;
    let messages = futures_util::stream::iter([
        Ok(Payload::typed(Text::wrap("a".to_owned()))),
        Err(Status::aborted("the source failed")),
    ]);
    let invocation = Invocation::new(
        Arc::new("greet.Greeter".parse().expect("a key")),
        MethodRef::new(Arc::clone(&GREETER), 2),
        Body::Stream(PayloadStream::new(messages)),
    );
    let call = stub.invoker().invoke(invocation);
    let status = soon("an end", call).await.expect_err("it fails");
    assert_eq!(
        (status.code(), status.message()),
        (Code::Aborted, "the source failed")
    );
}

#[tokio::test]
async fn what_is_no_http_is_told() {
    let (peer, protocol) = (Peer::bind().await, TripleProtocol::default());
    let stub = support::stub(&protocol, peer.address(), CONNECT).await;
    let served = async {
        let mut stream = peer.accept().await;
        request(&mut stream).await;
        stream
            .write_all(b"\xda\xbb\x02 what?\r\n\r\n")
            .await
            .expect("open");
        stream
    };
    let (reply, _stream) = tokio::join!(soon("an end", support::greet(&stub, "x")), served);
    let status = reply.expect_err("no HTTP");
    assert_eq!(status.code(), Code::Internal, "{status}");
    assert!(status.message().contains("rules of HTTP/1.1"), "{status}");
}

#[tokio::test]
async fn nobody_at_the_address_is_said_and_a_peer_that_comes_is_found() {
    let protocol = TripleProtocol::default();
    let address = Peer::bind().await.address();
    let stub = support::stub(&protocol, address, CONNECT).await;
    let status = soon("a refusal", support::greet(&stub, "x")).await;
    let status = status.expect_err("nobody listens");
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    assert_eq!(status.retry(), Retry::Safe, "{status}");
    assert!(status.message().contains("cannot connect"), "{status}");
    assert!(!stub.invoker().is_available());
}

#[tokio::test]
async fn the_end_of_a_client_waits_for_its_calls() {
    use dubbo_core::protocol::Protocol as _;
    use tokio::time::Instant;

    let (peer, protocol) = (Peer::bind().await, TripleProtocol::default());
    let stub = support::stub(&protocol, peer.address(), CONNECT).await;
    let served = async {
        let mut stream = peer.accept().await;
        request(&mut stream).await;
        stream
    };
    let call = tokio::spawn(async move { support::greet(&stub, "x").await });
    let mut stream = served.await;
    let end = Instant::now() + Duration::from_secs(20);
    let ended = async {
        let drained = protocol.close(end).await;
        assert_eq!(drained.aborted, 0);
    };
    let answered = async { stream.write_all(&hello()).await.expect("open") };
    soon("the end", async { tokio::join!(ended, answered) }).await;
    let reply = soon("an answer", call).await.expect("no panic");
    assert_eq!(reply.expect("it was let through").message(), "hi");
}
