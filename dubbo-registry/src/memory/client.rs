//! One client of a memory registry: there is no connection that could be lost, and each request is answered at once.

use std::sync::Arc;

use async_trait::async_trait;
use dubbo_core::{
    list::List,
    metadata::{CasOutcome, Ticket},
    registry::RegistryError,
    url::Url,
};
use tokio::sync::watch;

use super::store::{Store, Watched};
use crate::backend::{
    Backend, Client, Entry, Guard, Hint, Place, Session, Text, TextKey, TextStore, Timing, Users,
};

pub(crate) struct MemoryClient {
    store: Arc<Store>,
    id: u64,
    address: String,
    users: Users,
    session: watch::Sender<Session>,
}

impl MemoryClient {
    /// A client of `store`, which messages call what `url` does.
    pub(crate) fn new(url: &Url, store: Arc<Store>) -> Self {
        Self {
            id: store.number(),
            store,
            address: url.origin(),
            users: Users::default(),
            session: watch::Sender::new(Session::Up {
                session: 1,
                connection: 1,
            }),
        }
    }

    /// Forgets what this client shows, as servers do with a session that is over.
    #[cfg(test)]
    pub(crate) fn forget(&self) {
        self.store.leave(self.id);
    }

    fn follow(&self, watched: Watched, hint: Hint) -> Guard {
        Guard::new(Watch {
            id: self.store.watch(watched, hint),
            store: Arc::clone(&self.store),
        })
    }
}

#[async_trait]
impl Client for MemoryClient {
    fn address(&self) -> &str {
        &self.address
    }

    fn session(&self) -> watch::Receiver<Session> {
        self.session.subscribe()
    }

    fn timing(&self) -> Timing {
        // What is read is always the truth.
        Timing {
            confirm_empty: std::time::Duration::ZERO,
            ..Timing::default()
        }
    }

    fn users(&self) -> &Users {
        &self.users
    }

    async fn close(&self) {
        self.store.leave(self.id);
    }
}

#[async_trait]
impl Backend for MemoryClient {
    type Value = Url;

    async fn show(&self, place: &Place, entries: &[Entry<Url>]) -> Result<(), RegistryError> {
        self.store.show(self.id, place, entries);
        Ok(())
    }

    async fn read(&self, place: &Place) -> Result<List<Entry<Url>>, RegistryError> {
        Ok(self.store.read(place))
    }

    async fn names(&self, folder: &Place) -> Result<Vec<Arc<str>>, RegistryError> {
        Ok(self.store.names(folder))
    }

    async fn watch(&self, place: &Place, hint: Hint) -> Result<Guard, RegistryError> {
        Ok(self.follow(Watched::Place(place.clone()), hint))
    }

    async fn watch_names(&self, folder: &Place, hint: Hint) -> Result<Guard, RegistryError> {
        Ok(self.follow(Watched::Names(folder.clone()), hint))
    }
}

#[async_trait]
impl TextStore for MemoryClient {
    async fn get(&self, key: &TextKey) -> Result<Option<Text>, RegistryError> {
        Ok(self.store.text(key))
    }

    async fn put(&self, key: &TextKey, text: &str) -> Result<(), RegistryError> {
        self.store.write(key, text, None);
        Ok(())
    }

    async fn compare_and_put(
        &self,
        key: &TextKey,
        text: &str,
        ticket: &Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        Ok(self.store.write(key, text, Some(ticket)))
    }

    async fn remove(&self, key: &TextKey) -> Result<(), RegistryError> {
        self.store.erase(key);
        Ok(())
    }

    async fn names(&self, group: &str) -> Result<Vec<Arc<str>>, RegistryError> {
        Ok(self.store.keys(group))
    }

    async fn watch(&self, key: &TextKey, hint: Hint) -> Result<Guard, RegistryError> {
        Ok(self.follow(Watched::Text(key.clone()), hint))
    }
}

impl Drop for MemoryClient {
    fn drop(&mut self) {
        self.store.leave(self.id);
    }
}

struct Watch {
    store: Arc<Store>,
    id: u64,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.store.unwatch(self.id);
    }
}
