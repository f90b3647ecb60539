//! What a call sends.

use std::time::Duration;

use dubbo_core::{
    codegen::Proto,
    protocol::{Protocol as _, ProtocolError},
    request::Request,
    status::{Code, Retry},
    stream,
};
use dubbo_protocol::TripleProtocol;
use dubbo_test::{
    peer::h2::{Server, kind},
    soon,
};

use crate::support::{GREETER, greet, join, message, stub, url};

#[tokio::test]
async fn a_unary_call_is_one_frame_of_headers_and_one_of_data() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "group=g&version=1.0.0").await;
    let mut connection = server.accept().await;
    let call = async {
        let call = greet(&stub, "hello").attach("userId", "7");
        call.await.expect("it worked").into_message()
    };
    let answered = async {
        let mut request = connection.request().await;
        let address = server.address().to_string();
        for (name, want) in [
            ("content-type", Some("application/grpc+proto")),
            ("te", Some("trailers")),
            (
                "user-agent",
                Some(concat!("dubbo-rust/", env!("CARGO_PKG_VERSION"))),
            ),
            ("grpc-accept-encoding", Some("gzip,deflate,zstd")),
            ("tri-service-group", Some("g")),
            ("tri-service-version", Some("1.0.0")),
            ("userid", Some("7")),
            (
                "tri-header-convert",
                Some("%7B%22userid%22%3A%22userId%22%7D"),
            ),
            ("grpc-timeout", None),
            ("content-length", None),
            ("interface", None),
        ] {
            assert_eq!(request.header(name), want, "{name}");
        }
        assert_eq!(request.path(), "/greet.Greeter/Greet");
        assert_eq!(request.authority(), Some(&*address));
        assert_eq!(request.message().await.as_deref(), Some(&*message("hello")));
        assert_eq!(request.message().await, None);
        request.reply(&message("hi"));
        let data = connection
            .frame("data", |frame| frame.kind == kind::DATA)
            .await;
        assert!(data.ends_stream() && data.payload.len() == 12, "{data:?}");
    };
    assert_eq!(tokio::join!(soon("an answer", call), answered).0, "hi");
}

#[tokio::test]
async fn a_deadline_goes_out_as_what_is_left_of_it_and_ends_the_call() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    let call = async { greet(&stub, "x").timeout(Duration::from_millis(200)).await };
    let watched = async {
        let mut request = connection.request().await;
        let sent = request
            .header("grpc-timeout")
            .expect("it has one")
            .to_owned();
        let micros: u32 = sent.strip_suffix('u').expect(&sent).parse().expect(&sent);
        assert!((1..=200_000).contains(&micros), "{sent}");
        assert_eq!(request.reset_by_client().await, 8, "CANCEL");
    };
    let (reply, ()) = tokio::join!(soon("the deadline", call), watched);
    let status = reply.expect_err("nobody answered");
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(status.retry(), Retry::Ambiguous, "it may have been done");
    let address = server.address().to_string();
    for part in ["200ms", "greet.Greeter/Greet", &address] {
        assert!(status.message().contains(part), "{part} in {status}");
    }
}

#[tokio::test]
async fn a_call_whose_time_is_over_is_never_sent() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    for call in [
        greet(&stub, "late").timeout(Duration::ZERO),
        greet(&stub, "late").deadline(tokio::time::Instant::now()),
    ] {
        let status = call.await.expect_err("it is over");
        assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
        assert_eq!(status.retry(), Retry::Safe, "{status:?}");
    }
    let next = async { greet(&stub, "next").await };
    let answered = async {
        let mut first = connection.request().await;
        assert_eq!(first.message().await.as_deref(), Some(&*message("next")));
        first.reply(&message("a"));
    };
    tokio::join!(soon("an answer", next), answered)
        .0
        .expect("it worked");
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_here() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "max-call-send-msg-size=100").await;
    let mut connection = server.accept().await;

    let status = greet(&stub, &"x".repeat(200)).await.expect_err("too large");
    assert_eq!(status.code(), Code::ResourceExhausted);
    for part in ["203", "limit of 100", "greet.Greeter/Greet"] {
        assert!(status.message().contains(part), "{part} in {status}");
    }
    let status = greet(&stub, "x")
        .attach("a b", "c")
        .await
        .expect_err("no name");
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("\"a b\""), "{status}");
    let status = greet(&stub, "x")
        .attach("big", "x".repeat(100_000))
        .await
        .expect_err("too large");
    for part in ["`big`", "greet.Greeter/Greet"] {
        assert!(status.message().contains(part), "{part} in {status}");
    }

    // In a stream the messages before it have gone out: the call is reset.
    let requests = stream::iter(["a".to_owned(), "x".repeat(200)]);
    let call = async { join(&stub, requests).await };
    let watched = async {
        let mut request = connection.request().await;
        assert_eq!(request.end().await, Err(8), "CANCEL");
    };
    let (reply, ()) = tokio::join!(soon("an error", call), watched);
    let status = reply.expect_err("too large");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert!(status.message().contains("greet.Greeter/Join"), "{status}");
}

#[tokio::test]
async fn a_large_message_goes_out_as_the_peer_makes_room() {
    let server = Server::bind().await.stream_window(1_000);
    let protocol = TripleProtocol::default();
    let stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    let large = "x".repeat(1_000_000);
    let call = async { greet(&stub, &large).await };
    let answered = async {
        let mut request = connection.request().await;
        assert_eq!(request.message().await.as_deref(), Some(&*message(&large)));
        request.reply(&message("ok"));
    };
    tokio::join!(soon("an answer", call), answered)
        .0
        .expect("it worked");
}

#[tokio::test]
async fn a_url_that_cannot_be_called_is_refused_with_the_reason() {
    let protocol = TripleProtocol::default();
    let good = url(([127, 0, 0, 1], 1).into(), "");
    for (bad, reason) in [
        (good.with_param("connections", "many"), "connections"),
        (
            good.with_param("keep-alive-timeout", "-1s"),
            "keep-alive-timeout",
        ),
        (good.with_host("no host"), "no host"),
        (good.with_path("a b"), "a b"),
    ] {
        match protocol.refer(&bad, std::sync::Arc::clone(&GREETER)).await {
            Err(error @ ProtocolError::Url { .. }) => {
                assert!(error.to_string().contains(reason), "{error}");
            }
            other => panic!("{bad}: {:?}", other.map(|invoker| invoker.url().clone())),
        }
    }
}

#[tokio::test]
async fn a_body_of_the_wrong_form_is_refused() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let wrong = stub
        .unary::<Proto<String>, Proto<String>>(3, Request::new("x".to_owned()))
        .await;
    let status = wrong.expect_err("it takes a stream");
    assert_eq!(status.code(), Code::Internal);
    assert!(status.message().contains("greet.Greeter/Talk"), "{status}");
}
