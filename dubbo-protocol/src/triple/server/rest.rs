//! What is left of a request that was answered before its end.

use std::{pin::Pin, time::Duration};

use bytes::Bytes;
use http_body::Body;

/// Reads `body` to its end behind the answer, and throws it away.
///
/// Dropped unread, it would have its stream reset, and each frame that is under way by then would count as one for a
/// stream that is not there. A caller that goes on for longer than is worth reading gets that reset.
pub(super) fn discard<B>(body: B)
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Send,
{
    if !body.is_end_stream() {
        // detached: it holds nothing but the body, and ends after `LINGER` or with the connection.
        tokio::spawn(tokio::time::timeout(LINGER, read_out(body)));
    }
}

async fn read_out<B: Body<Data = Bytes> + Unpin>(mut body: B) {
    let mut room = MAX_REST;
    while room > 0
        && let Some(Ok(frame)) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await
    {
        room = room.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
    }
}

const LINGER: Duration = Duration::from_secs(2);
const MAX_REST: usize = 1 << 20;
