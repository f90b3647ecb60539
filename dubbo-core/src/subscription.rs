//! Watching something that changes: the newest state counts, and an error is never taken for an empty state.

use std::{fmt, sync::Arc};

use tokio::sync::watch;

use crate::registry::RegistryError;

/// What a [`Subscription`] shows: the newest state, or why there is none now.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Update<T> {
    /// Grows with each update of one source. An update with a smaller epoch is older and can be dropped.
    pub epoch: u64,
    /// The state. `Ok` of an empty list means that there is nothing; `Err` means that nobody knows.
    pub state: Result<T, Arc<RegistryError>>,
}

impl<T> Update<T> {
    /// An update.
    pub fn new(epoch: u64, state: Result<T, Arc<RegistryError>>) -> Self {
        Self { epoch, state }
    }
}

/// The newest state of something remote. There is always one, from the first read on; states in between may be skipped.
///
/// Dropping it ends the subscription.
pub struct Subscription<T> {
    updates: watch::Receiver<Update<T>>,
    end: OnDrop,
}

impl<T: Clone> Subscription<T> {
    /// Follows `updates`; `unsubscribe` runs when the subscription is dropped, and must not block.
    pub fn new(
        updates: watch::Receiver<Update<T>>,
        unsubscribe: impl FnOnce() + Send + Sync + 'static,
    ) -> Self {
        Self {
            updates,
            end: OnDrop(Some(Box::new(unsubscribe))),
        }
    }

    /// Keeps `what` until the subscription is dropped.
    pub fn holding(mut self, what: impl Send + Sync + 'static) -> Self {
        let end = self.end.0.take();
        self.end = OnDrop(Some(Box::new(move || {
            drop(what);
            if let Some(end) = end {
                end();
            }
        })));
        self
    }

    /// The newest update, which [`changed`](Self::changed) then does not give again.
    pub fn current(&mut self) -> Update<T> {
        self.updates.borrow_and_update().clone()
    }

    /// Waits for an update that has not been seen; `None` once the source has closed.
    ///
    /// # Cancel safety
    ///
    /// Safe: an update that was not returned is returned next time.
    pub async fn changed(&mut self) -> Option<Update<T>> {
        self.updates.changed().await.ok()?;
        Some(self.current())
    }
}

impl<T: fmt::Debug> fmt::Debug for Subscription<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscription")
            .field(&*self.updates.borrow())
            .finish()
    }
}

struct OnDrop(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}
