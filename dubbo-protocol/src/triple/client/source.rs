//! The body of an answer, whatever it comes over.

use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use dubbo_core::status::Status;
use h2::RecvStream;
use http::HeaderMap;

use super::{connection::Connection, failure::Failure, http1::Received};
use crate::endpoint::Place;

/// Where its bytes come from. Dropping it before their end tells the peer that nobody reads them.
pub(super) enum Source {
    /// A connection that has one answer at a time.
    Http1(Received),
    /// A stream of a connection that has many.
    Http2(RecvStream, Arc<Connection>),
}

impl Source {
    /// Whether it is known to have nothing, not even trailers.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Http1(received) => received.is_over(),
            Self::Http2(stream, _) => stream.is_end_stream(),
        }
    }

    /// The next bytes; `None` when there are no more. The peer sends no more than what is taken makes room for.
    ///
    /// # Errors
    ///
    /// The connection was lost or the answer cut off, on the way of a call to `place`; or the caller's own stream failed.
    pub(super) fn poll_data(
        &mut self,
        place: &Place,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Status>>> {
        match self {
            Self::Http1(received) => received.poll_data(place, cx),
            Self::Http2(stream, connection) => {
                Poll::Ready(match ready!(stream.poll_data(cx)) {
                    Some(Ok(chunk)) => {
                        // It fails only for more than was received.
                        let _ = stream.flow_control().release_capacity(chunk.len());
                        Some(Ok(chunk))
                    }
                    Some(Err(error)) => Some(Err(lost(error, connection, place))),
                    None => None,
                })
            }
        }
    }

    /// What HTTP/2 has behind the body. Nobody looks for it in HTTP/1.1.
    ///
    /// # Errors
    ///
    /// As [`poll_data`](Self::poll_data).
    pub(super) fn poll_trailers(
        &mut self,
        place: &Place,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<HeaderMap>, Status>> {
        match self {
            Self::Http1(_) => Poll::Ready(Ok(None)),
            Self::Http2(stream, connection) => stream
                .poll_trailers(cx)
                .map_err(|error| lost(error, connection, place)),
        }
    }
}

fn lost(error: h2::Error, connection: &Connection, place: &Place) -> Status {
    place.name(Failure::of(error, connection).into_status())
}
