//! Calls with GET, of methods that change nothing (`docs/spec/triple.md` §5.1).

use std::sync::Arc;

use dubbo_core::{
    provider::Service,
    service::{CallKind, MethodDescriptor, ServiceDescriptor},
};

use crate::{
    greeter::{INTERFACE, Provider, Req, Resp, hello},
    support::Caller,
};

/// `Look` changes nothing, `Repeat` may be called again, `Change` promises nothing.
async fn provider() -> Provider {
    let method = |name, idempotent, no_side_effects| MethodDescriptor {
        idempotent,
        no_side_effects,
        ..MethodDescriptor::new(name, CallKind::Unary)
    };
    let methods = vec![
        method("Look", true, true),
        method("Repeat", true, false),
        method("Change", false, false),
    ];
    let descriptor = ServiceDescriptor::new(INTERFACE, methods);
    let mut builder = Service::builder(Arc::new(descriptor), "Greeter");
    for index in 0..3 {
        builder = builder.unary::<Req, Resp, _, _>(index, |request| async move {
            Ok(hello(&request.message().name).into())
        });
    }
    Provider::of(builder.build()).await
}

#[tokio::test]
async fn the_message_is_in_the_query() {
    let provider = provider().await;
    for mut caller in Caller::both(provider.address).await {
        for (query, content, want) in [
            (
                "connect=v1&encoding=json&message=%7B%22name%22%3A%22a+b%22%7D",
                "application/json",
                "{\"greeting\":\"hello a b\"}",
            ),
            (
                "encoding=json&base64=1&message=eyJuYW1lIjoieCJ9",
                "application/json",
                "{\"greeting\":\"hello x\"}",
            ),
            (
                "encoding=proto&base64=1&message=CgF4",
                "application/proto",
                "\x0a\x07hello x",
            ),
            (
                "encoding=proto&message=",
                "application/proto",
                "\x0a\x06hello ",
            ),
        ] {
            let path = format!("/greet.GreetService/Look?{query}");
            let answer = caller.call("GET", &path, &[], "").await;
            assert_eq!((answer.status, answer.text()), (200, want), "{query}");
            assert_eq!(answer.header("content-type"), Some(content));
        }
        let posted = caller
            .json("/greet.GreetService/look", "{\"name\":\"x\"}")
            .await;
        assert_eq!(posted.text(), "{\"greeting\":\"hello x\"}");
    }
}

#[tokio::test]
async fn a_query_that_is_no_message_is_refused() {
    let provider = provider().await;
    for mut caller in Caller::both(provider.address).await {
        for (query, status, code, part) in [
            ("", 400, "invalid_argument", "there is no `encoding`"),
            (
                "?encoding=json",
                400,
                "invalid_argument",
                "there is no `message`",
            ),
            (
                "?encoding=json&message=%7Bbad",
                400,
                "invalid_argument",
                "not usable",
            ),
            ("?encoding=json&message=", 400, "invalid_argument", "empty"),
            (
                "?encoding=yaml&message=",
                415,
                "invalid_argument",
                "encoding=yaml",
            ),
        ] {
            let path = format!("/greet.GreetService/Look{query}");
            let answer = caller.call("GET", &path, &[], "").await;
            let (got, name, message) = answer.refused();
            assert_eq!((got, &*name), (status, code), "{query}");
            assert!(message.contains(part), "{query}: {message}");
        }
    }
}

#[tokio::test]
async fn what_may_change_something_takes_a_post() {
    let provider = provider().await;
    for mut caller in Caller::both(provider.address).await {
        for (method, name, allow) in [
            ("GET", "Repeat", "POST"),
            ("GET", "Change", "POST"),
            ("PUT", "Look", "GET, POST"),
            ("DELETE", "Change", "POST"),
        ] {
            let path = format!("/greet.GreetService/{name}?encoding=json&message=%7B%7D");
            let answer = caller.call(method, &path, &[], "").await;
            assert_eq!(answer.status, 405, "{method} {name}");
            assert_eq!(answer.header("allow"), Some(allow), "{method} {name}");
        }
    }
}
