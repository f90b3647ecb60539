//! How what is mounted ends: with its caller, and with the server.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use dubbo_core::{
    http::{HttpBody, HttpHandler},
    protocol::Protocol as _,
};
use futures_util::future::pending;
use http::{Request, Response};
use tokio::{
    sync::{Notify, mpsc},
    time::Instant,
};

use crate::{
    greeter::{Provider, due, greeter},
    handlers::{Answers, mount},
    support::{Caller, Http1},
};

/// Tells when it is dropped.
struct Tells(mpsc::UnboundedSender<&'static str>);

impl Drop for Tells {
    fn drop(&mut self) {
        // The test may be over.
        let _ = self.0.send("dropped");
    }
}

/// A body without an end, and without anything in it.
struct Endless {
    _tells: Tells,
}

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        std::task::Poll::Pending
    }
}

/// Never answers, or never comes to the end of its answer; tells when it has begun and when it has ended.
fn never(events: mpsc::UnboundedSender<&'static str>) -> Arc<dyn HttpHandler> {
    Arc::new(Answers(move |request: Request<HttpBody>| {
        let events = events.clone();
        async move {
            let tells = Tells(events.clone());
            events.send("begun").expect("a test listens");
            if request.uri().path() == "/never/body" {
                return Response::new(HttpBody::new(Endless { _tells: tells }));
            }
            pending::<()>().await;
            drop(tells);
            Response::new(HttpBody::empty())
        }
    }))
}

#[tokio::test]
async fn who_hangs_up_ends_the_handler_and_its_body() {
    let provider = Provider::of(greeter()).await;
    let (send, mut events) = mpsc::unbounded_channel();
    let _mounted = mount(&provider, "never", never(send)).await;
    for path in ["/never", "/never/body"] {
        let mut caller = Http1::connect(provider.address).await;
        caller.send("GET", path, &[], b"").await;
        assert_eq!(due(events.recv()).await, Some("begun"));
        if path == "/never/body" {
            assert_eq!(caller.head().await.0, 200);
        }
        drop(caller);
        assert_eq!(
            due(events.recv()).await,
            Some("dropped"),
            "{path}, HTTP/1.1"
        );

        let Caller::Http2(send) = Caller::http2(provider.address).await else {
            unreachable!("it is HTTP/2");
        };
        let request = Request::get(format!("http://test{path}"));
        let request = request.body(()).expect("sound");
        let mut ready = send.ready().await.expect("open");
        let (response, mut stream) = ready.send_request(request, false).expect("room");
        assert_eq!(due(events.recv()).await, Some("begun"));
        stream.send_reset(h2::Reason::CANCEL);
        assert_eq!(due(events.recv()).await, Some("dropped"), "{path}, HTTP/2");
        drop(response);
    }
}

#[tokio::test]
async fn a_shutdown_lets_an_answer_under_way_finish() {
    for http2 in [false, true] {
        let provider = Provider::of(greeter()).await;
        let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (begins, waits) = (Arc::clone(&begun), Arc::clone(&go_on));
        let slow = Answers(move |_request: Request<HttpBody>| {
            let (begins, waits) = (Arc::clone(&begins), Arc::clone(&waits));
            async move {
                begins.notify_one();
                waits.notified().await;
                Response::new(HttpBody::from("done"))
            }
        });
        let _mounted = mount(&provider, "slow", Arc::new(slow)).await;
        let [http1, both] = Caller::both(provider.address).await;
        let mut caller = if http2 { both } else { http1 };
        let asking = tokio::spawn(async move { caller.call("GET", "/slow", &[], "").await });
        due(begun.notified()).await;
        let deadline = Instant::now() + Duration::from_secs(20);
        let protocol = provider.protocol;
        let draining = tokio::spawn(async move { protocol.drain(deadline).await });
        tokio::task::yield_now().await;
        assert!(!draining.is_finished());
        go_on.notify_one();
        let answer = due(asking).await.expect("no panic");
        assert_eq!((answer.status, answer.text()), (200, "done"));
        let drained = due(draining).await.expect("no panic");
        assert_eq!(drained.aborted, 0);
    }
}

#[tokio::test]
async fn a_shutdown_cuts_what_does_not_come_to_an_end() {
    let provider = Provider::of(greeter()).await;
    let (send, mut events) = mpsc::unbounded_channel();
    let _mounted = mount(&provider, "never", never(send)).await;
    let mut caller = Http1::connect(provider.address).await;
    caller.send("GET", "/never", &[], b"").await;
    assert_eq!(due(events.recv()).await, Some("begun"));
    let drained = due(provider.protocol.drain(Instant::now())).await;
    assert_eq!(drained.aborted, 1);
    assert_eq!(due(events.recv()).await, Some("dropped"));
    caller.is_closed().await;
}
