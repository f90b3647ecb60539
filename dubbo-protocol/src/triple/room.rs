//! Room for what is sent on a stream of HTTP/2.

use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::SendStream;

/// Waits for room for some of a message; false when there will be none.
pub(super) fn poll_room(stream: &mut SendStream<Bytes>, cx: &mut Context<'_>) -> Poll<bool> {
    while stream.capacity() == 0 {
        match ready!(stream.poll_capacity(cx)) {
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return Poll::Ready(false),
        }
    }
    Poll::Ready(true)
}
