//! Probes over HTTP.

use std::sync::Arc;

use ::http::{HeaderValue, Method, Request, Response, StatusCode, header::ALLOW};
use async_trait::async_trait;
use dubbo_core::http::{HttpBody, HttpHandler};

use super::{Shared, http::plain};
use crate::instance::Probe;

/// Answers one probe, to everybody.
pub(super) struct ProbePage {
    shared: Arc<Shared>,
    probe: Probe,
    dialects: Dialects,
}

/// Whose words are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialects {
    /// dubbo-go's: `ok`, or what is wrong.
    Go,
    /// Dubbo Java's: `true`, or `false` and what is wrong.
    Java,
}

impl ProbePage {
    pub(super) fn new(shared: Arc<Shared>, probe: Probe, dialects: Dialects) -> Self {
        Self {
            shared,
            probe,
            dialects,
        }
    }
}

#[async_trait]
impl HttpHandler for ProbePage {
    async fn handle(&self, request: Request<HttpBody>) -> Response<HttpBody> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let text = format!("a probe is asked with GET, not with {}", request.method());
            let mut refusal = plain(StatusCode::METHOD_NOT_ALLOWED, text);
            let allowed = HeaderValue::from_static("GET, HEAD");
            refusal.headers_mut().insert(ALLOW, allowed);
            return refusal;
        }
        let answer = match self.shared.instance() {
            Some(instance) => instance.probe(self.probe).await,
            None => Err("the instance has ended".to_owned()),
        };
        match (answer, self.dialects) {
            (Ok(()), Dialects::Go) => plain(StatusCode::OK, "ok"),
            (Ok(()), Dialects::Java) => plain(StatusCode::OK, "true"),
            (Err(why), Dialects::Go) => plain(StatusCode::SERVICE_UNAVAILABLE, why),
            (Err(why), Dialects::Java) => {
                plain(StatusCode::SERVICE_UNAVAILABLE, format!("false\n{why}"))
            }
        }
    }
}
