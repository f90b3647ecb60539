//! The page that Prometheus reads.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use dubbo_core::http::{HttpBody, HttpHandler};
use http::{
    HeaderValue, Method, Request, Response, StatusCode,
    header::{ALLOW, CONTENT_TYPE},
};
use tokio::time::Instant;

use super::Recorder;

/// Answers with all numbers.
pub(crate) struct NumbersPage(pub(crate) Arc<Recorder>);

#[async_trait]
impl HttpHandler for NumbersPage {
    async fn handle(&self, request: Request<HttpBody>) -> Response<HttpBody> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut refusal = Response::new(HttpBody::from("numbers are read with GET\n"));
            *refusal.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            let allowed = HeaderValue::from_static("GET, HEAD");
            refusal.headers_mut().insert(ALLOW, allowed);
            return refusal;
        }
        let body = if request.method() == Method::HEAD {
            HttpBody::empty()
        } else {
            HttpBody::from(Bytes::from(self.0.text(Instant::now())))
        };
        let mut page = Response::new(body);
        let kind = HeaderValue::from_static(TEXT);
        page.headers_mut().insert(CONTENT_TYPE, kind);
        page
    }
}

/// The text format of Prometheus.
pub(super) const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
