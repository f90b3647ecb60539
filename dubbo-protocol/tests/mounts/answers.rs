//! How requests arrive and answers go out.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use dubbo_core::{
    http::{HttpBody, HttpHandler},
    invocation::Peer,
};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Body, Frame};
use tokio::sync::mpsc;

use crate::{
    greeter::{Provider, due, greeter},
    handlers::{Answers, mount, named},
    support::{Caller, Http1},
};

/// Answers with whatever it is sent, as it comes.
fn echo() -> Arc<dyn HttpHandler> {
    Arc::new(Answers(|request: Request<HttpBody>| async {
        Response::new(request.into_body())
    }))
}

/// What a test puts into it.
struct Pipe(mpsc::UnboundedReceiver<Result<Bytes, &'static str>>);

impl Body for Pipe {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        self.0
            .poll_recv(cx)
            .map(|item| item.map(|item| item.map(Frame::data)))
    }
}

#[tokio::test]
async fn a_request_arrives_with_its_method_its_headers_its_body_and_its_peer() {
    let provider = Provider::of(greeter()).await;
    let tells = Answers(|request: Request<HttpBody>| async move {
        let (head, mut body) = request.into_parts();
        let mut text = Vec::new();
        while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            let data = frame.expect("whole").into_data();
            text.extend_from_slice(&data.expect("no trailers"));
        }
        let peer = head.extensions.get::<Peer>().expect("a peer");
        assert!(peer.remote.ip().is_loopback() && peer.remote != peer.local);
        let told = format!(
            "{} {} {}",
            head.method,
            head.uri.path(),
            text.escape_ascii()
        );
        let mut response = Response::new(HttpBody::from(told));
        *response.status_mut() = StatusCode::ACCEPTED;
        response
            .headers_mut()
            .insert("x-own", head.headers["x-own"].clone());
        response
    });
    let _mounted = mount(&provider, "tells", Arc::new(tells)).await;
    for mut caller in Caller::both(provider.address).await {
        let answer = caller
            .call("PATCH", "/tells/a%20b", &[("x-own", "1")], "body")
            .await;
        assert_eq!(answer.status, 202);
        assert_eq!(answer.text(), "PATCH /tells/a%20b body");
        assert_eq!(answer.header("x-own"), Some("1"));
        assert_eq!(answer.header("content-length"), Some("23"));
    }
}

#[tokio::test]
async fn bodies_stream_both_ways_at_once() {
    let provider = Provider::of(greeter()).await;
    let _mounted = mount(&provider, "echo", echo()).await;
    let Caller::Http2(send) = Caller::http2(provider.address).await else {
        unreachable!("it is HTTP/2");
    };
    let request = Request::post("http://test/echo").body(()).expect("sound");
    let mut ready = send.ready().await.expect("open");
    let (response, mut stream) = ready.send_request(request, false).expect("room");
    let mut body = due(response).await.expect("answered").into_body();
    for chunk in ["one", "two"] {
        stream.send_data(chunk.into(), false).expect("open");
        let data = due(body.data()).await.expect("open").expect("whole");
        assert_eq!(data, chunk);
        body.flow_control()
            .release_capacity(data.len())
            .expect("used");
    }
    stream.send_data(Bytes::new(), true).expect("open");
    while let Some(data) = due(body.data()).await {
        assert_eq!(data.expect("whole"), "");
    }

    let mut caller = Http1::connect(provider.address).await;
    caller
        .raw("POST /echo HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\r\n")
        .await;
    let (status, _) = caller.head().await;
    assert_eq!(status, 200);
    for chunk in ["one", "two"] {
        caller.raw(format!("3\r\n{chunk}\r\n")).await;
        let got = [caller.line().await, caller.line().await];
        assert_eq!(got, ["3", chunk]);
    }
    caller.raw("0\r\n\r\n").await;
    assert_eq!(caller.line().await, "0");
}

#[tokio::test]
async fn who_asks_for_headers_gets_no_body() {
    let provider = Provider::of(greeter()).await;
    let _mounted = mount(&provider, "docs", named("docs")).await;
    for mut caller in Caller::both(provider.address).await {
        let whole = caller.call("GET", "/docs", &[], "").await;
        let length = whole.body.len().to_string();
        match &mut caller {
            Caller::Http1(caller) => {
                caller.send("HEAD", "/docs", &[], b"").await;
                let (status, headers) = caller.head().await;
                assert_eq!(status, 200);
                assert_eq!(headers["content-length"], length);
            }
            Caller::Http2(_) => {
                let answer = caller.call("HEAD", "/docs", &[], "").await;
                assert_eq!((answer.status, answer.text()), (200, ""));
                assert_eq!(answer.header("content-length"), Some(&*length));
            }
        }
        // Nothing was left behind on the connection.
        assert_eq!(caller.call("GET", "/docs", &[], "").await.status, 200);
    }
}

#[tokio::test]
async fn trailers_of_an_answer_arrive() {
    struct WithTrailers(u8);

    impl Body for WithTrailers {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
            self.0 += 1;
            Poll::Ready(match self.0 {
                1 => Some(Ok(Frame::data(Bytes::from_static(b"x")))),
                2 => {
                    let sum = ("x-sum".parse().expect("a name"), "1".parse().expect("text"));
                    Some(Ok(Frame::trailers(HeaderMap::from_iter([sum]))))
                }
                _ => None,
            })
        }
    }

    let provider = Provider::of(greeter()).await;
    let handler = Answers(|_request: Request<HttpBody>| async {
        Response::new(HttpBody::new(WithTrailers(0)))
    });
    let _mounted = mount(&provider, "sums", Arc::new(handler)).await;
    let mut caller = Caller::http2(provider.address).await;
    let answer = caller.call("GET", "/sums", &[], "").await;
    assert_eq!(answer.text(), "x");
    assert_eq!(answer.trailers["x-sum"], "1");
}

#[tokio::test]
async fn a_panic_is_a_failure_of_its_request_alone() {
    let provider = Provider::of(greeter()).await;
    let panics = Answers(|request: Request<HttpBody>| {
        assert_ne!(request.uri().path(), "/panics/at-once", "the secret reason");
        async move {
            assert_ne!(request.uri().path(), "/panics/later", "the secret reason");
            Response::new(HttpBody::empty())
        }
    });
    let _mounted = mount(&provider, "panics", Arc::new(panics)).await;
    for mut caller in Caller::both(provider.address).await {
        for path in ["/panics/at-once", "/panics/later"] {
            let answer = caller.call("GET", path, &[], "").await;
            let (status, code, message) = answer.refused();
            assert_eq!((status, &*code), (500, "internal"), "{path}");
            assert_eq!(message, "what is mounted at /panics panicked");
        }
        let answer = caller.call("GET", "/panics/not", &[], "").await;
        assert_eq!(answer.status, 200);
    }
}

#[tokio::test]
async fn a_body_that_fails_breaks_its_answer_off() {
    let provider = Provider::of(greeter()).await;
    let (pipes, mut senders) = mpsc::unbounded_channel();
    let handler = Answers(move |_request: Request<HttpBody>| {
        let (send, receive) = mpsc::unbounded_channel();
        send.send(Ok(Bytes::from_static(b"begun"))).expect("open");
        pipes.send(send).expect("a test listens");
        async { Response::new(HttpBody::new(Pipe(receive))) }
    });
    let _mounted = mount(&provider, "breaks", Arc::new(handler)).await;
    let Caller::Http2(send) = Caller::http2(provider.address).await else {
        unreachable!("it is HTTP/2");
    };
    let request = Request::get("http://test/breaks").body(()).expect("sound");
    let mut ready = send.ready().await.expect("open");
    let (response, _stream) = ready.send_request(request, true).expect("room");
    let mut body = due(response).await.expect("answered").into_body();
    let data = due(body.data()).await.expect("open");
    assert_eq!(data.expect("begun"), "begun");
    let pipe = due(senders.recv()).await.expect("asked");
    pipe.send(Err("gone")).expect("read");
    let end = due(body.data()).await.expect("no end");
    let end = end.expect_err("it broke off");
    assert_eq!(end.reason(), Some(h2::Reason::INTERNAL_ERROR), "{end}");

    let mut caller = Http1::connect(provider.address).await;
    caller.send("GET", "/breaks", &[], b"").await;
    assert_eq!(caller.head().await.0, 200);
    let chunk = [caller.line().await, caller.line().await];
    assert_eq!(chunk, ["5", "begun"]);
    let pipe = due(senders.recv()).await.expect("asked");
    pipe.send(Err("gone")).expect("read");
    // Without the last chunk, which would be a good end.
    caller.is_closed().await;
}

/// A handler that answers without a look at the body: its caller still writes, reads the answer, and goes on.
#[tokio::test]
async fn who_still_writes_gets_the_answer_and_keeps_the_connection() {
    let provider = Provider::of(greeter()).await;
    let _mounted = mount(&provider, "", named("root")).await;
    let mut caller = Http1::connect(provider.address).await;
    for chunked in [false, true] {
        let length = if chunked {
            "transfer-encoding: chunked"
        } else {
            "content-length: 6"
        };
        caller
            .raw(format!(
                "POST /x HTTP/1.1\r\nhost: test\r\n{length}\r\n\r\n"
            ))
            .await;
        assert_eq!(caller.answer().await.status, 200, "{length}");
        let body = if chunked {
            "6\r\nunread\r\n0\r\n\r\n"
        } else {
            "unread"
        };
        caller.raw(body).await;
        caller.send("GET", "/y", &[], b"").await;
        assert_eq!(caller.answer().await.status, 200, "after {length}");
    }
}

#[tokio::test]
async fn websocket_is_refused_and_says_so() {
    let provider = Provider::of(greeter()).await;
    let _mounted = mount(&provider, "", named("root")).await;
    let mut caller = Http1::connect(provider.address).await;
    let headers = [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    caller.send("GET", "/chat", &headers, b"").await;
    let (status, code, message) = caller.answer().await.refused();
    assert_eq!((status, &*code), (501, "unimplemented"));
    assert!(
        message.starts_with("WebSocket is not served here"),
        "{message}"
    );
    // Who only says that HTTP/2 would do, too, is served.
    let headers = [("connection", "Upgrade"), ("upgrade", "h2c")];
    caller.send("GET", "/x", &headers, b"").await;
    assert_eq!(caller.answer().await.status, 200);
}
