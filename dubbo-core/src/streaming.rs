//! The messages of one direction of a streaming call, as users see them.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;

use crate::{
    attachments::Attachments,
    invocation::{LateTrailers, PayloadStream},
    payload::Adapter,
    status::Status,
    stream::{self, Feed},
};

/// A stream of messages, received or to be sent.
///
/// It is a [`Stream`] of `Result<T, Status>`; [`message`](Self::message) reads one without any trait. Dropping a
/// received stream cancels the call.
pub struct Streaming<T> {
    items: Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>,
    trailers: LateTrailers,
}

impl<T> Streaming<T> {
    /// A stream to send. An `Err` ends the call with that status.
    pub fn new(items: impl Stream<Item = Result<T, Status>> + Send + 'static) -> Self {
        Self {
            items: Box::pin(items),
            trailers: LateTrailers::default(),
        }
    }

    /// The next message; `None` at the end.
    ///
    /// # Cancel safety
    ///
    /// Safe: no message is lost when the future is dropped.
    pub async fn message(&mut self) -> Result<Option<T>, Status> {
        std::future::poll_fn(|cx| self.items.as_mut().poll_next(cx))
            .await
            .transpose()
    }

    /// The trailers of a received stream, once it has ended.
    pub fn trailers(&self) -> Option<&Attachments> {
        self.trailers.get()
    }

    /// For the framework: the messages of a received body.
    pub fn received<A>(body: PayloadStream) -> Self
    where
        A: Adapter<Message = T>,
        T: 'static,
    {
        let trailers = body.trailers();
        let decoded = Decoded::<A> {
            body,
            _adapter: std::marker::PhantomData,
        };
        Self {
            items: Box::pin(decoded),
            trailers,
        }
    }
}

impl<T: Send + 'static> Streaming<T> {
    /// A stream to send, fed from elsewhere. `capacity` messages wait at most; then [`Sender::send`] does.
    pub fn channel(capacity: usize) -> (Sender<T>, Self) {
        let (feed, items) = stream::channel(capacity);
        (Sender(feed), Self::new(items))
    }
}

impl<T> Stream for Streaming<T> {
    type Item = Result<T, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.items.as_mut().poll_next(cx)
    }
}

impl<T> fmt::Debug for Streaming<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streaming").finish_non_exhaustive()
    }
}

/// The feeding end of [`Streaming::channel`]. Dropping it ends the stream.
#[derive(Debug)]
pub struct Sender<T>(Feed<Result<T, Status>>);

impl<T> Sender<T> {
    /// Sends one message, when there is room for it.
    ///
    /// # Errors
    ///
    /// [`Closed`] when nobody reads any more: the call is over.
    ///
    /// # Cancel safety
    ///
    /// A dropped future has not sent the message.
    pub async fn send(&self, message: T) -> Result<(), Closed> {
        self.0.send(Ok(message)).await
    }

    /// Ends the call with `status`.
    ///
    /// # Errors
    ///
    /// [`Closed`] when the call is over already.
    pub async fn fail(&self, status: Status) -> Result<(), Closed> {
        self.0.send(Err(status)).await
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Nobody reads the stream any more: the call has ended or was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the call has ended; nobody reads the stream")]
pub struct Closed(());

impl Closed {
    pub(crate) fn new() -> Self {
        Self(())
    }
}

struct Decoded<A> {
    body: PayloadStream,
    _adapter: std::marker::PhantomData<fn() -> A>,
}

impl<A: Adapter> Stream for Decoded<A> {
    type Item = Result<A::Message, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.body).poll_next(cx).map(|item| {
            item.map(|payload| {
                payload?
                    .decode::<A>()
                    .map(A::unwrap)
                    .map_err(|error| Status::internal(error.to_string()).with_source(error))
            })
        })
    }
}
