//! What travels beside messages, both ways (`docs/spec/triple.md` §4).

use std::sync::Arc;

use bytes::Bytes;
use dubbo_core::{attachments::Attachments, request::Response, status::Status};
use parking_lot::Mutex;

use crate::{
    greeter::{GreetResponse, Provider, hello, server_stream, unary},
    wire::{GREET_STREAM, Wire, request},
};

#[tokio::test]
async fn a_handler_sees_the_callers_attachments_and_nothing_of_the_protocol() {
    let seen = Arc::new(Mutex::new(Attachments::new()));
    let keep = Arc::clone(&seen);
    let provider = Provider::of(unary(move |request| {
        *keep.lock() = request.attachments().clone();
        async { Ok(hello("x").into()) }
    }))
    .await;
    let mut wire = Wire::connect(provider.address).await;
    // Java's case, dubbo-go's repeats and empty values, text beyond ASCII, bytes.
    let headers = [
        ("userid", "7"),
        ("tri-header-convert", "%7B%22userid%22%3A%22userId%22%7D"),
        ("k", "a"),
        ("k", "b"),
        ("retries", ""),
        ("city", "Z\u{fc}rich \u{4e2d}"),
        ("blob-bin", "AAH+/w"),
        ("grpc-timeout", "10S"),
        ("grpc-accept-encoding", "gzip"),
    ];
    assert_eq!(wire.greet("x", &headers).await.code(), 0);
    let seen = seen.lock().clone();
    assert_eq!(seen.get("userId"), Some("7"));
    assert!(seen.iter().any(|(name, _)| name == "userId"));
    assert_eq!(seen.all("k").collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(seen.get("retries"), Some(""));
    assert_eq!(seen.get("city"), Some("Z\u{fc}rich \u{4e2d}"));
    assert_eq!(
        seen.get_bin("blob"),
        Some(Bytes::from_static(&[0, 1, 0xfe, 0xff]))
    );
    for (name, _) in seen.iter() {
        assert!(
            !name.starts_with("grpc-") && name != "te" && name != "content-type",
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_unary_answer_has_its_attachments_in_headers_and_trailers() {
    let provider = Provider::of(unary(|request| {
        let reply = request.context().reply();
        reply.header("x-context", "h").expect("before the message");
        reply.trailer("x-context", "t");
        async {
            Ok(Response::new(hello("x"))
                .header("x-own", "h")
                .trailer("Reply-One", "1")
                .trailer("reply-two", "2a")
                .trailer("reply-two", "2b")
                .trailer("reply", Bytes::from_static(&[0, 1, 0xfe, 0xff]))
                .trailer("reply-city", "Z\u{fc}rich \u{4e2d}"))
        }
    }))
    .await;
    let answer = Wire::connect(provider.address).await.greet("x", &[]).await;
    assert_eq!(answer.header("x-own"), Some("h"));
    assert_eq!(answer.header("x-context"), Some("h"));
    assert_eq!(answer.trailer("x-context"), Some("t"));
    assert_eq!(answer.trailer("reply-one"), Some("1"));
    assert_eq!(answer.trailer("reply-bin"), Some("AAH+/w"));
    assert_eq!(answer.trailer("reply-city"), Some("Z\u{fc}rich \u{4e2d}"));
    let two: Vec<_> = answer.end().get_all("reply-two").iter().collect();
    assert_eq!(two, ["2a", "2b"]);
    assert_eq!(answer.code(), 0);
}

#[tokio::test]
async fn a_streams_trailers_may_be_set_at_its_end() {
    let provider = Provider::of(server_stream(|request| {
        let reply = request.context().reply().clone();
        let items = (0..2).map(move |n| {
            if n == 0 {
                reply
                    .header("x-first", "in time")
                    .expect("with the first message");
            } else {
                reply
                    .header("x-late", "no")
                    .expect_err("the first message is out");
                reply.trailer("x-end", "late");
            }
            Ok(hello("x"))
        });
        Response::stream(futures_util::stream::iter(items)).trailer("x-begin", "early")
    }))
    .await;
    let mut wire = Wire::connect(provider.address).await;
    let answer = wire.call(GREET_STREAM, &[], request("x")).await;
    assert_eq!(answer.header("x-first"), Some("in time"));
    assert_eq!(answer.trailer("x-begin"), Some("early"));
    assert_eq!(answer.trailer("x-end"), Some("late"));
    assert_eq!(answer.greetings().len(), 2);
}

#[tokio::test]
async fn an_error_takes_its_attachments_along() {
    let provider = Provider::of(unary(|request| {
        request.context().reply().trailer("x-context", "t");
        async {
            let mut status = Status::not_found("no");
            status.attachments_mut().insert("x-status", "s");
            Err(status)
        }
    }))
    .await;
    let answer = Wire::connect(provider.address).await.greet("x", &[]).await;
    assert_eq!(answer.refused(), (5, "no".to_owned()));
    assert_eq!(answer.trailer("x-context"), Some("t"));
    assert_eq!(answer.trailer("x-status"), Some("s"));
}

#[tokio::test]
async fn an_answer_that_http_cannot_carry_is_an_error_that_names_the_attachment() {
    let provider = Provider::of(unary(|_request| async {
        Ok(Response::new(hello("x")).trailer("bad", "line\nbreak"))
    }))
    .await;
    let answer = Wire::connect(provider.address).await.greet("x", &[]).await;
    let (code, message) = answer.refused();
    assert_eq!(code, 13);
    assert!(message.contains("`bad`"), "{message}");
}

/// A Java caller fails without a word when a name of the protocol comes twice among the trailers
/// (`docs/spec/triple.md` §13.1).
#[tokio::test]
async fn a_handler_cannot_repeat_names_of_the_protocol() {
    let fails = |attachments: Attachments| Err(Status::internal("x").with_attachments(attachments));
    let provider = Provider::of(unary(move |request| {
        let reply = request.context().reply();
        for name in [
            "grpc-status",
            "Grpc-Message",
            "grpc-accept-encoding",
            "content-type",
            "te",
        ] {
            reply.trailer(name, "echoed");
            reply.header(name, "echoed").expect("in time");
        }
        // What a proxy does: it hands on all that came in.
        std::future::ready(match request.message().name.as_str() {
            "fail" => fails(request.attachments().clone()),
            _ => Ok(Response::with_parts(
                GreetResponse::default(),
                request.attachments().clone(),
                request.attachments().clone(),
            )),
        })
    }))
    .await;
    let mut wire = Wire::connect(provider.address).await;
    for name in ["ok", "fail"] {
        let headers = [
            ("grpc-timeout", "10S"),
            ("grpc-accept-encoding", "gzip"),
            ("mine", "1"),
        ];
        let answer = wire.greet(name, &headers).await;
        for block in [&answer.headers, answer.end()] {
            for name in block.keys() {
                let reserved = dubbo_core::attachments::is_reserved(name.as_str());
                assert!(
                    !reserved || block.get_all(name).iter().count() == 1,
                    "{block:?}"
                );
            }
            assert!(!block.values().any(|value| value == "echoed"), "{block:?}");
        }
        assert_eq!(answer.trailer("mine"), Some("1"));
    }
}
