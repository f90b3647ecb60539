//! What the tests mount.

use std::sync::Arc;

use async_trait::async_trait;
use dubbo_core::{
    http::{HttpBody, HttpHandler},
    protocol::{Exporter, Protocol as _, ProtocolError},
};
use http::{Request, Response};

use crate::greeter::{Provider, url};

/// Answers as a function says.
pub(crate) struct Answers<F>(pub(crate) F);

#[async_trait]
impl<F, Fut> HttpHandler for Answers<F>
where
    F: Fn(Request<HttpBody>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Response<HttpBody>> + Send,
{
    async fn handle(&self, request: Request<HttpBody>) -> Response<HttpBody> {
        (self.0)(request).await
    }
}

/// Says its name, and the path that is asked for.
pub(crate) fn named(name: &'static str) -> Arc<dyn HttpHandler> {
    Arc::new(Answers(move |request: Request<HttpBody>| async move {
        Response::new(format!("{name}:{}", request.uri()).into())
    }))
}

pub(crate) async fn try_mount(
    provider: &Provider,
    path: &str,
    handler: Arc<dyn HttpHandler>,
) -> Result<Box<dyn Exporter>, ProtocolError> {
    let server = url().with_port(provider.address.port()).with_path(path);
    provider.protocol.mount(&server, handler).await
}

pub(crate) async fn mount(
    provider: &Provider,
    path: &str,
    handler: Arc<dyn HttpHandler>,
) -> Box<dyn Exporter> {
    let mounted = try_mount(provider, path, handler).await;
    mounted.expect("mounted")
}
