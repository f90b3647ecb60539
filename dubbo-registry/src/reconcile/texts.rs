//! What the plugins on a [`TextStore`] have in common: requests with a limit, and texts that are followed.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use async_trait::async_trait;
use dubbo_core::{
    metadata::{CasOutcome, Ticket},
    registry::RegistryError,
    subscription::Subscription,
};
use futures_util::future::select_all;
use tokio::sync::watch;

use super::{
    Followed, Follows, Merge, News, Seen, Tasks, closed, end,
    follow::Source,
    request::{reached, within},
    view,
};
use crate::backend::{Guard, Hint, Text, TextKey, TextStore};

/// One plugin's share in a store of texts.
pub(crate) struct Texts<S: TextStore> {
    store: Arc<S>,
    follows: Follows<TextKey, Option<Text>>,
    /// Those that follow.
    followers: Tasks,
    /// Those that make subscriptions.
    views: Tasks,
    epochs: Arc<AtomicU64>,
    closed: AtomicBool,
    left: AtomicBool,
}

impl<S: TextStore> Texts<S> {
    /// One more that shares `store`.
    pub(crate) fn new(store: Arc<S>) -> Self {
        store.users().join();
        Self {
            store,
            follows: Follows::default(),
            followers: Tasks::default(),
            views: Tasks::default(),
            epochs: Arc::default(),
            closed: AtomicBool::new(false),
            left: AtomicBool::new(false),
        }
    }

    /// What messages call the server.
    pub(crate) fn address(&self) -> &str {
        self.store.address()
    }

    /// An error of `operation` if this was closed.
    pub(crate) fn open(&self, operation: impl FnOnce() -> String) -> Result<(), RegistryError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(closed(operation(), self.address()));
        }
        Ok(())
    }

    /// The first of `keys` that has a text.
    pub(crate) async fn first(&self, keys: &[TextKey]) -> Result<Option<Text>, RegistryError> {
        for key in keys {
            if let Some(text) = self.get(key).await? {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    pub(crate) async fn get(&self, key: &TextKey) -> Result<Option<Text>, RegistryError> {
        self.ask(|| format!("read {key}"), self.store.get(key))
            .await
    }

    /// Writes `text` under each of `keys`.
    pub(crate) async fn put(&self, keys: &[TextKey], text: &str) -> Result<(), RegistryError> {
        for key in keys {
            self.ask(|| format!("write {key}"), self.store.put(key, text))
                .await?;
        }
        Ok(())
    }

    pub(crate) async fn compare_and_put(
        &self,
        key: &TextKey,
        text: &str,
        ticket: &Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        let write = self.store.compare_and_put(key, text, ticket);
        self.ask(|| format!("write {key}"), write).await
    }

    /// Takes away what stands under each of `keys`.
    pub(crate) async fn remove(&self, keys: &[TextKey]) -> Result<(), RegistryError> {
        for key in keys {
            self.ask(|| format!("remove {key}"), self.store.remove(key))
                .await?;
        }
        Ok(())
    }

    pub(crate) async fn names(&self, group: &str) -> Result<Vec<Arc<str>>, RegistryError> {
        self.ask(|| format!("list {group}"), self.store.names(group))
            .await
    }

    /// Follows the texts under all of `keys`, as what `make` makes of them.
    pub(crate) async fn subscribe<T: Clone + PartialEq + Send + Sync + 'static>(
        &self,
        keys: &[TextKey],
        operation: String,
        make: fn(&[Option<Text>]) -> T,
    ) -> Result<Subscription<T>, RegistryError> {
        self.open(|| operation.clone())?;
        let several = Several {
            parts: keys.iter().map(|key| self.follow(key)).collect(),
            operation,
            address: self.address().to_owned(),
            make,
        };
        Ok(view(&self.views, &self.epochs, several).await)
    }

    fn follow(&self, key: &TextKey) -> Part {
        let followed = self.follows.follow(&self.followers, key, || Content {
            store: Arc::clone(&self.store),
            key: key.clone(),
        });
        Part {
            seen: followed.seen(),
            _followed: followed,
        }
    }

    /// Ends all subscriptions. The last one that shares the store ends it.
    pub(crate) async fn close(&self) {
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        self.views.end().await;
        self.followers.end().await;
        if self.leave() {
            end(&*self.store).await;
        }
    }

    async fn ask<T>(
        &self,
        operation: impl Fn() -> String,
        request: impl Future<Output = Result<T, RegistryError>>,
    ) -> Result<T, RegistryError> {
        self.open(&operation)?;
        within(&*self.store, &operation, async {
            reached(&*self.store).await?;
            request.await
        })
        .await
    }

    /// Whether the store has to be closed now.
    fn leave(&self) -> bool {
        !self.left.swap(true, Ordering::AcqRel) && self.store.users().leave()
    }
}

impl<S: TextStore> Drop for Texts<S> {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The texts under several keys, as they are followed.
struct Several<T> {
    parts: Vec<Part>,
    operation: String,
    address: String,
    make: fn(&[Option<Text>]) -> T,
}

struct Part {
    _followed: Arc<Followed<TextKey, Option<Text>>>,
    seen: watch::Receiver<Seen<Option<Text>>>,
}

#[async_trait]
impl<T: Clone + PartialEq + Send + Sync + 'static> Merge for Several<T> {
    type State = T;

    fn now(&mut self) -> Option<News<T>> {
        let mut texts = Vec::with_capacity(self.parts.len());
        for part in &mut self.parts {
            let seen = part.seen.borrow_and_update();
            if let Some(error) = &seen.error {
                return Some(Err(Arc::clone(error)));
            }
            texts.push(seen.last.clone()?);
        }
        Some(Ok((self.make)(&texts)))
    }

    fn unheard(&self) -> RegistryError {
        RegistryError::new(&self.operation, &self.address, "no answer yet")
    }

    async fn changed(&mut self) -> bool {
        let parts = self.parts.iter_mut();
        let news: Vec<_> = parts.map(|part| Box::pin(part.seen.changed())).collect();
        if news.is_empty() {
            return std::future::pending().await;
        }
        select_all(news).await.0.is_ok()
    }
}

struct Content<S> {
    store: Arc<S>,
    key: TextKey,
}

#[async_trait]
impl<S: TextStore> Source for Content<S> {
    type State = Option<Text>;
    type Client = S;

    fn client(&self) -> &S {
        &self.store
    }

    fn name(&self) -> String {
        self.key.to_string()
    }

    fn is_empty(state: &Self::State) -> bool {
        state.is_none()
    }

    fn with_missing(before: &Self::State, now: &Self::State) -> Option<Self::State> {
        (before.is_some() && now.is_none()).then(|| before.clone())
    }

    /// Texts outlive sessions.
    async fn ready(&self, _session: u64) {}

    async fn watch(&self, hint: Hint) -> Result<Guard, RegistryError> {
        self.store.watch(&self.key, hint).await
    }

    async fn read(&self) -> Result<Self::State, RegistryError> {
        self.store.get(&self.key).await
    }
}
