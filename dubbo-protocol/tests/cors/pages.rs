//! What a page may do, whichever way it calls.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use dubbo_core::{
    http::{HttpBody, HttpHandler},
    protocol::{Exporter, Protocol as _, ProtocolError},
};
use http::{Request, Response};

use crate::{
    greeter::{self, Provider, Req, Resp, export, greeter, hello},
    support::{Answer, Caller, GREET, JSON},
    url,
};

const PAGE: (&str, &str) = ("origin", "https://shop.example.com");
const OTHER: (&str, &str) = ("origin", "https://evil.test");
const WEB: (&str, &str) = ("content-type", "application/grpc-web+proto");
/// A greeting for `x`.
const MESSAGE: &[u8] = b"\0\0\0\0\x03\x0a\x01x";

struct Page;

#[async_trait]
impl HttpHandler for Page {
    async fn handle(&self, request: Request<HttpBody>) -> Response<HttpBody> {
        Response::new(request.method().to_string().into())
    }
}

async fn provider() -> (Provider, Box<dyn Exporter>) {
    let provider = Provider::at(&url(), greeter()).await;
    let at = url().with_port(provider.address.port()).with_path("pages");
    let mounted = provider.protocol.mount(&at, Arc::new(Page)).await;
    (provider, mounted.expect("mounted"))
}

fn allowed(answer: &Answer) -> Option<&str> {
    answer.header("access-control-allow-origin")
}

#[tokio::test]
async fn a_page_that_may_reads_every_kind_of_answer() {
    let (provider, _mounted) = provider().await;
    for mut caller in Caller::both(provider.address).await {
        for (method, path, content, body, status) in [
            ("POST", GREET, JSON, &br#"{"name":"x"}"#[..], 200),
            ("POST", GREET, JSON, b"no JSON", 400),
            ("POST", GREET, ("content-type", "text/html"), b"x", 415),
            ("GET", GREET, ("x-a", "b"), b"", 405),
            ("POST", "/x.S/M", JSON, b"{}", 404),
            ("POST", GREET, WEB, MESSAGE, 200),
            ("POST", "/x.S/M", WEB, MESSAGE, 200),
            ("PUT", "/pages/1", ("x-a", "b"), b"x", 200),
        ] {
            let answer = caller
                .call(method, path, &[content, PAGE], body.to_vec())
                .await;
            assert_eq!(answer.status, status, "{method} {path} {content:?}");
            assert_eq!(
                allowed(&answer),
                Some(PAGE.1),
                "{method} {path} {content:?}"
            );
            assert_eq!(answer.header("vary"), Some("Origin"), "{method} {path}");
            let exposed = answer.header("access-control-expose-headers");
            let want = "grpc-encoding, grpc-message, grpc-status, grpc-status-details-bin";
            assert_eq!(exposed, (content == WEB).then_some(want), "{content:?}");
        }
    }
}

#[tokio::test]
async fn what_another_page_asks_for_is_not_done() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let service = greeter::builder()
        .unary::<Req, Resp, _, _>(greeter::GREET, move |request| {
            counted.fetch_add(1, Ordering::Relaxed);
            async move { Ok(hello(&request.message().name).into()) }
        })
        .build();
    let provider = Provider::at(&url(), service).await;
    for mut caller in Caller::both(provider.address).await {
        for (content, body) in [(JSON, &br#"{"name":"x"}"#[..]), (WEB, MESSAGE)] {
            let answer = caller
                .call("POST", GREET, &[content, OTHER], body.to_vec())
                .await;
            let (status, code, why) = answer.refused();
            assert_eq!((status, &*code), (403, "permission_denied"), "{content:?}");
            assert!(why.contains("of the origin \"https://evil.test\""), "{why}");
            assert_eq!(allowed(&answer), None);
            assert_eq!(answer.header("vary"), Some("Origin"));
        }
        assert_eq!(calls.load(Ordering::Relaxed), 0);
        // The same connection serves others.
        let answer = caller.json_with(GREET, &[PAGE], r#"{"name":"x"}"#).await;
        assert_eq!(answer.status, 200);
        calls.store(0, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn a_browser_hears_of_the_methods_that_there_are_at_a_path() {
    let (provider, _mounted) = provider().await;
    for mut caller in Caller::both(provider.address).await {
        for (path, wanted, status, methods) in [
            (GREET, "POST", 204, Some("OPTIONS, POST")),
            (GREET, "DELETE", 403, None),
            (
                "/pages",
                "DELETE",
                204,
                Some("DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"),
            ),
            ("/pages", "TRACE", 403, None),
        ] {
            let asks = [
                PAGE,
                ("access-control-request-method", wanted),
                ("access-control-request-headers", "content-type,x-grpc-web"),
            ];
            let answer = caller.call("OPTIONS", path, &asks, "").await;
            assert_eq!(answer.status, status, "{path} {wanted}");
            if status == 204 {
                assert_eq!(answer.text(), "", "{path} {wanted}");
            } else {
                let (_, _, why) = answer.refused();
                let refused = format!("pages may not send \"{wanted}\" to {path}; they may send ");
                assert!(why.starts_with(&refused), "{why}");
            }
            let told = answer.header("access-control-allow-methods");
            assert_eq!(told, methods, "{path} {wanted}");
            let headers = answer.header("access-control-allow-headers");
            let want = methods.map(|_| "content-type,x-grpc-web");
            assert_eq!(headers, want, "{path} {wanted}");
        }
    }
}

#[tokio::test]
async fn a_page_that_was_served_here_needs_no_permission() {
    let (provider, _mounted) = provider().await;
    let own = ("origin", "http://test");
    for mut caller in Caller::both(provider.address).await {
        let answer = caller.json_with(GREET, &[own], r#"{"name":"x"}"#).await;
        assert_eq!((answer.status, allowed(&answer)), (200, None));
    }
}

#[tokio::test]
async fn without_settings_nothing_is_said_to_browsers() {
    let provider = Provider::of(greeter()).await;
    for mut caller in Caller::both(provider.address).await {
        let answer = caller.json_with(GREET, &[OTHER], r#"{"name":"x"}"#).await;
        assert_eq!((answer.status, allowed(&answer)), (200, None));
        let asks = [OTHER, ("access-control-request-method", "POST")];
        let answer = caller.call("OPTIONS", GREET, &asks, "").await;
        assert_eq!((answer.status, allowed(&answer)), (405, None));
    }
}

#[tokio::test]
async fn a_port_has_one_set_of_pages_that_may_ask() {
    let provider = Provider::at(&url(), greeter()).await;
    let other = url()
        .with_port(provider.address.port())
        .with_param("group", "g");
    let _same = export(&provider.protocol, &other, greeter()).await;
    let other = other
        .with_param("group", "h")
        .with_param(".cors.allow-origins", "*");
    let service = greeter();
    let descriptor = Arc::clone(service.descriptor());
    let invoker = service.into_invoker(other.clone());
    let refused = provider.protocol.export(&other, descriptor, invoker).await;
    let Err(ProtocolError::Url { reason, .. }) = refused else {
        panic!("it was exported");
    };
    assert!(reason.contains("`.cors.allow-origins` is *"), "{reason}");
}
