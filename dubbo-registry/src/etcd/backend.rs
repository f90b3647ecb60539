//! Entries as keys of a lease, texts as keys that stay.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use dubbo_core::{
    list::List,
    metadata::{CasOutcome, Ticket},
    registry::RegistryError,
};
use futures_util::future::{join, join_all};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::client::{Connection, Depth, Options, Shown};
use crate::{
    backend::{
        Backend, Client, Entry, Guard, Hint, OUTAGE_GRACE, Place, Session, Text, TextKey,
        TextStore, Timing, Users, by_id,
    },
    tree,
};

/// The client of a cluster.
pub(super) struct Cluster {
    connection: Connection,
    users: Users,
    /// What this client shows, or may still show after a failure.
    shown: Mutex<BTreeMap<Place, BTreeSet<Arc<str>>>>,
}

impl Cluster {
    pub(super) fn new(options: Options) -> Self {
        Self {
            connection: Connection::new(options),
            users: Users::default(),
            shown: Mutex::default(),
        }
    }

    /// Makes the key of an entry ours, with this value.
    ///
    /// dubbo-go's consumers hear of instances that change and not of those that are new, and are deaf for a moment after
    /// each change. So what is new is written once more, a moment later.
    async fn show_entry(&self, path: &str, value: &[u8]) -> Result<(), RegistryError> {
        let shown = self.connection.show(path, value).await?;
        if shown == Shown::New && !value.is_empty() {
            tokio::time::sleep(DEAF).await;
            self.connection.repeat(path, value).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Client for Cluster {
    fn address(&self) -> &str {
        self.connection.address()
    }

    fn session(&self) -> watch::Receiver<Session> {
        self.connection.session()
    }

    fn timing(&self) -> Timing {
        Timing {
            grace: OUTAGE_GRACE,
            // To show an entry takes two requests, and a list may take several, of which the first that fails ends it.
            limit: self.connection.limit() * 2 + Duration::from_secs(1),
            ..Timing::default()
        }
    }

    fn users(&self) -> &Users {
        &self.users
    }

    async fn close(&self) {
        self.connection.close().await;
    }
}

#[async_trait]
impl Backend for Cluster {
    type Value = Arc<[u8]>;

    async fn show(
        &self,
        place: &Place,
        entries: &[Entry<Self::Value>],
    ) -> Result<(), RegistryError> {
        let wanted: BTreeSet<_> = entries.iter().map(|entry| Arc::clone(&entry.id)).collect();
        let gone: Vec<_> = {
            let mut shown = self.shown.lock();
            let here = shown.entry(place.clone()).or_default();
            let gone = here.difference(&wanted).cloned().collect();
            here.extend(wanted);
            gone
        };
        let showing = entries.iter().map(|entry| async {
            let path = tree::join(&place.0, &entry.id);
            self.show_entry(&path, &entry.value).await
        });
        let hiding = gone.iter().map(|id| async {
            let path = tree::join(&place.0, id);
            self.connection.hide(&path).await
        });
        let (done, hidden) = join(join_all(showing), join_all(hiding)).await;
        {
            let mut all = self.shown.lock();
            if let Some(here) = all.get_mut(place) {
                for (id, _) in gone
                    .iter()
                    .zip(&hidden)
                    .filter(|(_, hidden)| hidden.is_ok())
                {
                    here.remove(id);
                }
                if here.is_empty() {
                    all.remove(place);
                }
            }
        }
        done.into_iter().chain(hidden).collect()
    }

    async fn read(&self, place: &Place) -> Result<List<Entry<Self::Value>>, RegistryError> {
        let found = self.connection.list(&place.0).await?;
        let entry = |(name, value): (String, bytes::Bytes)| Entry {
            id: name.into(),
            value: Arc::from(&*value),
        };
        Ok(by_id(found.into_iter().map(entry).collect()))
    }

    async fn names(&self, folder: &Place) -> Result<Vec<Arc<str>>, RegistryError> {
        let names = self.connection.names(&folder.0).await?;
        Ok(names.into_iter().map(Arc::from).collect())
    }

    async fn watch(&self, place: &Place, hint: Hint) -> Result<Guard, RegistryError> {
        self.connection
            .watch_below(&place.0, Depth::Values, hint)
            .await
    }

    async fn watch_names(&self, folder: &Place, hint: Hint) -> Result<Guard, RegistryError> {
        self.connection
            .watch_below(&folder.0, Depth::Names, hint)
            .await
    }

    async fn watch_own(&self, place: &Place, id: &str, hint: Hint) -> Result<Guard, RegistryError> {
        let path = tree::join(&place.0, id);
        self.connection.watch(&path, hint).await
    }
}

#[async_trait]
impl TextStore for Cluster {
    async fn get(&self, key: &TextKey) -> Result<Option<Text>, RegistryError> {
        let path = path_of(key);
        let Some(item) = self.connection.get(&path).await? else {
            return Ok(None);
        };
        let content = std::str::from_utf8(&item.value).map_err(|error| {
            let operation = format!("read {path}");
            RegistryError::new(operation, self.address(), "the value is not UTF-8")
                .with_source(error)
                .refused()
        })?;
        Ok(Some(Text {
            content: content.into(),
            ticket: Ticket(Some(item.revision.to_string())),
        }))
    }

    async fn put(&self, key: &TextKey, text: &str) -> Result<(), RegistryError> {
        self.connection.put(&path_of(key), text.as_bytes()).await
    }

    /// The ticket is the revision of the key's last change. dubbo-go 3.3.2 takes that of the whole store, which is another
    /// one as soon as anything else was written (`docs/spec/registry.md` §7.4).
    async fn compare_and_put(
        &self,
        key: &TextKey,
        text: &str,
        ticket: &Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        let path = path_of(key);
        let revision = match &ticket.0 {
            None => 0,
            Some(revision) => revision.parse().map_err(|_| {
                let reason = format!("`{revision}` is no revision of a key");
                RegistryError::new(format!("write {path}"), self.address(), reason).refused()
            })?,
        };
        let put = self.connection.put_if(&path, text.as_bytes(), revision);
        Ok(if put.await? {
            CasOutcome::Written
        } else {
            CasOutcome::Conflict
        })
    }

    async fn remove(&self, key: &TextKey) -> Result<(), RegistryError> {
        self.connection.delete(&path_of(key)).await
    }

    async fn names(&self, group: &str) -> Result<Vec<Arc<str>>, RegistryError> {
        Backend::names(self, &Place(group.into())).await
    }

    async fn watch(&self, key: &TextKey, hint: Hint) -> Result<Guard, RegistryError> {
        self.connection.watch(&path_of(key), hint).await
    }
}

fn path_of(key: &TextKey) -> String {
    tree::join(&key.group, &key.name)
}

/// How long dubbo-go's consumers need until they hear of the next change.
const DEAF: Duration = Duration::from_millis(200);
