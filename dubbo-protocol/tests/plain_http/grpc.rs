//! gRPC over HTTP/1.1: its trailers end a body in chunks (`docs/spec/triple.md` §1.1; §12, TV19).

use dubbo_core::{provider::Service, status::Status};

use crate::{
    greeter::{self, Provider, Req, Resp, builder, greeter},
    support::{GREET, GREET_BIDI, GREET_MANY, GREET_STREAM, Http1},
};

const GRPC: (&str, &str) = ("content-type", "application/grpc+proto");
const TE: (&str, &str) = ("te", "trailers");
const X: &[u8] = b"\0\0\0\0\x03\x0a\x01x";

#[tokio::test]
async fn all_but_streams_both_ways_work() {
    let provider = Provider::of(greeter()).await;
    let mut caller = Http1::connect(provider.address).await;
    for (path, requests, want) in [
        (GREET, 1, &b"\0\0\0\0\x09\x0a\x07hello x"[..]),
        (GREET_MANY, 2, b"\0\0\0\0\x0b\x0a\x09hello x+x"),
        (
            GREET_STREAM,
            1,
            b"\0\0\0\0\x04\x0a\x02m0\0\0\0\0\x04\x0a\x02m1\0\0\0\0\x04\x0a\x02m2",
        ),
    ] {
        caller
            .send("POST", path, &[GRPC, TE], &X.repeat(requests))
            .await;
        let answer = caller.answer().await;
        assert_eq!((answer.status, &answer.body[..]), (200, want), "{path}");
        assert_eq!(answer.trailers["grpc-status"], "0", "{path}");
        assert_eq!(answer.header("content-type"), Some(GRPC.1));
    }
}

#[tokio::test]
async fn an_error_is_in_the_headers_and_the_connection_goes_on() {
    let provider = Provider::of(greeter()).await;
    let mut caller = Http1::connect(provider.address).await;
    for path in ["/greet.GreetService/Nope", "/x/y"] {
        caller.send("POST", path, &[GRPC, TE], X).await;
        let answer = caller.answer().await;
        assert_eq!((answer.status, answer.text()), (200, ""));
        assert_eq!(answer.header("grpc-status"), Some("12"));
    }
    caller.send("POST", GREET, &[GRPC, TE], X).await;
    assert_eq!(caller.answer().await.trailers["grpc-status"], "0");
}

#[tokio::test]
async fn what_http1_cannot_carry_is_refused() {
    let provider = Provider::of(greeter()).await;
    let mut caller = Http1::connect(provider.address).await;
    caller.send("POST", GREET_BIDI, &[GRPC, TE], X).await;
    let answer = caller.answer().await;
    let (status, code, message) = answer.refused();
    assert_eq!((status, &*code), (505, "unknown"));
    assert!(message.contains("take HTTP/2"), "{message}");
    assert_eq!(answer.header("connection"), Some("close"));
    caller.is_closed().await;

    let mut caller = Http1::connect(provider.address).await;
    caller.send("POST", GREET, &[GRPC], X).await;
    let (status, _, message) = caller.answer().await.refused();
    assert_eq!(status, 400);
    assert!(message.contains("te: trailers"), "{message}");
}

/// A service that refuses a stream of requests at the first of them.
fn refuses_streams() -> Service {
    builder()
        .client_stream::<Req, Resp, _, _>(greeter::GREET_MANY, |request| async move {
            request.into_message().message().await?;
            Err(Status::resource_exhausted("one is enough"))
        })
        .build()
}

#[tokio::test]
async fn who_writes_on_after_a_refusal_keeps_the_connection() {
    let provider = Provider::of(refuses_streams()).await;
    let mut caller = Http1::connect(provider.address).await;
    for content in ["grpc", "grpc-web"] {
        for _ in 0..3 {
            caller
                .raw(format!(
                    "POST {GREET_MANY} HTTP/1.1\r\nhost: x\r\nte: trailers\r\n\
                     content-type: application/{content}\r\ntransfer-encoding: chunked\r\n\r\n"
                ))
                .await;
            let chunk = [b"8\r\n", X, b"\r\n"].concat();
            caller.raw(&chunk).await;
            let answer = caller.answer().await;
            assert_eq!(answer.header("grpc-status"), Some("8"), "{content}");
            for _ in 0..100 {
                caller.raw(&chunk).await;
            }
            caller.raw("0\r\n\r\n").await;
        }
    }
}

#[tokio::test]
async fn who_has_written_all_before_a_refusal_keeps_the_connection() {
    let provider = Provider::of(refuses_streams()).await;
    let mut caller = Http1::connect(provider.address).await;
    for content in ["application/grpc", "application/grpc-web"] {
        for _ in 0..3 {
            let headers = [("content-type", content), TE];
            let body = X.repeat(64 << 10);
            caller.send("POST", GREET_MANY, &headers, &body).await;
            let answer = caller.answer().await;
            assert_eq!(answer.header("grpc-status"), Some("8"), "{content}");
        }
    }
}
