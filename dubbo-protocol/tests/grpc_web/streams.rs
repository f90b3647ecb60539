//! Calls with many messages.

use bytes::Bytes;
use dubbo_core::{request::Response, status::Status};

use crate::{
    greeter::{GreetResponse, due},
    greeter::{Provider, builder, greeter, server_stream},
    page::{Read, TEXT, WEB, ask, base64, request},
    support::{Caller, GREET_BIDI, GREET_MANY, GREET_STREAM},
};

#[tokio::test]
async fn a_stream_of_answers_ends_with_trailers_in_the_body() {
    let provider = Provider::of(greeter()).await;
    for mut caller in Caller::both(provider.address).await {
        for (content, body) in [
            (WEB, request("x")),
            (TEXT, base64(&request("x")).into_bytes()),
        ] {
            let answer = ask(&mut caller, GREET_STREAM, content, &[], body).await;
            let read = Read::of(&answer);
            assert_eq!(read.greetings(), ["m0", "m1", "m2"]);
            assert_eq!(read.trailers.as_deref(), Some("grpc-status: 0\r\n"));
            assert!(answer.trailers.is_empty(), "{answer:?}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_fails_on_its_way_says_so_behind_its_messages() {
    let provider = Provider::of(server_stream(|_request| {
        let greeting = "first".to_owned();
        let items = [
            Ok(GreetResponse { greeting }),
            Err(Status::aborted("enough")),
        ];
        Response::stream(futures_util::stream::iter(items))
    }))
    .await;
    for mut caller in Caller::both(provider.address).await {
        let answer = ask(&mut caller, GREET_STREAM, WEB, &[], request("x")).await;
        let read = Read::of(&answer);
        assert_eq!(read.greetings(), ["first"]);
        assert_eq!(read.trailer("grpc-status"), Some("10"));
        assert_eq!(read.trailer("grpc-message"), Some("enough"));
    }
}

#[tokio::test]
async fn a_stream_without_messages_is_its_trailers() {
    let provider = Provider::of(server_stream(|_request| {
        Response::stream(futures_util::stream::iter(Vec::new()))
    }))
    .await;
    for mut caller in Caller::both(provider.address).await {
        let answer = ask(&mut caller, GREET_STREAM, WEB, &[], request("x")).await;
        assert_eq!(answer.body, b"\x80\0\0\0\x10grpc-status: 0\r\n");
    }
}

#[tokio::test]
async fn a_stream_of_requests_is_read_to_its_end() {
    let provider = Provider::of(greeter()).await;
    let body = [request("a"), request("b"), request("c")].concat();
    for mut caller in Caller::both(provider.address).await {
        let answer = ask(&mut caller, GREET_MANY, WEB, &[], &body).await;
        assert_eq!(Read::of(&answer).greetings(), ["hello a+b+c"]);
        let answer = ask(&mut caller, GREET_MANY, TEXT, &[], base64(&body)).await;
        assert_eq!(Read::of(&answer).greetings(), ["hello a+b+c"]);
    }
}

#[tokio::test]
async fn streams_both_ways_take_http2() {
    let provider = Provider::of(greeter()).await;
    let [mut http1, http2] = Caller::both(provider.address).await;
    let answer = ask(&mut http1, GREET_BIDI, WEB, &[], request("x")).await;
    assert_eq!(answer.status, 505, "{answer:?}");

    let Caller::Http2(send) = http2 else {
        unreachable!("it is HTTP/2");
    };
    for (content, text) in [(WEB, false), (TEXT, true)] {
        let write = |bytes: &[u8]| {
            if text {
                Bytes::from(base64(bytes))
            } else {
                Bytes::copy_from_slice(bytes)
            }
        };
        let head = http::Request::post(format!("http://test{GREET_BIDI}"))
            .header("content-type", content)
            .body(())
            .expect("sound");
        let mut ready = send.clone().ready().await.expect("open");
        let (response, mut stream) = ready.send_request(head, false).expect("room");
        let mut body = due(response).await.expect("answered").into_body();
        for name in ["a", "b"] {
            stream
                .send_data(write(&request(name)), false)
                .expect("open");
            let want = [b"\0\0\0\0\x09\x0a\x07hello ", name.as_bytes()].concat();
            assert_eq!(next(&mut body).await, Some(write(&want)), "{content}");
        }
        stream.send_data(Bytes::new(), true).expect("open");
        let end = write(b"\x80\0\0\0\x10grpc-status: 0\r\n");
        assert_eq!(next(&mut body).await, Some(end), "{content}");
        assert_eq!(next(&mut body).await, None);
    }
}

#[tokio::test]
async fn who_hangs_up_ends_the_stream() {
    let (send, mut dropped) = tokio::sync::mpsc::unbounded_channel();
    let service = builder()
        .server_stream::<crate::greeter::Req, crate::greeter::Resp, _, _>(1, move |_request| {
            let guard = Guard(send.clone());
            async move {
                let items = futures_util::stream::unfold(guard, |guard| async move {
                    futures_util::future::pending::<()>().await;
                    Some((Ok(GreetResponse::default()), guard))
                });
                Ok(Response::stream(items))
            }
        })
        .build();
    let provider = Provider::of(service).await;
    let Caller::Http2(send) = Caller::http2(provider.address).await else {
        unreachable!("it is HTTP/2");
    };
    let head = http::Request::post(format!("http://test{GREET_STREAM}"))
        .header("content-type", WEB)
        .body(())
        .expect("sound");
    let mut ready = send.clone().ready().await.expect("open");
    let (response, mut stream) = ready.send_request(head, false).expect("room");
    stream.send_data(request("x").into(), true).expect("open");
    let answer = due(response).await.expect("answered");
    stream.send_reset(h2::Reason::CANCEL);
    assert_eq!(due(dropped.recv()).await, Some(()));
    drop(answer);
}

struct Guard(tokio::sync::mpsc::UnboundedSender<()>);

impl Drop for Guard {
    fn drop(&mut self) {
        // The test may be over.
        let _ = self.0.send(());
    }
}

async fn next(body: &mut h2::RecvStream) -> Option<Bytes> {
    let data = due(body.data()).await?.expect("whole");
    body.flow_control()
        .release_capacity(data.len())
        .expect("used");
    Some(data)
}
