//! What can be followed on a [`Backend`]: the entries of a place, and the names in a folder.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use dubbo_core::{list::List, registry::RegistryError};

use super::{Core, follow::Source};
use crate::backend::{Backend, Entry, Guard, Hint, Place};

pub(super) struct Entries<B: Backend> {
    pub(super) core: Arc<Core<B>>,
    pub(super) place: Place,
}

#[async_trait]
impl<B: Backend> Source for Entries<B> {
    type State = List<Entry<B::Value>>;
    type Client = B;

    fn client(&self) -> &B {
        &self.core.backend
    }

    fn name(&self) -> String {
        self.place.0.to_string()
    }

    fn is_empty(state: &Self::State) -> bool {
        state.is_empty()
    }

    fn with_missing(before: &Self::State, now: &Self::State) -> Option<Self::State> {
        with_missing(before, now, |entry: &Entry<B::Value>| &entry.id)
    }

    async fn ready(&self, session: u64) {
        self.core.all_tried(session).await;
    }

    async fn watch(&self, hint: Hint) -> Result<Guard, RegistryError> {
        self.core.backend.watch(&self.place, hint).await
    }

    async fn read(&self) -> Result<Self::State, RegistryError> {
        self.core.backend.read(&self.place).await
    }
}

pub(super) struct Names<B: Backend> {
    pub(super) core: Arc<Core<B>>,
    pub(super) folder: Place,
}

#[async_trait]
impl<B: Backend> Source for Names<B> {
    type State = Arc<[Arc<str>]>;
    type Client = B;

    fn client(&self) -> &B {
        &self.core.backend
    }

    fn name(&self) -> String {
        format!("the names in {}", self.folder.0)
    }

    fn is_empty(state: &Self::State) -> bool {
        state.is_empty()
    }

    fn with_missing(before: &Self::State, now: &Self::State) -> Option<Self::State> {
        with_missing(&**before, &**now, |name: &Arc<str>| name)
    }

    async fn ready(&self, session: u64) {
        self.core.all_tried(session).await;
    }

    async fn watch(&self, hint: Hint) -> Result<Guard, RegistryError> {
        self.core.backend.watch_names(&self.folder, hint).await
    }

    async fn read(&self) -> Result<Self::State, RegistryError> {
        let mut names = self.core.backend.names(&self.folder).await?;
        names.sort();
        names.dedup();
        Ok(names.into())
    }
}

/// `now`, with what of `before` is missing there; `None` if nothing is. In the order of the ids.
fn with_missing<'s, T: Clone + 's, S: FromIterator<T>>(
    before: impl IntoIterator<Item = &'s T>,
    now: impl IntoIterator<Item = &'s T>,
    id: impl Fn(&T) -> &Arc<str>,
) -> Option<S> {
    let mut all: BTreeMap<_, _> = now.into_iter().map(|one| (id(one), one)).collect();
    let known = all.len();
    for one in before {
        all.entry(id(one)).or_insert(one);
    }
    (all.len() > known).then(|| all.into_values().cloned().collect())
}

impl<B: Backend> Core<B> {
    /// Waits until all that is shown was shown again in `session`, or was tried for as long as a request may take.
    async fn all_tried(&self, session: u64) {
        let limit = self.backend.timing().limit;
        let _ = tokio::time::timeout(limit, self.shows.all_tried(session)).await;
    }
}
