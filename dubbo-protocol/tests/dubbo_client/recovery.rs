//! Providers that go and come back.

use std::time::Duration;

use dubbo_core::{
    protocol::Protocol as _,
    status::{Code, Retry},
};
use dubbo_protocol::DubboProtocol;
use dubbo_test::{
    peer::dubbo::{Connection, Frame, Server},
    soon,
};
use tokio::{net::TcpListener, time::Instant};

use crate::support::{echo, stub};

/// Answers each call with null.
fn nulls(frame: &Frame) -> Vec<Frame> {
    let answer = if frame.is_call() { &b"\x92"[..] } else { b"N" };
    vec![Frame::answer(frame, 20, answer)]
}

#[tokio::test]
async fn a_provider_that_is_not_there_yet_is_unavailable_until_it_is() {
    let address = Server::bind().await.address();
    let protocol = DubboProtocol::default();
    let stub = stub(&protocol, address, "").await;
    let refused = echo(&stub, "x").await.expect_err("nobody listens");
    assert_eq!(
        (refused.code(), refused.retry()),
        (Code::Unavailable, Retry::Safe)
    );
    let text = refused.message();
    assert!(
        text.contains(&format!(
            "com.x.Echo/echo at {address}: cannot connect: Connection refused"
        )),
        "{text}"
    );
    assert!(!stub.invoker().is_available());

    let listener = TcpListener::bind(address).await.expect("it is free again");
    let (io, _) = soon("another attempt", listener.accept())
        .await
        .expect("a connection");
    tokio::spawn(Connection::over(io).answer_all(nulls));
    soon("the connection", async {
        while !stub.invoker().is_available() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    echo(&stub, "x").await.expect("it is there");
}

#[tokio::test]
async fn a_provider_that_restarts_is_found_again_and_only_calls_under_way_fail() {
    let server = Server::bind().await;
    let protocol = DubboProtocol::default();
    let stub = stub(&protocol, server.address(), "").await;
    let mut first = server.accept().await;
    let lost = async {
        let call = first.call().await;
        assert!(call.is_two_way());
        drop(first);
        tokio::spawn(server.accept().await.answer_all(nulls));
    };
    let (reply, ()) = tokio::join!(echo(&stub, "x").into_future(), lost);
    let status = reply.expect_err("it was under way");
    assert_eq!(
        (status.code(), status.retry()),
        (Code::Unavailable, Retry::Ambiguous)
    );
    for _ in 0..10 {
        echo(&stub, "x").await.expect("the next connection");
    }
}

#[tokio::test]
async fn one_protocol_ends_all_its_references() {
    let server = Server::bind().await;
    let protocol = DubboProtocol::default();
    let stub = stub(&protocol, server.address(), "connections=3").await;
    let mut peers = Vec::new();
    for _ in 0..3 {
        peers.push(server.accept().await);
    }
    let drained = protocol
        .close(Instant::now() + Duration::from_secs(5))
        .await;
    assert_eq!(drained.aborted, 0);
    for peer in &mut peers {
        peer.closed().await;
    }
    let status = echo(&stub, "x").await.expect_err("it is closed");
    assert!(status.is_not_processed(), "{status}");
}
