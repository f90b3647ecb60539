//! The yardstick: what HTTP/2 alone costs. Echoes the request's bytes with a gRPC status, and reads nothing in them.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use hyper::{body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind(bench::address()).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            let served = http2::Builder::new(TokioExecutor::new())
                .max_concurrent_streams(bench::MAX_CONCURRENT_STREAMS)
                .initial_stream_window_size(bench::STREAM_WINDOW)
                .initial_connection_window_size(bench::CONNECTION_WINDOW)
                .serve_connection(TokioIo::new(stream), service_fn(echo))
                .await;
            drop(served); // the load generator cuts its connections
        });
    }
}

async fn echo(request: Request<Incoming>) -> Result<Response<Echo>, hyper::Error> {
    let message = request.into_body().collect().await?.to_bytes();
    let mut response = Response::new(Echo {
        message: Some(message),
        done: false,
    });
    let kind = HeaderValue::from_static("application/grpc+proto");
    response.headers_mut().insert("content-type", kind);
    Ok(response)
}

struct Echo {
    message: Option<Bytes>,
    done: bool,
}

impl Body for Echo {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(message) = self.message.take() {
            return Poll::Ready(Some(Ok(Frame::data(message))));
        }
        if std::mem::replace(&mut self.done, true) {
            return Poll::Ready(None);
        }
        let mut trailers = HeaderMap::with_capacity(1);
        trailers.insert("grpc-status", HeaderValue::from_static("0"));
        Poll::Ready(Some(Ok(Frame::trailers(trailers))))
    }
}
