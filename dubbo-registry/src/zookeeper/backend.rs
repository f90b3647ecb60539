//! Entries as ephemeral nodes, texts as persistent ones.

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

use super::{
    client::{ATTEMPTS, Connection, Depth, Failure, Life, Options, Owner, Why},
    layout::says_all,
};
use crate::{
    backend::{
        Backend, Client, Entry, Guard, Hint, OUTAGE_GRACE, Place, Session, Text, TextKey,
        TextStore, Timing, Users,
    },
    tree,
};

/// The client of an ensemble.
pub(super) struct Ensemble {
    connection: Connection,
    users: Users,
    /// What this client shows, or may still show after a failure.
    shown: Mutex<BTreeMap<Place, BTreeSet<Arc<str>>>>,
}

impl Ensemble {
    pub(super) fn new(options: Options) -> Self {
        Self {
            connection: Connection::new(options),
            users: Users::default(),
            shown: Mutex::default(),
        }
    }

    /// Makes the node of an entry ours, with this data.
    async fn show_entry(&self, path: &str, data: &[u8]) -> Result<(), Failure> {
        for _ in 0..ATTEMPTS {
            let done = match self.connection.get(path).await {
                Ok(node) if node.owner == Owner::Us && node.data == data => return Ok(()),
                Ok(node) if node.owner == Owner::Us => {
                    self.connection.set(path, data, Some(node.version)).await
                }
                Ok(node) => self.connection.take_over(path, data, node.version).await,
                Err(failure) if failure.why == Why::Absent => {
                    self.connection.create(path, data, Life::Ephemeral).await
                }
                Err(failure) => Err(failure),
            };
            match done {
                Err(failure) if is_race(&failure) => {}
                done => return done,
            }
        }
        Err(self.connection.unsettled("show", path))
    }

    /// Deletes the node of an entry, unless it is another client's by now.
    async fn hide_entry(&self, path: &str) -> Result<(), Failure> {
        for _ in 0..ATTEMPTS {
            let done = match self.connection.get(path).await {
                Ok(node) if node.owner == Owner::Other => return Ok(()),
                Ok(node) => self.connection.delete(path, Some(node.version)).await,
                Err(failure) => Err(failure),
            };
            match done {
                Err(failure) if failure.why == Why::Absent => return Ok(()),
                Err(failure) if is_race(&failure) => {}
                done => return done,
            }
        }
        Err(self.connection.unsettled("hide", path))
    }

    /// The entry called `name`; nothing when it has gone meanwhile or is not for us to read.
    async fn entry(
        &self,
        place: &Place,
        name: String,
    ) -> Result<Option<Entry<Arc<[u8]>>>, RegistryError> {
        let value: Arc<[u8]> = if says_all(&name) {
            Arc::default()
        } else {
            let path = tree::join(&place.0, &name);
            match self.connection.get(&path).await {
                Ok(node) => node.data.into(),
                Err(failure) if failure.why == Why::Absent => return Ok(None),
                Err(failure) if failure.why == Why::Refused => {
                    let error = failure.into_error();
                    tracing::debug!(%error, "left out");
                    return Ok(None);
                }
                Err(failure) => return Err(failure.into_error()),
            }
        };
        let id = name.into();
        Ok(Some(Entry { id, value }))
    }

    async fn children(&self, path: &str) -> Result<Vec<String>, RegistryError> {
        match self.connection.children(path).await {
            Err(failure) if failure.why == Why::Absent => Ok(Vec::new()),
            children => children.map_err(Failure::into_error),
        }
    }
}

#[async_trait]
impl Client for Ensemble {
    fn address(&self) -> &str {
        self.connection.address()
    }

    fn session(&self) -> watch::Receiver<Session> {
        self.connection.session()
    }

    fn timing(&self) -> Timing {
        Timing {
            grace: OUTAGE_GRACE,
            // To show an entry takes several requests, of which the first that fails ends it.
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
impl Backend for Ensemble {
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
            self.hide_entry(&path).await
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
        for done in done.into_iter().chain(hidden) {
            done.map_err(Failure::into_error)?;
        }
        Ok(())
    }

    async fn read(&self, place: &Place) -> Result<List<Entry<Self::Value>>, RegistryError> {
        let mut names = self.children(&place.0).await?;
        names.sort_unstable();
        // In the order of the names, which are the ids.
        let entries = join_all(names.into_iter().map(|name| self.entry(place, name))).await;
        entries.into_iter().filter_map(Result::transpose).collect()
    }

    async fn names(&self, folder: &Place) -> Result<Vec<Arc<str>>, RegistryError> {
        let mut names = self.children(&folder.0).await?;
        names.sort_unstable();
        Ok(names.into_iter().map(Arc::from).collect())
    }

    async fn watch(&self, place: &Place, hint: Hint) -> Result<Guard, RegistryError> {
        self.connection.watch(&place.0, Depth::Children, hint).await
    }

    async fn watch_names(&self, folder: &Place, hint: Hint) -> Result<Guard, RegistryError> {
        self.connection.watch(&folder.0, Depth::Node, hint).await
    }

    async fn watch_own(&self, place: &Place, id: &str, hint: Hint) -> Result<Guard, RegistryError> {
        let path = tree::join(&place.0, id);
        self.connection.watch(&path, Depth::Node, hint).await
    }
}

#[async_trait]
impl TextStore for Ensemble {
    async fn get(&self, key: &TextKey) -> Result<Option<Text>, RegistryError> {
        let path = path_of(key);
        let node = match self.connection.get(&path).await {
            Ok(node) => node,
            Err(failure) if failure.why == Why::Absent => return Ok(None),
            Err(failure) => return Err(failure.into_error()),
        };
        let content = String::from_utf8(node.data).map_err(|error| {
            let operation = format!("read {path}");
            RegistryError::new(operation, self.address(), "the node's data are not UTF-8")
                .with_source(error)
                .refused()
        })?;
        Ok(Some(Text {
            content: content.into(),
            ticket: Ticket(Some(node.version.to_string())),
        }))
    }

    async fn put(&self, key: &TextKey, text: &str) -> Result<(), RegistryError> {
        let path = path_of(key);
        for _ in 0..ATTEMPTS {
            let done = match self.connection.set(&path, text.as_bytes(), None).await {
                Err(failure) if failure.why == Why::Absent => {
                    let life = Life::Persistent;
                    self.connection.create(&path, text.as_bytes(), life).await
                }
                done => done,
            };
            match done {
                Err(failure) if is_race(&failure) => {}
                done => return done.map_err(Failure::into_error),
            }
        }
        Err(self.connection.unsettled("write", &path).into_error())
    }

    async fn compare_and_put(
        &self,
        key: &TextKey,
        text: &str,
        ticket: &Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        let path = path_of(key);
        let done = match &ticket.0 {
            None => {
                let life = Life::Persistent;
                self.connection.create(&path, text.as_bytes(), life).await
            }
            Some(version) => {
                let version = version.parse().map_err(|_| {
                    let reason = format!("`{version}` is no version of a node");
                    RegistryError::new(format!("write {path}"), self.address(), reason).refused()
                })?;
                self.connection
                    .set(&path, text.as_bytes(), Some(version))
                    .await
            }
        };
        match done {
            Ok(()) => Ok(CasOutcome::Written),
            Err(failure) if is_race(&failure) => Ok(CasOutcome::Conflict),
            Err(failure) => Err(failure.into_error()),
        }
    }

    async fn remove(&self, key: &TextKey) -> Result<(), RegistryError> {
        match self.connection.delete(&path_of(key), None).await {
            Err(failure) if failure.why == Why::Absent => Ok(()),
            done => done.map_err(Failure::into_error),
        }
    }

    async fn names(&self, group: &str) -> Result<Vec<Arc<str>>, RegistryError> {
        Backend::names(self, &Place(group.into())).await
    }

    async fn watch(&self, key: &TextKey, hint: Hint) -> Result<Guard, RegistryError> {
        self.connection
            .watch(&path_of(key), Depth::Node, hint)
            .await
    }
}

fn path_of(key: &TextKey) -> String {
    tree::join(&key.group, &key.name)
}

/// Whether somebody else was faster, so that one has to look again.
fn is_race(failure: &Failure) -> bool {
    matches!(failure.why, Why::Absent | Why::Changed | Why::Exists)
}
