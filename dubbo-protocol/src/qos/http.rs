//! Answering over HTTP/1.1, one request a connection.

use std::{
    convert::Infallible,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use dubbo_core::{extension::BoxError, http::HttpBody, invocation::Peer};
use futures_util::FutureExt as _;
use http::{HeaderValue, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body::{Body, Frame, SizeHint};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpStream, time::timeout};

use super::Routes;

/// Answers the one request of a connection by `routes`.
pub(super) async fn serve(stream: TcpStream, peer: Peer, routes: Arc<Routes>) {
    let remote = peer.remote;
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().clear();
        request.extensions_mut().insert(peer);
        let routes = Arc::clone(&routes);
        async move { Ok::<_, Infallible>(answer(request, &routes).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_headers(MOST_HEADERS)
        .max_buf_size(BUFFER)
        // Who wants more asks again: a page or a probe is no reason to hold one of few connections.
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    match timeout(WHOLE, connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::debug!(%error, %remote, "a request of an operator ended with an error");
        }
        Err(_) => {
            tracing::debug!(%remote, after = ?WHOLE, "a request of an operator was not over in time");
        }
    }
}

async fn answer(request: Request<Incoming>, routes: &Routes) -> Response<HttpBody> {
    let path = request.uri().path();
    let Some(page) = routes.find(path) else {
        let served: Vec<_> = routes.paths().collect();
        return text(
            StatusCode::NOT_FOUND,
            format!(
                "nothing is served at `{path}`; there is {}\n",
                served.join(", ")
            ),
        );
    };
    if request.body().size_hint().lower() > MAX_BODY as u64 {
        let refusal = format!("the body is over the limit of {MAX_BODY} bytes\n");
        return text(StatusCode::PAYLOAD_TOO_LARGE, refusal);
    }
    let path = path.to_owned();
    let request = request.map(|body| {
        HttpBody::new(Bounded {
            body: Some(body),
            left: MAX_BODY,
        })
    });
    // It may panic before it has given a future, too.
    let answering = async { page.handle(request).await };
    match timeout(ANSWER, AssertUnwindSafe(answering).catch_unwind()).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => {
            tracing::error!(path, "a page for operators panicked");
            let failure = format!("`{path}` failed: it panicked, and the log has more\n");
            text(StatusCode::INTERNAL_SERVER_ERROR, failure)
        }
        Err(_) => {
            let failure = format!("`{path}` took longer than {ANSWER:?}, and was stopped\n");
            text(StatusCode::INTERNAL_SERVER_ERROR, failure)
        }
    }
}

fn text(status: StatusCode, text: String) -> Response<HttpBody> {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

/// A body that is broken off where it is too large. Nothing follows that.
struct Bounded {
    body: Option<Incoming>,
    left: usize,
}

impl Body for Bounded {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let Some(frame) = ready!(Pin::new(body).poll_frame(cx)) else {
            return Poll::Ready(None);
        };
        let frame = frame?;
        let len = frame.data_ref().map_or(0, Bytes::len);
        let Some(left) = self.left.checked_sub(len) else {
            self.body = None;
            let refusal = format!("the body is over the limit of {MAX_BODY} bytes");
            return Poll::Ready(Some(Err(refusal.into())));
        };
        self.left = left;
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let body = self.body.as_ref();
        body.map_or_else(SizeHint::default, Incoming::size_hint)
    }
}

/// What the head of a request may take (`docs/spec/config.md` §4.5).
const HEAD: Duration = Duration::from_secs(5);

/// What a page may take with its body and its answer.
const ANSWER: Duration = Duration::from_secs(30);

/// What all of it may take, with the answer written.
const WHOLE: Duration = Duration::from_secs(45);

const MOST_HEADERS: usize = 64;

const BUFFER: usize = 64 << 10;

/// `docs/spec/config.md` §6.2.
const MAX_BODY: usize = 1 << 20;
