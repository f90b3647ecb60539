//! What is not there, and what is no message (`docs/spec/triple.md` §1.6; §12, TV15, TV16).

use crate::{
    greeter::{Provider, greeter, url},
    support::{Answer, Caller, GREET, GREET_STREAM, Http1, JSON},
};

const X: &str = "{\"name\":\"x\"}";

/// Checks that a connection is as good as it was.
async fn goes_on(caller: &mut Caller) {
    let answer = caller.json(GREET, X).await;
    assert_eq!(answer.text(), "{\"greeting\":\"hello x\"}");
}

fn check(answer: &Answer, status: u16, code: &str, part: &str) {
    let (got, name, message) = answer.refused();
    assert_eq!((got, &*name), (status, code), "{message}");
    assert!(message.contains(part), "{message}");
}

#[tokio::test]
async fn a_path_that_is_none_is_not_found() {
    let provider = Provider::of(greeter()).await;
    for mut caller in Caller::both(provider.address).await {
        for (method, path, part) in [
            ("POST", "/greet.GreetService/Nope", "has no method `Nope`"),
            ("POST", "/greet.Nobody/Greet", "no service `greet.Nobody`"),
            ("GET", "/", "names no method"),
            ("OPTIONS", "/", "names no method"),
            ("GET", "/favicon.ico", "names no method"),
            ("POST", "//greet.GreetService/Greet", "no service"),
        ] {
            let answer = caller.call(method, path, &[JSON], X).await;
            check(&answer, 404, "unimplemented", part);
            goes_on(&mut caller).await;
        }
    }
}

/// The path alone says which method is called: no verb means anything else than the others.
#[tokio::test]
async fn other_verbs_than_post_are_refused_with_what_is_allowed() {
    let provider = Provider::of(greeter()).await;
    for mut caller in Caller::both(provider.address).await {
        for verb in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"] {
            for path in [GREET, GREET_STREAM] {
                let answer = caller.call(verb, path, &[], "").await;
                check(&answer, 405, "unknown", verb);
                assert_eq!(answer.header("allow"), Some("POST"));
            }
            goes_on(&mut caller).await;
        }
    }
    let mut caller = Caller::http2(provider.address).await;
    let answer = caller.call("HEAD", GREET, &[], "").await;
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    goes_on(&mut caller).await;
}

/// Who sends such a content type looks at `grpc-status` alone.
#[tokio::test]
async fn another_verb_in_the_name_of_grpc_is_refused_in_grpc() {
    let provider = Provider::of(greeter()).await;
    for mut caller in Caller::both(provider.address).await {
        for content in ["application/grpc", "application/grpc-web+proto"] {
            let headers = [("content-type", content)];
            let answer = caller.call("DELETE", GREET, &headers, "").await;
            assert_eq!(answer.status, 200, "{content}");
            assert_eq!(answer.header("content-type"), Some(content));
            assert_eq!(answer.header("grpc-status"), Some("12"), "{content}");
            assert_eq!(answer.header("allow"), Some("POST"), "{content}");
            goes_on(&mut caller).await;
        }
    }
}

#[tokio::test]
async fn a_body_that_is_no_message_is_refused_and_the_connection_goes_on() {
    let provider = Provider::of(greeter()).await;
    for mut caller in Caller::both(provider.address).await {
        for content in [
            "text/xml",
            "application/json; charset=latin1",
            "application/x-protobuf",
            "application/msgpack",
            "application/hessian2",
            "application/grpc-webber",
            "",
        ] {
            let headers = [("content-type", content)];
            let answer = caller.call("POST", GREET, &headers, X).await;
            check(&answer, 415, "unknown", content);
            let posts = answer.header("accept-post").expect("a list");
            assert_eq!(posts, ACCEPTED);
            goes_on(&mut caller).await;
        }
        let answer = caller.call("POST", GREET, &[], X).await;
        check(&answer, 415, "unknown", "no content type");
        for (body, part) in [
            ("{bad", "not usable"),
            ("", "the body is empty"),
            ("[1,2", "not usable"),
            ("{\"nope\":1}", "nope"),
            ("{\"name\":1}", "not usable"),
        ] {
            let answer = caller.json(GREET, body).await;
            check(&answer, 400, "invalid_argument", part);
            goes_on(&mut caller).await;
        }
        let headers = [("content-type", "application/proto")];
        let answer = caller.call("POST", GREET, &headers, "\u{ff}").await;
        check(&answer, 400, "invalid_argument", "not usable");
        goes_on(&mut caller).await;
    }
}

/// What a 415 lists is what there is: none of it is answered with another.
#[tokio::test]
async fn every_content_type_that_is_named_is_accepted() {
    let provider = Provider::of(greeter()).await;
    for mut caller in Caller::both(provider.address).await {
        for content in ACCEPTED.split(", ") {
            let headers = [("content-type", content), ("te", "trailers")];
            // No message of any of them, which all of them say in their own way.
            let answer = caller.call("POST", GREET, &headers, "\u{ff}").await;
            let is_grpc = content.starts_with("application/grpc");
            let want = if is_grpc { 200 } else { 400 };
            assert_eq!(answer.status, want, "{content}");
            if is_grpc {
                assert_eq!(answer.header("content-type"), Some(content));
            }
        }
    }
}

const ACCEPTED: &str = "application/grpc, application/grpc+json, application/grpc+json; charset=utf-8, \
    application/grpc+proto, application/grpc-web, application/grpc-web+json, \
    application/grpc-web+json; charset=utf-8, application/grpc-web+proto, application/grpc-web-text, \
    application/grpc-web-text+json, application/grpc-web-text+json; charset=utf-8, \
    application/grpc-web-text+proto, application/json, application/json; charset=utf-8, application/proto";

#[tokio::test]
async fn a_body_in_chunks_is_read_like_any_other() {
    let provider = Provider::of(greeter()).await;
    let mut caller = Http1::connect(provider.address).await;
    let head = format!(
        "POST {GREET} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\n"
    );
    for (chunks, status) in [
        ("4\r\n[1,2\r\n0\r\n\r\n", 400),
        ("4\r\n{\"na\r\n8\r\nme\":\"x\"}\r\n0\r\n\r\n", 200),
        ("0\r\n\r\n", 400),
    ] {
        caller.raw(format!("{head}{chunks}")).await;
        assert_eq!(caller.answer().await.status, status, "{chunks:?}");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_before_it_is_read() {
    let url = url().with_param("max-server-recv-msg-size", "20");
    let provider = Provider::at(&url, greeter()).await;
    for mut caller in Caller::both(provider.address).await {
        let body = format!("{{\"name\":\"{}\"}}", "x".repeat(100));
        let answer = caller.json(GREET, &body).await;
        check(&answer, 413, "resource_exhausted", "limit of 20 bytes");
        goes_on(&mut caller).await;
    }
    let mut caller = Http1::connect(provider.address).await;
    caller
        .raw(format!(
            "POST {GREET} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
             transfer-encoding: chunked\r\n\r\n20\r\n{}\r\n",
            "x".repeat(32)
        ))
        .await;
    check(
        &caller.answer().await,
        413,
        "resource_exhausted",
        "greet.GreetService/Greet",
    );
}

#[tokio::test]
async fn an_answer_over_the_limit_is_refused() {
    let url = url().with_param("max-server-send-msg-size", "30");
    let provider = Provider::at(&url, greeter()).await;
    for mut caller in Caller::both(provider.address).await {
        let body = format!("{{\"name\":\"{}\"}}", "x".repeat(100));
        let answer = caller.json(GREET, &body).await;
        check(
            &answer,
            429,
            "resource_exhausted",
            "limit of 30 bytes for sent messages",
        );
        goes_on(&mut caller).await;
    }
}

#[tokio::test]
async fn headers_over_the_limit_are_refused() {
    let provider = Provider::of(greeter()).await;
    let long = "x".repeat(70_000);
    for headers in [
        &[JSON, ("x-long", &long)][..],
        &[("content-type", "application/grpc"), ("x-long", &long)],
    ] {
        let mut caller = Http1::connect(provider.address).await;
        caller.send("POST", GREET, headers, X.as_bytes()).await;
        check(
            &caller.answer().await,
            431,
            "resource_exhausted",
            "the limit is 65536",
        );
    }
    let longer = "x".repeat(140_000);
    let mut caller = Http1::connect(provider.address).await;
    caller
        .send("POST", GREET, &[JSON, ("x-long", &longer)], b"")
        .await;
    assert_eq!(caller.head().await.0, 431);
    let mut caller = Caller::http2(provider.address).await;
    let answer = caller.json_with(GREET, &[("x-long", &long)], X).await;
    assert_eq!(answer.status, 431);
    goes_on(&mut caller).await;
}
