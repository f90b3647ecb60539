//! Calls that end before their time.

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    codegen::Proto,
    invocation::{Body, Invocation, PayloadStream},
    payload::Adapter as _,
    payload::Payload,
    service::MethodRef,
    status::{Code, Retry, Status},
    stream,
};

use super::{
    Subject,
    rig::{BIDI, CLIENT_STREAM, ECHO, Rig},
};
use crate::soon;

/// The caller gets code 4, which may not be repeated blindly; the handler, which knew the deadline, is dropped.
pub async fn a_deadline_ends_the_call_and_its_handler(subject: Subject) {
    let rig = Rig::new(subject).await;
    let knows = rig.unary("time").timeout(Duration::from_mins(1));
    let knows = soon("an answer", knows).await.expect("in time");
    assert_eq!(knows.message(), "true");

    let call = rig.unary("hang").timeout(Duration::from_millis(50));
    let status = soon("the deadline", call).await.expect_err("it is late");
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
    assert_eq!(status.retry(), Retry::Ambiguous);
    rig.started().await;
    rig.dropped().await;

    let call = rig
        .server_stream("a hang")
        .timeout(Duration::from_millis(50));
    let mut replies = soon("headers", call).await.expect("in time").into_message();
    let item = soon("an item", replies.message()).await.expect("in time");
    assert_eq!(item.as_deref(), Some("a"));
    let status = soon("the deadline", replies.message())
        .await
        .expect_err("it is late");
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
    rig.dropped().await;
}

/// Dropping is cancelling.
pub async fn dropping_a_call_cancels_its_handler(subject: Subject) {
    let rig = Rig::new(subject).await;
    tokio::select! {
        reply = async { rig.unary("hang").await } => panic!("it never ends: {reply:?}"),
        () = rig.started() => {}
    }
    rig.dropped().await;
    let reply = soon("an answer", rig.unary("after"))
        .await
        .expect("it works");
    assert_eq!(reply.message(), "after");
}

/// The same for a stream that is not read to its end.
pub async fn dropping_a_reply_stream_cancels_its_handler(subject: Subject) {
    let rig = Rig::new(subject).await;
    let call = rig.server_stream("a hang");
    let mut replies = soon("headers", call)
        .await
        .expect("it works")
        .into_message();
    soon("an item", replies.message()).await.expect("it works");
    tokio::select! {
        item = replies.message() => panic!("it never comes: {item:?}"),
        () = rig.started() => {}
    }
    drop(replies);
    rig.dropped().await;
}

/// Whoever feeds a call learns that it is over.
pub async fn dropping_a_reply_stream_ends_the_requests(subject: Subject) {
    let rig = Rig::new(subject).await;
    let (feed, requests) = stream::channel(1);
    feed.send("a".to_owned()).await.expect("it is read");
    let call = rig
        .stub
        .bidi_stream::<Proto<String>, Proto<String>>(BIDI, requests);
    let mut replies = soon("headers", call)
        .await
        .expect("it works")
        .into_message();
    soon("an item", replies.message()).await.expect("it works");
    drop(replies);
    soon("the feed to be closed", async {
        while feed.send("b".to_owned()).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// The caller gets its own error back, and nobody an answer to half a stream.
pub async fn a_failing_stream_of_requests_ends_the_call(subject: Subject) {
    let rig = Rig::new(subject).await;
    for method in [CLIENT_STREAM, BIDI] {
        let items = [
            Ok(Payload::typed(Proto::wrap("a".to_owned()))),
            Err(Status::aborted("the source failed")),
        ];
        let invocation = Invocation::new(
            Arc::new(rig.exporter.url().service_key()),
            MethodRef::new(Arc::clone(&ECHO), method),
            Body::Stream(PayloadStream::new(stream::iter(items))),
        );
        let invoker = rig.stub.invoker();
        let outcome = soon("an answer", invoker.invoke(invocation)).await;
        let status = match outcome {
            Err(status) => status,
            Ok(reply) => {
                let Body::Stream(mut replies) = reply.body else {
                    panic!("half a stream was answered");
                };
                soon("an error", async {
                    loop {
                        let next = std::future::poll_fn(|cx| {
                            futures_core::Stream::poll_next(std::pin::Pin::new(&mut replies), cx)
                        });
                        match next.await {
                            Some(Ok(_)) => {}
                            Some(Err(status)) => return status,
                            None => panic!("half a stream passed for a whole one"),
                        }
                    }
                })
                .await
            }
        };
        assert_eq!(status.code(), Code::Aborted, "{status:?}");
        assert!(status.message().contains("the source failed"), "{status}");
    }
}

/// From the start of a call to its end, that of its reply stream included.
pub async fn calls_in_flight_are_counted(subject: Subject) {
    let rig = Rig::new(subject).await;
    let invoker = rig.stub.invoker();
    assert_eq!(invoker.in_flight(), 0);
    let gated = async { rig.unary("gate").await };
    let watched = async {
        rig.started().await;
        assert_eq!(invoker.in_flight(), 1);
        assert!(invoker.is_available());
        rig.events.gate.notify_one();
    };
    let (reply, ()) = tokio::join!(gated, watched);
    reply.expect("it works");
    assert_eq!(invoker.in_flight(), 0);

    let call = rig.server_stream("a b");
    let replies = soon("headers", call).await.expect("it works");
    assert_eq!(invoker.in_flight(), 1);
    drop(replies);
    assert_eq!(invoker.in_flight(), 0);
}
