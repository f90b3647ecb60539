//! Streams: who waits for whom, and who learns of the end.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use dubbo_core::{
    codegen::Proto,
    invocation::{Body, Invocation, PayloadStream},
    payload::{Adapter as _, Payload},
    service::MethodRef,
    status::{Code, Origin, Retry, Status},
    stream,
};
use dubbo_protocol::TripleProtocol;
use dubbo_test::{
    peer::h2::{Request, Server, ServerConnection, code, kind},
    soon,
};
use tokio::time::Instant;

use crate::support::{GREETER, greet, join, many, message, stub, talk};

/// The request of `call`, which is dropped once it has come.
async fn dropped(
    connection: &mut ServerConnection,
    call: Pin<Box<dyn Future<Output = ()> + '_>>,
) -> Request {
    tokio::select! {
        () = call => panic!("nobody answered"),
        request = connection.request() => request,
    }
}

async fn expect_cancel(mut request: Request) {
    let start = Instant::now();
    assert_eq!(request.reset_by_client().await, code::CANCEL);
    let took = start.elapsed();
    assert!(took < Duration::from_millis(50), "{took:?}");
}

#[tokio::test]
async fn a_dropped_call_resets_its_stream_at_once() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    // Open for as long as the test goes on.
    let (_one, first) = stream::channel::<String>(1);
    let (_two, second) = stream::channel::<String>(1);
    let calls: [Pin<Box<dyn Future<Output = ()>>>; 4] = [
        Box::pin(async { drop(greet(&stub, "x").await) }),
        Box::pin(async { drop(many(&stub, "x").await) }),
        Box::pin(async { drop(join(&stub, first).await) }),
        Box::pin(async { drop(talk(&stub, second).await) }),
    ];
    for call in calls {
        expect_cancel(dropped(&mut connection, call).await).await;
    }
    assert_eq!(stub.invoker().in_flight(), 0);
}

#[tokio::test]
async fn a_dropped_reply_stream_resets_its_stream_at_once() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    let (feed, requests) = stream::channel(1);
    let begin = async |connection: &mut ServerConnection| {
        let mut request = connection.request().await;
        request.accept();
        request.send_message(&message("a"));
        request
    };
    let call = async { many(&stub, "x").await.expect("it has begun").into_message() };
    let (mut replies, request) = tokio::join!(soon("headers", call), begin(&mut connection));
    assert_eq!(
        replies.message().await.expect("an item").as_deref(),
        Some("a")
    );
    drop(replies);
    expect_cancel(request).await;

    let call = async {
        talk(&stub, requests)
            .await
            .expect("it has begun")
            .into_message()
    };
    let (replies, request) = tokio::join!(soon("headers", call), begin(&mut connection));
    drop(replies);
    expect_cancel(request).await;
    soon("the end of the requests", async {
        while feed.send("x".to_owned()).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn messages_are_asked_for_only_as_the_peer_makes_room() {
    const WINDOW: u32 = 10_000;
    let server = Server::bind().await.stream_window(WINDOW);
    let protocol = TripleProtocol::default();
    let stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let requests = stream::iter(std::iter::repeat_with(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        "x".repeat(990)
    }));
    let call = async { drop(join(&stub, requests).await) };
    let watched = async {
        let request = connection.request().await;
        let mut received = 0;
        while received < WINDOW as usize {
            let data = connection
                .frame("data", |frame| frame.kind == kind::DATA)
                .await;
            received += data.payload.len();
        }
        // The call has been polled since the last of them went out.
        tokio::task::yield_now().await;
        request
    };
    tokio::select! {
        () = call => panic!("nobody answered"),
        _request = soon("a full window", watched) => {}
    }
    let asked = asked.load(Ordering::Relaxed);
    assert!(
        (10..=12).contains(&asked),
        "{asked} messages for ten in a window"
    );
}

#[tokio::test]
async fn a_stream_that_nobody_reads_does_not_stop_other_calls() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    let item = "x".repeat(100_000);
    let begun = async {
        let mut request = connection.request().await;
        request.accept();
        // More than a stream's window, and than what h2 starts with for a connection.
        for _ in 0..60 {
            request.send_message(&message(&item));
        }
        request.finish("0");
        request
    };
    let call = async { many(&stub, "x").await.expect("it has begun").into_message() };
    let (mut replies, _request) = tokio::join!(soon("headers", call), begun);

    let call = async { greet(&stub, "x").await };
    let answered = async { connection.request().await.reply(&message("a")) };
    let (reply, ()) = tokio::join!(soon("an answer", call), answered);
    assert_eq!(reply.expect("it worked").message(), "a");

    let mut count = 0;
    while let Some(got) = soon("an item", replies.message())
        .await
        .expect("it goes on")
    {
        assert_eq!(got, item);
        count += 1;
    }
    assert_eq!(count, 60);
}

#[tokio::test]
async fn requests_go_out_although_nobody_reads_the_replies() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    let (feed, requests) = stream::channel(1);
    let begun = async {
        let mut request = connection.request().await;
        request.accept();
        request
    };
    let call = async {
        talk(&stub, requests)
            .await
            .expect("it has begun")
            .into_message()
    };
    let (mut replies, mut request) = tokio::join!(soon("headers", call), begun);
    for number in 0..20 {
        feed.send(number.to_string()).await.expect("it is read");
        let want = message(&number.to_string());
        assert_eq!(request.message().await.as_deref(), Some(&*want));
    }
    drop(feed);
    assert_eq!(request.message().await, None);
    request.finish("0");
    assert_eq!(
        soon("the end", replies.message()).await.expect("it worked"),
        None
    );
}

#[tokio::test]
async fn both_halves_learn_that_the_peer_is_gone() {
    for reset in [true, false] {
        let (server, protocol) = (Server::bind().await, TripleProtocol::default());
        let stub = stub(&protocol, server.address(), "").await;
        let mut connection = server.accept().await;
        let (feed, requests) = stream::channel(1);
        let begun = async {
            let mut request = connection.request().await;
            request.accept();
            request
        };
        let call = async {
            talk(&stub, requests)
                .await
                .expect("it has begun")
                .into_message()
        };
        let (mut replies, mut request) = tokio::join!(soon("headers", call), begun);
        let want = if reset {
            request.send_reset(code::INTERNAL_ERROR);
            Code::Internal
        } else {
            drop(connection);
            Code::Unavailable
        };
        let status = soon("an error", replies.message())
            .await
            .expect_err("it is over");
        assert_eq!(
            (status.code(), status.origin()),
            (want, Origin::Transport),
            "{status}"
        );
        let address = server.address().to_string();
        for part in ["greet.Greeter/Talk", &address] {
            assert!(status.message().contains(part), "{part} in {status}");
        }
        soon("the end of the requests", async {
            while feed.send("x".to_owned()).await.is_ok() {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_provider_that_starts_again_ends_its_streams_at_once_and_takes_the_next() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let address = server.address();
    let stub = stub(&protocol, address, "").await;
    let mut server = Some(server);
    for start in 1..=3 {
        let running = server.take().expect("it runs");
        let (feed, requests) = stream::channel(1);
        let begun = async {
            let mut connection = running.accept().await;
            connection.request().await.reply(&message("yes"));
            let mut request = connection.request().await;
            request.accept();
            request.send_message(&message(&start.to_string()));
            (connection, request)
        };
        let call = async {
            // It may have been found away, and is looked for again in a moment.
            while let Err(status) = greet(&stub, "is it there?").await {
                assert_eq!(status.retry(), Retry::Safe, "{status}");
                tokio::task::yield_now().await;
            }
            talk(&stub, requests)
                .await
                .expect("it has begun")
                .into_message()
        };
        let (mut replies, (connection, _request)) = tokio::join!(soon("headers", call), begun);
        let first = replies.message().await.expect("an item");
        assert_eq!(first, Some(start.to_string()));

        drop((running, connection));
        let ended = Instant::now();
        let status = soon("an error", replies.message())
            .await
            .expect_err("it is over");
        assert_eq!(status.code(), Code::Unavailable, "{status}");
        soon("the end of the requests", async {
            while feed.send("x".to_owned()).await.is_ok() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let took = ended.elapsed();
        assert!(took < Duration::from_millis(500), "{took:?} to notice");
        server = Some(Server::bind_to(address).await);
    }
}

#[tokio::test]
async fn an_early_answer_ends_the_requests() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    for succeeds in [true, false] {
        let (feed, requests) = stream::channel(1);
        let call = async { join(&stub, requests).await };
        let answered = async {
            let mut request = connection.request().await;
            if succeeds {
                request.reply(&message("enough"));
            } else {
                let headers = [("content-type", "application/grpc"), ("grpc-status", "9")];
                request.send_only_headers(200, &headers);
            }
            request
        };
        let (reply, _request) = tokio::join!(soon("an answer", call), answered);
        match reply {
            Ok(reply) => assert!(succeeds && reply.message() == "enough"),
            Err(status) => assert!(!succeeds && status.code() == Code::FailedPrecondition),
        }
        feed.send("x".to_owned())
            .await
            .expect_err("nobody reads it");
    }
}

#[tokio::test]
async fn an_error_among_the_requests_resets_the_call_and_is_its_outcome() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    let items = || {
        stream::iter([
            Ok(Payload::typed(Proto::wrap("a".to_owned()))),
            Err(Status::aborted("the source failed")),
        ])
    };
    let invocation = |method| {
        Invocation::new(
            Arc::new("greet.Greeter".parse().expect("a key")),
            MethodRef::new(Arc::clone(&GREETER), method),
            Body::Stream(PayloadStream::new(items())),
        )
    };
    for method in [2, 3] {
        let call = stub.invoker().invoke(invocation(method));
        let watched = async {
            let mut request = connection.request().await;
            assert_eq!(request.end().await, Err(code::CANCEL));
        };
        let (reply, ()) = tokio::join!(soon("an error", call), watched);
        let status = reply.expect_err("the source failed");
        // The caller's own words, as they were.
        assert_eq!(
            (status.code(), status.message()),
            (Code::Aborted, "the source failed")
        );
    }
}

/// Panics once it has been told to.
struct PanicsLater(stream::Fed<()>);

impl futures_core::Stream for PanicsLater {
    type Item = String;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<String>> {
        ready!(Pin::new(&mut self.0).poll_next(cx));
        panic!("on purpose");
    }
}

#[tokio::test]
async fn a_panic_in_the_requests_ends_the_call() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    let (told, orders) = stream::channel(1);
    let call = async {
        talk(&stub, PanicsLater(orders))
            .await
            .expect("it has begun")
            .into_message()
    };
    let begun = async {
        let mut request = connection.request().await;
        request.accept();
        request
    };
    let (mut replies, mut request) = tokio::join!(soon("headers", call), begun);
    told.send(()).await.expect("it waits");
    let status = soon("an error", replies.message())
        .await
        .expect_err("it panicked");
    assert_eq!(status.code(), Code::Internal);
    assert!(status.message().contains("on purpose"), "{status}");
    assert_eq!(request.reset_by_client().await, code::CANCEL);
}
