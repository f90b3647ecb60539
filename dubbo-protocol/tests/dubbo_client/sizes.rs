//! How large calls and answers may be.

use dubbo_core::status::{Code, Retry, Status};
use dubbo_hessian2::{Encoder, Value};
use dubbo_protocol::DubboProtocol;
use dubbo_test::peer::dubbo::{Frame, Server};

use crate::support::{echo, stub};

/// What a call comes to whose answer has a text of `len` bytes in its body.
async fn answered_with(query: &str, len: usize) -> Result<usize, Status> {
    let server = Server::bind().await;
    let protocol = DubboProtocol::default();
    let stub = stub(&protocol, server.address(), query).await;
    let connection = server.accept().await;
    tokio::spawn(connection.answer_all(move |frame| {
        let mut encoder = Encoder::new();
        encoder.str(&"x".repeat(len));
        let body = [&[0x91], encoder.as_bytes()].concat();
        vec![Frame::answer(frame, 20, body)]
    }));
    let reply = echo(&stub, "x").await?;
    Ok(reply.into_message().as_str().map_or(0, str::len))
}

#[tokio::test]
async fn answers_of_up_to_8_mib_are_taken_unless_told_otherwise() {
    // 512 KiB, 1 MiB and 7.9 MiB: what others refuse by default.
    for len in [512 << 10, 1 << 20, 8_283_750] {
        assert_eq!(answered_with("", len).await.expect("within the limit"), len);
    }
    for (query, len) in [
        ("", 8 << 20),
        ("payload=1024", 1024),
        ("payload=16777216", 16 << 20),
    ] {
        let status = answered_with(query, len).await.expect_err("over the limit");
        assert_eq!(status.code(), Code::OutOfRange);
        assert!(
            status.message().contains("`payload` in the `params`"),
            "{status}"
        );
    }
    let len = 15 << 20;
    let larger = answered_with("payload=16777216", len).await;
    assert_eq!(larger.expect("within the limit"), len);
}

#[tokio::test]
async fn requests_over_the_limit_are_not_sent() {
    let server = Server::bind().await;
    let protocol = DubboProtocol::default();
    let stub = stub(&protocol, server.address(), "payload=2097152").await;
    let connection = server.accept().await;
    tokio::spawn(connection.answer_all(|frame| {
        assert!(frame.body.len() <= 2 << 20);
        vec![Frame::answer(frame, 20, [0x92])]
    }));
    let fits = "x".repeat(2_000_000);
    let reply = echo(&stub, &fits).await.expect("within the limit");
    assert_eq!(reply.into_message(), Value::Null);
    let status = echo(&stub, &"x".repeat(2 << 20))
        .await
        .expect_err("over it");
    assert_eq!(
        (status.code(), status.retry()),
        (Code::OutOfRange, Retry::Never)
    );
    assert!(status.message().contains("limit of 2097152"), "{status}");
    echo(&stub, "x").await.expect("the connection is as it was");
}
