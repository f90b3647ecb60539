//! Whatever is refused, the answer says why, in JSON (`docs/spec/triple.md` §1.6, §5.2, §5.3).

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use dubbo_core::{
    http::{HttpBody, HttpHandler},
    protocol::Protocol as _,
};
use http::{Request, Response};

use crate::{
    greeter::{Provider, Req, Resp, builder, due, hello, url},
    support::{Answer, Caller, GREET, GREET_BIDI, GREET_MANY, Http1, JSON},
};

const X: &str = "{\"name\":\"x\"}";
const GRPC: (&str, &str) = ("content-type", "application/grpc");
const TRAILERS: (&str, &str) = ("te", "trailers");

/// Panics, as whatever is mounted may.
struct Broken;

#[async_trait]
impl HttpHandler for Broken {
    async fn handle(&self, _request: Request<HttpBody>) -> Response<HttpBody> {
        panic!("by intent")
    }
}

/// A service that greets, or does what the name asks for, beside something that is mounted.
async fn provider() -> Provider {
    let service = builder()
        .unary::<Req, Resp, _, _>(0, |request| async move {
            match &*request.message().name {
                "panic" => panic!("by intent"),
                "slow" => tokio::time::sleep(Duration::from_hours(1)).await,
                "long" => return Ok(hello(&"x".repeat(2_000)).into()),
                _ => {}
            }
            Ok(hello("you").into())
        })
        .build();
    let url = url()
        .with_param("max-server-recv-msg-size", "1000")
        .with_param("max-server-send-msg-size", "1000")
        .with_param(".cors.allow-origins", "https://shop.example.com");
    let mut provider = Provider::at(&url, service).await;
    let at = url.with_port(provider.address.port()).with_path("broken");
    let mounted = provider.protocol.mount(&at, Arc::new(Broken)).await;
    provider.exporters.push(mounted.expect("mounted"));
    provider
}

type Case<'a> = (
    (&'a str, &'a str),
    &'a [(&'a str, &'a str)],
    &'a str,
    (u16, &'a str, &'a str),
);

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table")]
async fn every_refusal_says_why_in_json() {
    let provider = provider().await;
    let (large, many) = ("x".repeat(1_001), "x".repeat(60_000));
    let long_path = format!("/{}", "p".repeat(60_000));
    let cases: &[Case<'_>] = &[
        (
            ("POST", GREET),
            &[JSON],
            "{bad",
            (400, "invalid_argument", "key must be a string"),
        ),
        (
            ("POST", GREET),
            &[JSON],
            "",
            (400, "invalid_argument", "the body is empty"),
        ),
        (
            ("POST", GREET),
            &[JSON],
            "{\"nam\":1}",
            (400, "invalid_argument", "unknown field `nam`"),
        ),
        (
            ("POST", GREET),
            &[JSON, ("connect-protocol-version", "9")],
            X,
            (
                400,
                "invalid_argument",
                "`connect-protocol-version` is \"9\"",
            ),
        ),
        (
            ("POST", GREET),
            &[JSON, ("triple-timeout-ms", "soon")],
            X,
            (400, "invalid_argument", "a number of milliseconds"),
        ),
        (
            ("POST", GREET),
            &[JSON, ("content-encoding", "gzip")],
            X,
            (400, "invalid_argument", "gzip"),
        ),
        (
            ("POST", GREET),
            &[JSON, ("origin", "https://evil.test")],
            X,
            (
                403,
                "permission_denied",
                "\"https://evil.test\" may not call",
            ),
        ),
        (
            ("OPTIONS", GREET),
            &[
                ("origin", "https://shop.example.com"),
                ("access-control-request-method", "PUT"),
            ],
            "",
            (403, "permission_denied", "pages may not send \"PUT\""),
        ),
        (
            ("POST", "/"),
            &[JSON],
            X,
            (404, "unimplemented", "names no method"),
        ),
        (
            ("POST", "/x.Y/Z"),
            &[JSON],
            X,
            (404, "unimplemented", "no service `x.Y`"),
        ),
        (
            ("POST", "/greet.GreetService/Nope"),
            &[JSON],
            X,
            (404, "unimplemented", "has no method `Nope`"),
        ),
        (
            ("POST", GREET),
            &[JSON, ("tri-service-version", "9")],
            X,
            (404, "unimplemented", "9"),
        ),
        (
            ("POST", GREET),
            &[JSON, ("content-encoding", "br")],
            X,
            (404, "unimplemented", "br"),
        ),
        (
            ("DELETE", GREET),
            &[],
            "",
            (405, "unknown", "DELETE does not call"),
        ),
        (
            ("OPTIONS", GREET),
            &[],
            "",
            (405, "unknown", "OPTIONS does not call"),
        ),
        (
            ("POST", GREET),
            &[JSON, ("triple-timeout-ms", "0")],
            X,
            (408, "deadline_exceeded", "deadline"),
        ),
        (
            ("POST", GREET),
            &[JSON, ("triple-timeout-ms", "1")],
            "{\"name\":\"slow\"}",
            (408, "deadline_exceeded", "greet.GreetService/Greet"),
        ),
        (
            ("POST", GREET),
            &[JSON],
            &large,
            (413, "resource_exhausted", "limit of 1000 bytes"),
        ),
        (("POST", GREET), &[], X, (415, "unknown", "no content type")),
        (
            ("POST", GREET),
            &[("content-type", "text/plain")],
            X,
            (415, "unknown", "it takes application/grpc,"),
        ),
        (
            ("POST", GREET_MANY),
            &[JSON],
            X,
            (415, "unknown", "call it by gRPC"),
        ),
        (
            ("POST", GREET),
            &[JSON],
            "{\"name\":\"long\"}",
            (
                429,
                "resource_exhausted",
                "limit of 1000 bytes for sent messages",
            ),
        ),
        (
            ("POST", GREET),
            &[JSON, ("x-many", &many), ("x-more", &many[..6_000])],
            X,
            (431, "resource_exhausted", "the limit is 65536"),
        ),
        (
            ("POST", &long_path),
            &[JSON, ("x-more", &many[..6_000])],
            X,
            (431, "resource_exhausted", "the limit is 65536"),
        ),
        (
            ("POST", GREET),
            &[JSON],
            "{\"name\":\"panic\"}",
            (500, "internal", "the handler panicked"),
        ),
        (
            ("GET", "/broken/x"),
            &[],
            "",
            (500, "internal", "mounted at /broken panicked"),
        ),
        (
            ("GET", "/broken"),
            &[("upgrade", "websocket"), ("connection", "upgrade")],
            "",
            (501, "unimplemented", "WebSocket is not served"),
        ),
        (
            ("POST", GREET),
            &[GRPC],
            X,
            (400, "invalid_argument", "send `te: trailers`"),
        ),
        (
            ("POST", GREET_BIDI),
            &[GRPC, TRAILERS],
            X,
            (505, "unknown", "which take HTTP/2"),
        ),
    ];
    for ((verb, path), headers, body, (status, code, why)) in cases {
        let only_http1 = matches!(*status, 431 | 501 | 505) || headers.contains(&GRPC);
        let mut callers = vec![Caller::Http1(Http1::connect(provider.address).await)];
        if !only_http1 {
            callers.push(Caller::http2(provider.address).await);
        }
        for mut caller in callers {
            let answer = due(caller.call(verb, path, headers, (*body).to_owned())).await;
            check(
                &answer,
                (*status, code, why),
                &format!("{verb} {path:.40} {headers:.80?}"),
            );
        }
    }
}

fn check(answer: &Answer, (status, code, why): (u16, &str, &str), what: &str) {
    let (got, name, message) = answer.refused();
    assert_eq!((got, &*name), (status, code), "{what}: {message}");
    assert!(message.contains(why), "{what}: {message}");
    let length = answer.header("content-length");
    let want = answer.body.len().to_string();
    assert!(length.is_none_or(|length| length == want), "{what}");
}

/// The answer to HEAD has the head that another would have, and nothing behind it: what follows is the next answer.
#[tokio::test]
async fn a_refused_head_has_no_body() {
    let provider = provider().await;
    for (path, status) in [(GREET, 405), ("/x.Y/Z", 404)] {
        let mut caller = Http1::connect(provider.address).await;
        caller.send("HEAD", path, &[], b"").await;
        let (got, headers) = caller.head().await;
        assert_eq!(
            (got, &headers["content-type"]),
            (status, &"application/json".parse().expect("text"))
        );
        caller.send("POST", GREET, &[JSON], X.as_bytes()).await;
        assert_eq!(caller.answer().await.text(), "{\"greeting\":\"hello you\"}");
    }
}

/// What cannot be read as HTTP is answered by the library that reads it, with a status alone.
#[tokio::test]
async fn what_is_no_http_is_refused_with_a_status_alone() {
    let provider = provider().await;
    let long = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "p".repeat(66_000));
    let large = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "p".repeat(140_000));
    for (request, status) in [
        ("GET / HTTP/1.1\r\nno header\r\n\r\n", 400),
        ("GET / HTTP/3.1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n", 400),
        (
            "POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
            400,
        ),
        ("POST / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", 400),
        (&long, 414),
        (&large, 431),
    ] {
        let mut caller = Http1::connect(provider.address).await;
        caller.raw(request).await;
        let answer = caller.answer().await;
        assert_eq!(
            (answer.status, answer.text()),
            (status, ""),
            "{request:.60}"
        );
        assert_eq!(answer.header("content-length"), Some("0"), "{request:.60}");
        caller.is_closed().await;
    }
}

/// Without a host nobody knows whom a request is for; with two, each that it passes through may take another one.
#[tokio::test]
async fn a_request_over_http_1_1_names_one_host() {
    let provider = provider().await;
    for (version, hosts, status) in [
        ("1.1", "host: a\r\n", 200),
        ("1.1", "host:\r\n", 200),
        ("1.1", "", 400),
        ("1.1", "host: a\r\nhost: a\r\n", 400),
        ("1.0", "", 200),
        ("1.0", "host: a\r\nhost: b\r\n", 400),
    ] {
        let mut caller = Http1::connect(provider.address).await;
        let head = format!(
            "POST {GREET} HTTP/{version}\r\n{hosts}content-length: {}\r\n",
            X.len()
        );
        caller
            .raw(format!("{head}content-type: application/json\r\n\r\n{X}"))
            .await;
        let answer = caller.answer().await;
        assert_eq!(answer.status, status, "{version} {hosts:?}");
        if status == 400 {
            check(&answer, (400, "invalid_argument", "`host`"), hosts);
        }
    }
}

#[tokio::test]
async fn a_body_in_chunks_that_are_none_is_its_callers_fault() {
    let provider = provider().await;
    for chunks in ["zz\r\n", "ffffffffffffffffff\r\n", "c\n{}", "1\r\nabc"] {
        let mut caller = Http1::connect(provider.address).await;
        let head =
            format!("POST {GREET} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n");
        caller
            .raw(format!("{head}transfer-encoding: chunked\r\n\r\n{chunks}"))
            .await;
        let answer = caller.answer().await;
        check(
            &answer,
            (400, "invalid_argument", "the body cannot be read: "),
            chunks,
        );
        caller.is_closed().await;
    }
}

#[tokio::test]
async fn too_many_headers_are_counted() {
    let provider = provider().await;
    let names: Vec<_> = (0..300).map(|number| format!("x-{number}")).collect();
    let headers: Vec<_> = names.iter().map(|name| (&**name, "")).collect();
    for mut caller in Caller::both(provider.address).await {
        let answer = caller.json_with(GREET, &headers, X).await;
        check(
            &answer,
            (431, "resource_exhausted", " headers, and the limit is "),
            "300",
        );
    }
}

/// Whoever joins names to a path may encode what is in them, such as the `$` of a generic call.
#[tokio::test]
async fn names_in_a_path_may_be_percent_encoded() {
    let provider = provider().await;
    for mut caller in Caller::both(provider.address).await {
        for (path, status) in [
            ("/greet.GreetService/%47reet", 200),
            ("/greet%2EGreetService/%67reet", 200),
            ("/greet.GreetService%2FGreet", 404),
            ("/greet.GreetService/%47%72%65%65", 404),
            ("/greet.GreetService/Greet%00", 404),
            ("/greet.GreetService/%", 404),
            ("/greet.GreetService/%ff", 404),
        ] {
            let answer = caller.json(path, X).await;
            assert_eq!(answer.status, status, "{path}");
        }
    }
}
