//! What our server takes, and what our client sends.

use std::sync::Arc;

use dubbo_core::{
    protocol::Protocol as _,
    service::{CallKind, MethodDescriptor, ServiceDescriptor},
    status::Code,
};
use dubbo_protocol::TripleProtocol;
use dubbo_test::{
    peer::h2::{Server, kind},
    soon,
};
use futures_util::stream;

use crate::support::{
    ALL, ECHO, JOIN, Provider, echo, envelope, join, long, messages, packed, request, stub, text,
    unpacked,
};

#[tokio::test]
async fn a_server_reads_every_compression_and_each_message_by_its_own_flag() {
    let provider = Provider::with("").await;
    for encoding in ALL {
        let headers = [("grpc-encoding", encoding)];
        let answer = provider
            .call(ECHO, &headers, request(Some(encoding), &long()))
            .await;
        assert_eq!(answer.texts(), [(false, long())], "{encoding}");
        let body = [
            request(Some(encoding), "a"),
            request(None, "b"),
            envelope(1, b""),
            request(Some(encoding), "c"),
        ];
        let answer = provider.call(JOIN, &headers, body.concat()).await;
        assert_eq!(answer.texts(), [(false, "abc".to_owned())], "{encoding}");
    }
}

#[tokio::test]
async fn an_unknown_compression_is_refused_with_what_there_is_instead() {
    let provider = Provider::with("").await;
    for encoding in ["br", "snappy", "gzip,zstd"] {
        let headers = [("grpc-encoding", encoding)];
        let answer = provider.call(ECHO, &headers, request(None, "x")).await;
        let (code, message) = answer.outcome();
        assert_eq!((answer.status, code), (200, 12), "{message}");
        for part in [encoding, "gzip, deflate and zstd"] {
            assert!(message.contains(part), "{part} in {message}");
        }
        let offer = answer.header("grpc-accept-encoding");
        assert_eq!(offer, Some("gzip,deflate,zstd"));
    }
}

#[tokio::test]
async fn what_is_no_such_compression_is_the_callers_mistake() {
    let provider = Provider::with("").await;
    for encoding in ALL {
        let whole = packed(encoding, b"\x0a\x01x");
        for bytes in [
            b"junk".to_vec(),
            whole[..whole.len() - 1].to_vec(),
            [&whole[..], b"more"].concat(),
        ] {
            let headers = [("grpc-encoding", encoding)];
            let answer = provider.call(ECHO, &headers, envelope(1, &bytes)).await;
            let (code, message) = answer.outcome();
            assert_eq!(code, 3, "{encoding}: {message}");
            assert!(
                message.contains(&format!("is no {encoding}: ")),
                "{message}"
            );
        }
    }
}

#[tokio::test]
async fn a_reference_compresses_what_is_long_enough_in_what_it_was_told() {
    for encoding in ALL {
        let (server, protocol) = (Server::bind().await, TripleProtocol::default());
        let query = format!("compression.send={encoding}&compression.min-size=1KiB");
        let stub = stub(&protocol, server.address(), &query)
            .await
            .expect("known");
        let mut connection = server.accept().await;
        for (given, is_packed) in [
            (long(), true),
            ("short".to_owned(), false),
            (String::new(), false),
        ] {
            let call = async { echo(&stub, &given).await.expect("it worked").into_message() };
            let peer = async {
                let mut request = connection.request().await;
                assert_eq!(request.header("grpc-encoding"), Some(encoding));
                let offer = request.header("grpc-accept-encoding");
                assert_eq!(offer, Some("gzip,deflate,zstd"));
                let frame = |frame: &dubbo_test::peer::h2::Frame| frame.kind == kind::DATA;
                let data = connection.frame("the request", frame).await.payload;
                request.end().await.expect("a whole request");
                let [(flag, message)] = messages(&data)[..] else {
                    panic!("one message");
                };
                assert_eq!(flag, is_packed, "{encoding}");
                let plain = if flag {
                    unpacked(encoding, message)
                } else {
                    message.to_vec()
                };
                request.reply(&plain);
            };
            let (told, ()) = soon("an answer", async { tokio::join!(call, peer) }).await;
            assert_eq!(told.text, given);
        }
    }
}

#[tokio::test]
async fn a_reference_that_was_told_nothing_sends_plainly() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "")
        .await
        .expect("no parameter");
    let mut connection = server.accept().await;
    let given = long();
    let call = async { echo(&stub, &given).await.expect("it worked") };
    let peer = async {
        let mut request = connection.request().await;
        assert_eq!(request.header("grpc-encoding"), None);
        let message = request.message().await.expect("one");
        assert_eq!(
            message,
            dubbo_core::codegen::prost::Message::encode_to_vec(&text(&long()))
        );
        request.reply(&message);
    };
    soon("an answer", async { tokio::join!(call, peer) }).await;
}

#[tokio::test]
async fn each_message_of_a_stream_is_compressed_for_itself() {
    let provider = Provider::with("").await;
    let protocol = TripleProtocol::default();
    let query = "compression.send=gzip&compression.min-size=100";
    let stub = stub(&protocol, provider.address, query)
        .await
        .expect("known");
    let given = [
        "a".repeat(99),
        "b".repeat(5_000),
        String::new(),
        "c".repeat(100),
    ];
    let requests = stream::iter(given.clone().map(|given| text(&given)));
    let joined = join(&stub, requests).await.expect("it worked");
    assert_eq!(joined.message().text, given.concat());
}

#[tokio::test]
async fn what_a_provider_does_not_take_is_told_in_its_words() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "compression.send=zstd").await;
    let stub = stub.expect("known");
    let mut connection = server.accept().await;
    let call = async { echo(&stub, &long()).await.expect_err("not taken") };
    let peer = async {
        let mut request = connection.request().await;
        let headers = [
            ("content-type", "application/grpc+proto"),
            ("grpc-accept-encoding", "gzip"),
            ("grpc-status", "12"),
            (
                "grpc-message",
                "unknown compression \"zstd\": supported encodings are gzip",
            ),
        ];
        request.send_only_headers(200, &headers);
        request
    };
    let (status, _request) = soon("an answer", async { tokio::join!(call, peer) }).await;
    assert_eq!(status.code(), Code::Unimplemented);
    assert!(
        status.message().contains("supported encodings are gzip"),
        "{status}"
    );
}

#[tokio::test]
async fn references_that_cannot_compress_are_refused_with_the_reason() {
    let protocol = TripleProtocol::default();
    let address = ([127, 0, 0, 1], 1).into();
    for (query, part) in [
        (
            "compression.send=br",
            "the compression \"br\" is not known here",
        ),
        (
            "compression.send=gzip,zstd",
            "a reference sends one compression",
        ),
        (
            "compression.send=gzip&compression.min-size=x",
            "compression.min-size",
        ),
    ] {
        let error = stub(&protocol, address, query).await.expect_err(query);
        assert!(error.contains(part), "{error}");
    }

    let method = MethodDescriptor::java("get", CallKind::Unary, ["int"], "x.User");
    let java = Arc::new(ServiceDescriptor::new("x.Users", vec![method]));
    let url = format!("tri://{address}/x.Users?compression.send=gzip");
    let refused = protocol.refer(&url.parse().expect("a URL"), java).await;
    let error = refused.map(drop).expect_err("refused").to_string();
    assert!(error.contains("`x.Users` is a Java interface"), "{error}");
}
