//! HTTP beside calls: whatever an application serves itself, on the port of its services.
//!
//! [`InstanceBuilder::http`](crate::InstanceBuilder::http) takes a service of `tower`, such as a router of axum.

use std::future::poll_fn;

use ::http::header::CONTENT_TYPE;
use async_trait::async_trait;
use bytes::Bytes;
use http_body::Body;
use tower_service::Service;

pub use ::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
#[doc(inline)]
pub use dubbo_core::http::{HttpBody, HttpHandler};

use crate::spi::BoxError;

/// A service of `tower`, one clone for each request.
pub(crate) struct OfTower<S>(pub(crate) S);

#[async_trait]
impl<S, B> HttpHandler for OfTower<S>
where
    S: Service<Request<HttpBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    async fn handle(&self, request: Request<HttpBody>) -> Response<HttpBody> {
        let mut service = self.0.clone();
        // The service's own error need not be one that goes over to another thread.
        let is_ready = poll_fn(|cx| service.poll_ready(cx).map_err(Into::<BoxError>::into)).await;
        let answered = match is_ready {
            Ok(()) => service.call(request).await.map_err(Into::into),
            Err(error) => Err(error),
        };
        match answered {
            Ok(response) => response.map(HttpBody::new),
            Err(error) => failed(&*error),
        }
    }
}

/// The answer of a service that has none. What is wrong with it is no business of its callers.
fn failed(error: &(dyn std::error::Error + 'static)) -> Response<HttpBody> {
    tracing::error!(error, "an HTTP service failed");
    let body = r#"{"code":"internal","message":"the HTTP service failed"}"#;
    let mut response = Response::new(HttpBody::from(body));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        future::{Ready, ready},
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::{Context, Poll},
    };

    use super::*;

    /// Ready at the second look; fails when it is asked for what does not work.
    #[derive(Clone, Default)]
    struct Slow(Arc<AtomicUsize>);

    impl Service<Request<HttpBody>> for Slow {
        type Response = Response<HttpBody>;
        type Error = BoxError;
        type Future = Ready<Result<Self::Response, BoxError>>;

        fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
            if self.0.fetch_add(1, Ordering::Relaxed) > 0 {
                return Poll::Ready(Ok(()));
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        }

        fn call(&mut self, request: Request<HttpBody>) -> Self::Future {
            assert!(self.0.load(Ordering::Relaxed) > 1, "it was ready");
            ready(match request.uri().path() {
                "/broken" => Err("the secret reason".into()),
                path => Ok(Response::new(path.to_owned().into())),
            })
        }
    }

    async fn ask(path: &str) -> (u16, String) {
        let mut request = Request::new(HttpBody::empty());
        *request.uri_mut() = path.parse().expect("a path");
        let response = OfTower(Slow::default()).handle(request).await;
        let (head, mut body) = response.into_parts();
        let mut text = Vec::new();
        while let Some(frame) = poll_fn(|cx| std::pin::Pin::new(&mut body).poll_frame(cx)).await {
            let data = frame.expect("whole").into_data();
            text.extend_from_slice(&data.expect("no trailers"));
        }
        let text = String::from_utf8(text).expect("text");
        (head.status.as_u16(), text)
    }

    #[tokio::test]
    async fn a_service_is_asked_when_it_is_ready_and_its_error_keeps_its_text_from_callers() {
        assert_eq!(ask("/a").await, (200, "/a".to_owned()));
        let failed = r#"{"code":"internal","message":"the HTTP service failed"}"#;
        assert_eq!(ask("/broken").await, (500, failed.to_owned()));
    }

    /// Other types of error, too: a router of axum never fails.
    #[derive(Clone)]
    struct Never;

    impl Service<Request<HttpBody>> for Never {
        type Response = Response<HttpBody>;
        type Error = Infallible;
        type Future = Ready<Result<Self::Response, Infallible>>;

        fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _request: Request<HttpBody>) -> Self::Future {
            ready(Ok(Response::default()))
        }
    }

    #[test]
    fn a_service_that_cannot_fail_fits() {
        let _: Arc<dyn HttpHandler> = Arc::new(OfTower(Never));
    }
}
