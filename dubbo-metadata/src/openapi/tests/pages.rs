//! Documents by their addresses.

use std::{future::poll_fn, pin::Pin};

use dubbo_core::http::{HttpBody, HttpHandler};
use http::{HeaderMap, Method, Request, StatusCode, header::CONTENT_TYPE};
use http_body::Body as _;

use super::*;

fn pages(path: &str) -> OpenApiPages {
    let settings = Settings {
        path: path.to_owned(),
        ..Settings::default()
    };
    let partners = Documented {
        group: "the partners".to_owned(),
        ..documented(
            "x.Partners",
            ServiceDescriptor::new("x.Partners", Vec::new()),
        )
    };
    let services = vec![documented("shop.v1.Orders", shop()), partners];
    OpenApiPages::new(&OpenApi::new(settings, services))
}

struct Page {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Page {
    fn content_type(&self) -> &str {
        self.headers[CONTENT_TYPE].to_str().expect("text")
    }
}

async fn get(pages: &dyn HttpHandler, uri: &str) -> Page {
    ask(pages, Method::GET, uri).await
}

async fn ask(pages: &dyn HttpHandler, method: Method, uri: &str) -> Page {
    let mut request = Request::new(HttpBody::empty());
    *request.method_mut() = method;
    *request.uri_mut() = uri.parse().expect(uri);
    let (head, mut body) = pages.handle(request).await.into_parts();
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let data = frame.expect("whole").into_data();
        bytes.extend_from_slice(&data.expect("no trailers"));
    }
    Page {
        status: head.status,
        headers: head.headers,
        body: String::from_utf8(bytes).expect("text"),
    }
}

#[tokio::test]
async fn every_address_of_dubbo_go_has_its_page() {
    const JSON: &str = "application/json";
    const YAML: &str = "application/yaml";
    const HTML: &str = "text/html; charset=utf-8";
    let pages = pages("/docs");
    for (path, content_type, holds) in [
        ("", JSON, "/shop.v1.Orders/Place"),
        ("/", JSON, "/shop.v1.Orders/Place"),
        ("/openapi.json", JSON, "/shop.v1.Orders/Place"),
        ("/openapi.yaml", YAML, "/shop.v1.Orders/Place:"),
        ("/openapi.yml", YAML, "/shop.v1.Orders/Place:"),
        ("/default", JSON, "/shop.v1.Orders/Place"),
        ("/default.yml", YAML, "/shop.v1.Orders/Place:"),
        ("/the%20partners", JSON, "x.Partners"),
        ("/the%20partners.json", JSON, "x.Partners"),
        ("/the%20partners.yaml", YAML, "name: x.Partners"),
        ("/api-docs", JSON, "/shop.v1.Orders/Place"),
        ("/api-docs/", JSON, "/shop.v1.Orders/Place"),
        ("/api-docs/default", JSON, "/shop.v1.Orders/Place"),
        ("/api-docs/the%20partners.yml", YAML, "name: x.Partners"),
        ("/swagger-ui", HTML, "/docs/api-docs/the%20partners.json"),
        ("/swagger-ui/", HTML, "swagger-ui-bundle.js"),
        ("/swagger-ui/index.html", HTML, "swagger-ui-bundle.js"),
        ("/redoc", HTML, "/docs/api-docs/default.json"),
        ("/redoc/", HTML, "redoc.standalone.js"),
        (
            "/redoc?x=y&group=the%20partners",
            HTML,
            "/docs/api-docs/the%20partners.json",
        ),
    ] {
        let page = get(&pages, &format!("/docs{path}")).await;
        assert_eq!(
            (page.status, page.content_type()),
            (StatusCode::OK, content_type),
            "{path}"
        );
        assert!(page.body.contains(holds), "{path}: {}", page.body);
    }
}

#[tokio::test]
async fn what_has_no_page_is_told_what_has() {
    let pages = pages("/dubbo/openapi");
    for (path, message) in [
        (
            "/nobody",
            "there are no documents `nobody`; there are `default`, `the partners`",
        ),
        (
            "/nobody.yaml",
            "there are no documents `nobody`; there are `default`, `the partners`",
        ),
        ("/api-docs/nobody.json", "there are no documents `nobody`"),
        ("/redoc?group=nobody", "there are no documents `nobody`"),
        ("/a/b", "/openapi.json"),
        ("/api-docs/default/x", "/openapi.json"),
        ("/swagger-ui/x.js", "/openapi.json"),
    ] {
        let page = get(&pages, &format!("/dubbo/openapi{path}")).await;
        assert_eq!(
            (page.status, page.content_type()),
            (StatusCode::NOT_FOUND, "application/json"),
            "{path}"
        );
        let body: Value = serde_json::from_str(&page.body).expect("JSON");
        assert_eq!(body["status"], "404");
        assert!(
            body["message"].as_str().expect("a text").contains(message),
            "{path}: {body}"
        );
    }
}

/// As recorded of dubbo-go and Dubbo Java.
#[tokio::test]
async fn while_switched_off_every_page_says_so() {
    for path in [
        "/dubbo/openapi",
        "/dubbo/openapi/openapi.json",
        "/dubbo/openapi/redoc",
    ] {
        let page = get(&NoPages, path).await;
        assert_eq!(
            (page.status, page.content_type()),
            (StatusCode::NOT_FOUND, "application/json"),
            "{path}"
        );
        assert_eq!(
            page.body,
            r#"{"message":"OpenAPI is not available","status":"404"}"#
        );
    }
}

#[tokio::test]
async fn pages_are_read_and_nothing_else() {
    let pages = pages("/docs");
    for path in ["/docs/openapi.json", "/docs/nobody"] {
        let page = get(&pages, path).await;
        let head = ask(&pages, Method::HEAD, path).await;
        assert_eq!((head.status, head.headers), (page.status, page.headers));
        assert_eq!(head.body, "");
    }
    let page = ask(&pages, Method::POST, "/docs").await;
    assert_eq!(page.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(page.headers["allow"], "GET, HEAD");
    assert_eq!(
        page.body,
        r#"{"message":"POST is not served here, only GET and HEAD","status":"405"}"#
    );
}
