//! A server that keeps what it is sent: a collector of OTLP or a gateway of Prometheus.

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, request::Parts};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use tokio::{net::TcpListener, sync::mpsc, task::JoinHandle};

/// What is received, in order.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    received: mpsc::UnboundedReceiver<(Parts, Bytes)>,
    serving: JoinHandle<()>,
}

impl Receiver {
    /// Answers over HTTP/1.1 with `statuses`, and after those with 200.
    pub(crate) async fn http1(statuses: &[StatusCode]) -> Self {
        Self::serve(false, statuses).await
    }

    /// Answers over HTTP/2 as gRPC does, with status 0.
    pub(crate) async fn grpc() -> Self {
        Self::serve(true, &[]).await
    }

    async fn serve(is_grpc: bool, statuses: &[StatusCode]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let (keep, received) = mpsc::unbounded_channel();
        let statuses = Arc::new(Mutex::new(statuses.to_vec()));
        let serving = tokio::spawn(async move {
            while let Ok((io, _)) = listener.accept().await {
                let (keep, statuses) = (keep.clone(), Arc::clone(&statuses));
                let answer = service_fn(move |request: http::Request<Incoming>| {
                    let (keep, statuses) = (keep.clone(), Arc::clone(&statuses));
                    async move {
                        let (parts, body) = request.into_parts();
                        let body = body.collect().await.expect("all of it").to_bytes();
                        let _ = keep.send((parts, body));
                        let mut statuses = statuses.lock();
                        let next = (!statuses.is_empty()).then(|| statuses.remove(0));
                        Ok::<_, Infallible>(answer(is_grpc, next.unwrap_or(StatusCode::OK)))
                    }
                });
                let io = TokioIo::new(io);
                tokio::spawn(async move {
                    if is_grpc {
                        let http2 = http2::Builder::new(TokioExecutor::new());
                        let _ = http2.serve_connection(io, answer).await;
                    } else {
                        let _ = http1::Builder::new().serve_connection(io, answer).await;
                    }
                });
            }
        });
        Self {
            address,
            received,
            serving,
        }
    }

    /// The next request.
    pub(crate) async fn next(&mut self) -> (Parts, Bytes) {
        let received = dubbo_test::soon("a request", self.received.recv()).await;
        received.expect("the server is there")
    }

    /// Requests that have come and have not been looked at.
    pub(crate) fn rest(&mut self) -> Vec<(Parts, Bytes)> {
        std::iter::from_fn(|| self.received.try_recv().ok()).collect()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn answer(
    is_grpc: bool,
    status: StatusCode,
) -> Response<impl hyper::body::Body<Data = Bytes, Error = Infallible>> {
    let (message, trailers) = if is_grpc {
        let ok = (
            "grpc-status".parse().expect("a name"),
            HeaderValue::from_static("0"),
        );
        (Bytes::from_static(&[0; 5]), HeaderMap::from_iter([ok]))
    } else {
        (Bytes::new(), HeaderMap::new())
    };
    let trailers = (!trailers.is_empty()).then_some(Ok(trailers));
    let body = Full::new(message).with_trailers(async { trailers });
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer
}
