//! The body of a request.

use std::{
    error::Error,
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use h2::RecvStream;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

/// The body of a request, by whichever version of HTTP it comes.
#[derive(Debug)]
pub(super) enum Received {
    Http1(Incoming),
    Http2(RecvStream),
}

/// What broke a request off.
#[derive(Debug)]
pub(super) enum BrokenOff {
    Http1(hyper::Error),
    Http2(h2::Error),
}

impl Body for Received {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match self.get_mut() {
            Self::Http1(body) => Pin::new(body).poll_frame(cx).map_err(BrokenOff::Http1),
            Self::Http2(stream) => {
                let data = ready!(stream.poll_data(cx));
                Poll::Ready(data.map(|data| {
                    let data = data.map_err(BrokenOff::Http2)?;
                    // It fails only for more than has come.
                    let _ = stream.flow_control().release_capacity(data.len());
                    Ok(Frame::data(data))
                }))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Http1(body) => body.is_end_stream(),
            Self::Http2(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Http1(body) => body.size_hint(),
            Self::Http2(_) => SizeHint::default(),
        }
    }
}

impl fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http1(error) => error.fmt(f),
            Self::Http2(error) => error.fmt(f),
        }
    }
}

impl Error for BrokenOff {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(match self {
            Self::Http1(error) => error,
            Self::Http2(error) => error,
        })
    }
}
