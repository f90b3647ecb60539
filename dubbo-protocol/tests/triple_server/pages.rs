//! Pages beside the calls.

use std::sync::Arc;

use dubbo_core::protocol::{Exporter, Page, Pages, Protocol as _, ProtocolError};
use http::{StatusCode, Uri};

use crate::{
    greeter::{Provider, greeter, url},
    wire::{Answer, GREET, Wire},
};

/// Tells which page is asked for; there is none below `/docs/none`.
struct Echo;

impl Pages for Echo {
    fn page(&self, uri: &Uri) -> Page {
        let status = if uri.path().starts_with("/docs/none") {
            StatusCode::NOT_FOUND
        } else {
            StatusCode::OK
        };
        Page {
            status,
            content_type: "text/echo",
            body: uri.to_string().into(),
        }
    }
}

async fn mount(provider: &Provider, path: &str) -> Result<Box<dyn Exporter>, ProtocolError> {
    let server = url().with_port(provider.address.port()).with_path(path);
    provider.protocol.mount(&server, Arc::new(Echo)).await
}

async fn ask(wire: &mut Wire, method: &str, path: &str) -> Answer {
    let headers = [("x-method", method), ("content-type", "")];
    wire.call(path, &headers, "").await
}

#[tokio::test]
async fn pages_are_served_beside_calls_on_one_connection() {
    let provider = Provider::of(greeter()).await;
    let mounted = mount(&provider, "docs").await.expect("mounted");
    assert_eq!(mounted.url().port(), Some(provider.address.port()));
    let mut wire = Wire::connect(provider.address).await;
    for (path, status) in [
        ("/docs", 200),
        ("/docs/", 200),
        ("/docs/a/b?c=d", 200),
        ("/docs/none", 404),
    ] {
        let answer = ask(&mut wire, "GET", path).await;
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(answer.header("content-type"), Some("text/echo"));
        assert!(answer.trailers.is_none(), "{path}");
        let body = String::from_utf8(answer.data.clone()).expect("text");
        assert!(body.ends_with(path), "{body}");
        assert_eq!(
            answer.header("content-length"),
            Some(&*body.len().to_string())
        );

        let head = ask(&mut wire, "HEAD", path).await;
        assert_eq!((head.status, head.data.len()), (status, 0), "{path}");
        assert_eq!(head.headers, answer.headers, "{path}");
    }
    assert_eq!(wire.greet("x", &[]).await.code(), 0);
}

#[tokio::test]
async fn what_is_no_page_is_answered_as_ever() {
    let provider = Provider::of(greeter()).await;
    let _mounted = mount(&provider, "docs").await.expect("mounted");
    let mut wire = Wire::connect(provider.address).await;
    for (method, path, status, allow) in [
        ("POST", "/docs", 405, Some("GET, HEAD")),
        ("DELETE", "/docs/a", 405, Some("GET, HEAD")),
        ("GET", "/docsa", 404, None),
        ("GET", "/", 404, None),
        ("GET", GREET, 405, Some("POST")),
    ] {
        let answer = ask(&mut wire, method, path).await;
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(answer.header("allow"), allow, "{method} {path}");
    }
    let call = wire.call("/docs/a", &[], "").await;
    assert_eq!(call.refused().0, 12, "who speaks gRPC hears gRPC");
}

#[tokio::test]
async fn a_path_is_mounted_at_once_and_free_when_it_is_taken_back() {
    let provider = Provider::of(greeter()).await;
    let mounted = mount(&provider, "docs").await.expect("mounted");
    let taken = mount(&provider, "/docs/").await.err().expect("taken");
    assert!(matches!(taken, ProtocolError::Duplicate { .. }), "{taken}");
    assert!(taken.to_string().contains("/docs"), "{taken}");
    let nowhere = mount(&provider, "").await.err().expect("no path");
    assert!(matches!(nowhere, ProtocolError::Url { .. }), "{nowhere}");

    mounted.unexport().await;
    let mut wire = Wire::connect(provider.address).await;
    assert_eq!(ask(&mut wire, "GET", "/docs").await.status, 404);
    let _again = mount(&provider, "docs").await.expect("free");
    assert_eq!(ask(&mut wire, "GET", "/docs").await.status, 200);
}

#[tokio::test]
async fn a_protocol_without_http_says_so() {
    let protocol = dubbo_protocol::DubboProtocol::default();
    let server = dubbo_core::url::Url::new("dubbo", "127.0.0.1").with_path("docs");
    let error = protocol.mount(&server, Arc::new(Echo)).await.err();
    let error = error.expect("refused").to_string();
    assert!(
        error.contains("`dubbo`") && error.contains("pages"),
        "{error}"
    );
}
