//! Keeping what was wished for fulfilled and what is followed up to date, for all backends alike.
//!
//! A [`Reconciler`] stands above one client. Each plugin that uses it has a [`Handle`], which makes wishes and follows.
//!
//! - What should be shown in a place is a list of *wishes*. One task a place ([`keep`]) makes the server show exactly
//!   these, and again in each new session, when somebody else has taken something away, and now and then. A wish that
//!   the server refuses is given back to whoever made it; a refused change leaves what was there before.
//! - What is followed is read in full whenever there may be news ([`follow`]): when the server hints at it, on a new
//!   connection, and now and then. An equal state is no news, a failure is never an empty state, and an empty state is
//!   believed only when it lasts. After an outage those who are missing stay for a while, as they may be coming back
//!   ([`doubt`]). In a new session nothing is read before all that we show was shown again, or our own
//!   entries would be missing in it. One task follows one thing for all who ask for it.
//!
//! Every request has a time limit, so that one that hangs holds up its own place at most. Failures are tried again for
//! ever, with growing pauses.

mod doubt;
mod entries;
mod follow;
mod follows;
mod keep;
mod request;
mod shows;
mod tasks;
#[cfg(test)]
mod tests;
mod texts;
mod view;

use std::{
    error::Error,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use dubbo_core::{list::List, registry::RegistryError};
use futures_util::future::join_all;

use self::{
    entries::{Entries, Names},
    request::Up,
    shows::Shows,
};
pub(crate) use self::{
    follow::Seen,
    follows::{Followed, Follows},
    request::within,
    shows::{Fulfilled, Gone},
    tasks::Tasks,
    texts::Texts,
    view::{Merge, News, view},
};
use crate::backend::{Backend, Entry, Place, Session};

/// What the plugins of one client wish for and follow.
pub(crate) struct Reconciler<B: Backend> {
    core: Arc<Core<B>>,
    places: Follows<Place, List<Entry<B::Value>>>,
    folders: Follows<Place, Arc<[Arc<str>]>>,
    tasks: Tasks,
    epochs: Arc<AtomicU64>,
    last_handle: AtomicU64,
    handles: AtomicU64,
}

/// What tasks of a [`Reconciler`] have in common. They do not own the reconciler, so that they end with it.
struct Core<B: Backend> {
    backend: Arc<B>,
    shows: Shows<B::Value>,
}

/// A share in following the entries of a place.
pub(crate) type FollowedPlace<V> = Arc<Followed<Place, List<Entry<V>>>>;

/// A share in following the names of a folder.
pub(crate) type FollowedFolder = Arc<Followed<Place, Arc<[Arc<str>]>>>;

impl<B: Backend> Reconciler<B> {
    /// A reconciler that has nothing to do yet. It may be made outside of a runtime.
    pub(crate) fn new(backend: Arc<B>) -> Arc<Self> {
        Arc::new(Self {
            core: Arc::new(Core {
                backend,
                shows: Shows::default(),
            }),
            places: Follows::default(),
            folders: Follows::default(),
            tasks: Tasks::default(),
            epochs: Arc::default(),
            last_handle: AtomicU64::new(0),
            handles: AtomicU64::new(0),
        })
    }

    /// The client.
    pub(crate) fn backend(&self) -> &Arc<B> {
        &self.core.backend
    }

    /// Follows the entries of `place`.
    pub(crate) fn follow(&self, place: &Place) -> FollowedPlace<B::Value> {
        self.places.follow(&self.tasks, place, || Entries {
            core: Arc::clone(&self.core),
            place: place.clone(),
        })
    }

    /// Follows the names of `folder`.
    pub(crate) fn follow_names(&self, folder: &Place) -> FollowedFolder {
        self.folders.follow(&self.tasks, folder, || Names {
            core: Arc::clone(&self.core),
            folder: folder.clone(),
        })
    }

    /// Reads the entries of `place` once.
    pub(crate) async fn read(&self, place: &Place) -> Result<List<Entry<B::Value>>, RegistryError> {
        let backend = self.backend();
        within(&**backend, || format!("read {}", place.0), async {
            self.reached().await?;
            backend.read(place).await
        })
        .await
    }

    /// Reads the names of `folder` once.
    pub(crate) async fn names(&self, folder: &Place) -> Result<Vec<Arc<str>>, RegistryError> {
        let backend = self.backend();
        within(
            &**backend,
            || format!("read the names in {}", folder.0),
            async {
                self.reached().await?;
                backend.names(folder).await
            },
        )
        .await
    }

    /// Waits until the server is reached, or its client says that it cannot be.
    async fn reached(&self) -> Result<(), RegistryError> {
        request::reached(&**self.backend()).await
    }
}

impl<B: Backend> fmt::Debug for Reconciler<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reconciler")
            .field(&self.backend().address())
            .finish()
    }
}

/// What one plugin wishes for and follows.
#[derive(Debug)]
pub(crate) struct Handle<B: Backend> {
    reconciler: Arc<Reconciler<B>>,
    id: u64,
    /// Those that make subscriptions.
    tasks: Tasks,
    closed: AtomicBool,
    left: AtomicBool,
}

impl<B: Backend> Handle<B> {
    /// One more that shares the client.
    pub(crate) fn new(reconciler: Arc<Reconciler<B>>) -> Self {
        reconciler.backend().users().join();
        reconciler.handles.fetch_add(1, Ordering::AcqRel);
        Self {
            id: reconciler.last_handle.fetch_add(1, Ordering::Relaxed),
            reconciler,
            tasks: Tasks::default(),
            closed: AtomicBool::new(false),
            left: AtomicBool::new(false),
        }
    }

    pub(crate) fn reconciler(&self) -> &Arc<Reconciler<B>> {
        &self.reconciler
    }

    /// What messages call the server.
    pub(crate) fn address(&self) -> &str {
        self.reconciler.backend().address()
    }

    /// Why the server cannot be reached now.
    pub(crate) fn trouble(&self) -> Option<Arc<RegistryError>> {
        match &*self.reconciler.backend().session().borrow() {
            Session::Down(error) => error.clone(),
            Session::Up { .. } => None,
        }
    }

    /// An error of `operation` if this was closed.
    pub(crate) fn open(&self, operation: impl FnOnce() -> String) -> Result<(), RegistryError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(closed(operation(), self.address()));
        }
        Ok(())
    }

    /// Wishes for `entry` in `place`, and keeps wishing for it whether anybody waits or not.
    pub(crate) fn show(&self, place: &Place, entry: Entry<B::Value>) -> Fulfilled {
        let reconciler = &self.reconciler;
        let core = &reconciler.core;
        core.shows.wish(self.id, place, entry, |versions| {
            let keep = keep::keep(Arc::clone(core), place.clone(), versions);
            reconciler.tasks.spawn(keep);
        })
    }

    /// Takes a wish back; `None` if nothing has to go.
    pub(crate) fn hide(&self, place: &Place, id: &str) -> Option<Gone> {
        self.reconciler.core.shows.take_back(self.id, place, id)
    }

    /// Starts a subscription on what `merge` makes of what it follows, and waits for its first state.
    pub(crate) async fn view<M: Merge>(
        &self,
        merge: M,
    ) -> dubbo_core::subscription::Subscription<M::State> {
        view(&self.tasks, &self.reconciler.epochs, merge).await
    }

    /// Takes back all wishes, and waits until it is so if the server can be reached; ends all subscriptions. The last
    /// one ends the client.
    pub(crate) async fn close(&self) {
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        self.tasks.end().await;
        let backend = self.reconciler.backend();
        let gone = self.reconciler.core.shows.take_all_back(self.id);
        if !gone.is_empty() && Up::now(&backend.session()).is_some() {
            let limit = backend.timing().limit;
            let all = tokio::time::timeout(limit, join_all(gone)).await;
            if all.is_err() {
                let address = backend.address();
                tracing::warn!(
                    address,
                    ?limit,
                    "not all that was registered was taken back in time"
                );
            }
        }
        if self.leave() {
            self.reconciler.tasks.cut().await;
            self.reconciler.core.shows.clear();
        }
        if backend.users().leave() {
            end(&**backend).await;
        }
    }

    /// Whether it was the last handle that left; never twice.
    fn leave(&self) -> bool {
        !self.left.swap(true, Ordering::AcqRel)
            && self.reconciler.handles.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

impl<B: Backend> Drop for Handle<B> {
    /// A plugin that nobody closed: its wishes go as far as the others that share the client live on to see to it.
    fn drop(&mut self) {
        if !self.left.load(Ordering::Acquire) {
            self.reconciler.core.shows.take_all_back(self.id);
            self.leave();
            self.reconciler.backend().users().leave();
        }
    }
}

/// Closes a client within its time limit.
async fn end<C: crate::backend::Client + ?Sized>(client: &C) {
    let limit = client.timing().limit;
    if tokio::time::timeout(limit, client.close()).await.is_err() {
        let address = client.address();
        tracing::warn!(address, ?limit, "the session was not closed in time");
    }
}

/// An operation on something that was closed.
pub(crate) fn closed(operation: impl Into<String>, address: &str) -> RegistryError {
    RegistryError::new(operation, address, "it is closed").refused()
}

/// `error` once more, for one more who waits for the same.
pub(crate) fn copy(error: &Arc<RegistryError>) -> RegistryError {
    let mut copy = RegistryError::new(&error.operation, &error.address, &error.reason);
    copy.kind = error.kind;
    if error.source.is_some() {
        copy = copy.with_source(Source(Arc::clone(error)));
    }
    copy
}

/// The source of an error that several have.
#[derive(Debug)]
struct Source(Arc<RegistryError>);

impl Source {
    fn inner(&self) -> Option<&(dyn Error + 'static)> {
        let source = self.0.source.as_deref()?;
        Some(source)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.inner() {
            Some(source) => fmt::Display::fmt(source, f),
            None => Ok(()),
        }
    }
}

impl Error for Source {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.inner()?.source()
    }
}
