//! What is left of a request that was answered before its end.

use std::{
    error::Error,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::runtime::Handle;

/// The body of a request, whatever it comes in.
pub(super) trait RequestBody:
    Body<Data = Bytes, Error: Error + Send + 'static> + Send + Unpin + 'static
{
}

impl<B> RequestBody for B where
    B: Body<Data = Bytes, Error: Error + Send + 'static> + Send + Unpin + 'static
{
}

/// A body whose rest is [discarded](discard) if whoever reads it does not get to its end.
#[derive(Debug)]
pub(super) struct Unread<B: RequestBody>(Option<B>);

impl<B: RequestBody> Unread<B> {
    pub(super) const fn new(body: B) -> Self {
        Self(Some(body))
    }
}

/// Nothing follows the end or an error.
impl<B: RequestBody> Body for Unread<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let Some(body) = &mut self.0 else {
            return Poll::Ready(None);
        };
        let frame = ready!(Pin::new(body).poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) {
            self.0 = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let none = || SizeHint::with_exact(0);
        self.0.as_ref().map_or_else(none, Body::size_hint)
    }
}

impl<B: RequestBody> Drop for Unread<B> {
    fn drop(&mut self) {
        if let Some(body) = self.0.take() {
            discard(body);
        }
    }
}

/// Reads `body` to its end behind the answer, and throws it away.
///
/// Dropped unread, it would over HTTP/2 have its stream reset, and each frame that is under way by then would count as one
/// for a stream that is not there. Over HTTP/1 the connection would be closed under a caller that still writes, who then
/// does not get to read the answer. A caller that goes on for longer than is worth reading gets that.
pub(super) fn discard<B: RequestBody>(body: B) {
    if body.is_end_stream() {
        return;
    }
    // A handler may have taken its stream to a thread of its own.
    if let Ok(runtime) = Handle::try_current() {
        // detached: it holds nothing but the body, and ends after `LINGER` or with the request or its connection.
        runtime.spawn(tokio::time::timeout(LINGER, read_out(body)));
    }
}

async fn read_out<B: RequestBody>(mut body: B) {
    let mut room = MAX_REST;
    while room > 0
        && let Some(Ok(frame)) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await
    {
        room = room.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
    }
}

const LINGER: Duration = Duration::from_secs(2);
const MAX_REST: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use tokio::time::Instant;

    use super::*;

    /// Frames of this size, one every so long, and how many have been read; the last of them is followed by the end.
    struct Frames {
        size: usize,
        every: Duration,
        left: usize,
        read: Arc<AtomicUsize>,
        next: Pin<Box<tokio::time::Sleep>>,
    }

    impl Frames {
        fn new(size: usize, every: Duration, left: usize) -> Self {
            Self {
                size,
                every,
                left,
                read: Arc::default(),
                next: Box::pin(tokio::time::sleep(every)),
            }
        }
    }

    impl Body for Frames {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            ready!(self.next.as_mut().poll(cx));
            if self.left == 0 {
                return Poll::Ready(None);
            }
            let next = Instant::now() + self.every;
            self.next.as_mut().reset(next);
            self.left -= 1;
            self.read.fetch_add(1, Ordering::Relaxed);
            Poll::Ready(Some(Ok(Frame::data(vec![0; self.size].into()))))
        }
    }

    fn tasks() -> usize {
        Handle::current().metrics().num_alive_tasks()
    }

    #[tokio::test(start_paused = true)]
    async fn a_rest_is_read_as_far_as_it_is_worth() {
        let quick = Duration::from_millis(1);
        for (size, every, left, want) in [
            (10, quick, 100, 100),
            (100 << 10, quick, usize::MAX, 11),
            (10, Duration::from_millis(300), usize::MAX, 6),
            (10, Duration::MAX, 1, 0),
        ] {
            let body = Frames::new(size, every, left);
            let read = Arc::clone(&body.read);
            drop(Unread::new(body));
            tokio::time::sleep(2 * LINGER).await;
            assert_eq!(read.load(Ordering::Relaxed), want, "{size} every {every:?}");
            assert_eq!(tasks(), 0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_reads_on_where_there_is_no_rest() {
        let mut body = Unread::new(Frames::new(10, Duration::ZERO, 2));
        for frames in [1, 1, 0, 0] {
            let frame = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
            assert_eq!(frame.iter().count(), frames);
        }
        drop(body);
        assert_eq!(tasks(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_handler_may_leave_its_stream_on_a_thread_of_its_own() {
        let body = Unread::new(Frames::new(10, Duration::ZERO, 2));
        let left = std::thread::spawn(move || drop(body)).join();
        assert!(left.is_ok());
    }
}
