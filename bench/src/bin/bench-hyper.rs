//! The yardstick: what HTTP/2 alone costs. Echoes the request's bytes with a gRPC status, and reads nothing in
//! them; of a request for a stream it reads what it asks for.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bench::envelope;
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
                .max_frame_size(bench::MAX_FRAME)
                .serve_connection(TokioIo::new(stream), service_fn(answer))
                .await;
            drop(served); // the load generator cuts its connections
        });
    }
}

/// `Ping`, or a stream of messages, each in a frame of its own.
async fn answer(request: Request<Incoming>) -> Result<Response<Answer>, hyper::Error> {
    let streams = request.uri().path().ends_with("/GreetServerStream");
    let message = request.into_body().collect().await?.to_bytes();
    let messages = if streams {
        let (name, count) = envelope::asked(message).unwrap_or_default();
        Messages::Stream {
            name,
            next: 0,
            count,
        }
    } else {
        Messages::Echo(Some(message))
    };
    let mut response = Response::new(Answer {
        messages,
        done: false,
    });
    let kind = HeaderValue::from_static("application/grpc+proto");
    response.headers_mut().insert("content-type", kind);
    Ok(response)
}

struct Answer {
    messages: Messages,
    done: bool,
}

enum Messages {
    Echo(Option<Bytes>),
    Stream { name: Bytes, next: u32, count: u32 },
}

impl Iterator for Messages {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        match self {
            Self::Echo(message) => message.take(),
            Self::Stream { name, next, count } if *next < *count => {
                *next += 1;
                Some(envelope::greeting(name, *next - 1))
            }
            Self::Stream { .. } => None,
        }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(message) = self.messages.next() {
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
