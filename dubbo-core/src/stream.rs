//! Two streams to send with, so that a program needs no further crate for them. Any other [`Stream`] does as well.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;
use tokio::sync::mpsc;

use crate::streaming::Closed;

/// The items of an iterator.
pub fn iter<I: IntoIterator>(items: I) -> Iter<I::IntoIter> {
    Iter(items.into_iter())
}

/// A stream fed from elsewhere. `capacity` items (at least one) wait at most; then [`Feed::send`] does.
pub fn channel<T>(capacity: usize) -> (Feed<T>, Fed<T>) {
    let (sender, receiver) = mpsc::channel(capacity.max(1));
    (Feed(sender), Fed(receiver))
}

/// See [`iter`].
#[derive(Debug, Clone)]
pub struct Iter<I>(I);

impl<I: Iterator + Unpin> Stream for Iter<I> {
    type Item = I::Item;

    fn poll_next(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<I::Item>> {
        Poll::Ready(self.0.next())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

/// The feeding end of a [`channel`]. Dropping the last one ends the stream.
pub struct Feed<T>(mpsc::Sender<T>);

impl<T> Feed<T> {
    /// Sends one item, when there is room for it.
    ///
    /// # Errors
    ///
    /// [`Closed`] when nobody reads any more: the call is over.
    ///
    /// # Cancel safety
    ///
    /// A dropped future has not sent the item.
    pub async fn send(&self, item: T) -> Result<(), Closed> {
        self.0.send(item).await.map_err(|_| Closed::new())
    }
}

impl<T> Clone for Feed<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for Feed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").finish_non_exhaustive()
    }
}

/// The reading end of a [`channel`].
pub struct Fed<T>(mpsc::Receiver<T>);

impl<T> Stream for Fed<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.0.poll_recv(cx)
    }
}

impl<T> fmt::Debug for Fed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fed").finish_non_exhaustive()
    }
}
