//! Calls that fail, and those that are given up.

use std::time::Duration;

use dubbo_core::{
    protocol::ProtocolError,
    status::{Code, Origin, Retry},
};
use dubbo_protocol::TripleProtocol;
use dubbo_test::soon;

use super::rig::{Rig, STREAMING_WAYS, WAYS, all, greet, many};
use crate::support::{self, GREETER};

#[tokio::test]
async fn a_status_arrives_whole() {
    let rig = Rig::plain().await;
    for way in WAYS {
        let stub = rig.stub(way).await;
        let status = soon("an answer", greet(&stub, "fail")).await;
        let status = status.expect_err("it fails");
        assert_eq!(status.code(), Code::NotFound, "{way}");
        assert_eq!(status.message(), "50% <no> é", "{way}");
        assert_eq!(status.origin(), Origin::Remote, "{way}");
        let detail = &status.details()[0];
        assert_eq!(detail.type_url, "type.googleapis.com/x.Why", "{way}");
        assert_eq!(&*detail.value, [8, 1], "{way}");
        for (name, value) in [("reason", "7"), ("x-head", "nobody"), ("x-tail", "t")] {
            assert_eq!(status.attachments().get(name), Some(value), "{way}");
        }
    }
}

#[tokio::test]
async fn business_errors_and_waits_arrive_as_what_they_are() {
    let rig = Rig::plain().await;
    for way in WAYS {
        let stub = rig.stub(way).await;
        let status = greet(&stub, "business").await.expect_err("it fails");
        assert_eq!(status.code(), Code::Business, "{way}");
        assert_eq!(status.origin(), Origin::Business, "{way}");
        assert_eq!(status.message(), "no such user", "{way}");
        let status = greet(&stub, "busy").await.expect_err("it fails");
        assert_eq!(status.code(), Code::ResourceExhausted, "{way}");
        assert_eq!(status.pushback(), Some(Duration::from_secs(2)), "{way}");
    }
}

#[tokio::test]
async fn an_error_after_messages_ends_a_stream_of_grpc_web() {
    let rig = Rig::plain().await;
    for way in STREAMING_WAYS {
        let stub = rig.stub(way).await;
        let reply = soon("an answer", many(&stub, "fail")).await;
        let mut replies = reply.expect("it begins").into_message();
        for n in 0..3 {
            let message = replies.message().await.expect("a message");
            assert_eq!(message, Some(format!("m{n}")), "{way}");
        }
        let status = replies.message().await.expect_err("it fails");
        assert_eq!(status.code(), Code::NotFound, "{way}");
        assert_eq!(status.attachments().get("reason"), Some("7"), "{way}");
    }
}

#[tokio::test]
async fn a_deadline_ends_the_call_on_both_sides() {
    let mut rig = Rig::plain().await;
    for way in WAYS {
        let stub = rig.stub(way).await;
        let call = greet(&stub, "hang").timeout(Duration::from_millis(100));
        let status = soon("the deadline", call).await.expect_err("it hangs");
        assert_eq!(status.code(), Code::DeadlineExceeded, "{way}");
        assert_eq!(status.retry(), Retry::Ambiguous, "{way}");
        soon("the end of the handler", rig.cancelled.recv()).await;
        // What comes after it has a connection.
        let reply = soon("an answer", greet(&stub, "you")).await;
        assert_eq!(reply.expect("it works").message(), "hello you", "{way}");
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_at_the_provider() {
    let mut rig = Rig::plain().await;
    for way in WAYS {
        let stub = rig.stub(way).await;
        let mut call = Box::pin(greet(&stub, "hang").into_future());
        let began = tokio::time::timeout(Duration::from_millis(100), &mut call);
        assert!(began.await.is_err(), "{way}: it hangs");
        drop(call);
        soon("the end of the handler", rig.cancelled.recv()).await;
    }
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused() {
    let rig = Rig::plain().await;
    for way in WAYS {
        let stub = rig.stub(&format!("{way}&max-call-recv-msg-size=20")).await;
        let text = "a long name that makes a long answer";
        let status = soon("an answer", greet(&stub, text)).await;
        let status = status.expect_err("it is too long");
        assert_eq!(status.code(), Code::ResourceExhausted, "{way}: {status}");
        assert!(status.message().contains("limit of 20 bytes"), "{status}");
        let stub = rig.stub(&format!("{way}&max-call-send-msg-size=20")).await;
        let status = greet(&stub, text).await.expect_err("it is too long");
        assert_eq!(status.code(), Code::ResourceExhausted, "{way}: {status}");
        assert!(status.is_not_processed(), "{way}");
    }
}

#[tokio::test]
async fn a_stream_over_connect_is_refused_before_anything_is_sent() {
    let rig = Rig::plain().await;
    for way in &WAYS[2..] {
        let stub = rig.stub(way).await;
        let status = many(&stub, "x").await.expect_err("refused");
        assert_eq!(status.code(), Code::Unimplemented, "{way}");
        assert_eq!(status.retry(), Retry::Never, "{way}");
        for part in ["nothing was sent", "`grpc-web`", "greet.Greeter/Many"] {
            assert!(status.message().contains(part), "{part} in {status}");
        }
    }
}

#[tokio::test]
async fn what_cannot_be_spoken_is_refused_when_it_is_referred_to() {
    let protocol = TripleProtocol::default();
    let address = ([127, 0, 0, 1], 1).into();
    for (query, part) in [
        (
            "triple.dialect=soap",
            "use one of grpc, grpc-web and connect",
        ),
        ("triple.http-version=3", "expected `2` or `1.1`"),
        (
            "triple.http-version=1.1",
            "set `triple.dialect` to `grpc-web`",
        ),
        (
            "triple.http-version=1.1&triple.dialect=grpc",
            "over which nobody speaks gRPC",
        ),
    ] {
        let url = support::url(address, query);
        let referred =
            dubbo_core::protocol::Protocol::refer(&protocol, &url, std::sync::Arc::clone(&GREETER));
        let error = match referred.await {
            Err(error @ ProtocolError::Url { .. }) => error.to_string(),
            Err(other) => panic!("{query}: {other}"),
            Ok(_) => panic!("{query} was accepted"),
        };
        assert!(error.contains(part), "{part} in {error}");
    }
}

#[tokio::test]
async fn an_answer_with_nothing_but_an_error_is_read_by_every_kind_of_call() {
    let rig = Rig::plain().await;
    for way in STREAMING_WAYS {
        // A method that the provider does not have.
        let stub = rig.stub(&format!("{way}&version=9.9.9")).await;
        let status = match many(&stub, "x").await {
            Ok(reply) => all(&mut reply.into_message()).await.map(|_| ()),
            Err(status) => Err(status),
        };
        let status = status.expect_err("no such version");
        assert_eq!(status.code(), Code::Unimplemented, "{way}: {status}");
    }
}
