//! Entries as instances of services, texts as configurations.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use dubbo_core::{
    list::List,
    metadata::{CasOutcome, Ticket},
    registry::RegistryError,
};
use tokio::sync::watch;

use super::{
    client::{Connection, Failure, Options, Why, digest},
    instance::Instance,
    layout::{limits, split},
};
use crate::backend::{
    Backend, Client, Entry, Guard, Hint, OUTAGE_GRACE, Place, Session, Text, TextKey, TextStore,
    Timing, Users, by_id,
};

/// The client of Nacos.
pub(super) struct Nacos {
    connection: Connection,
    users: Users,
}

impl Nacos {
    pub(super) fn new(options: Options) -> Self {
        Self {
            connection: Connection::new(options),
            users: Users::default(),
        }
    }

    /// Whether Nacos would take this key.
    fn check(&self, key: &TextKey, operation: &str) -> Result<(), RegistryError> {
        let legal = limits::data_id(&key.name).and_then(|()| limits::group(&key.group));
        legal.map_err(|illegal| {
            let operation = format!("{operation} {key}");
            RegistryError::new(operation, self.address(), illegal.to_string()).refused()
        })
    }

    /// Whether Nacos would take this text under this key.
    fn check_text(&self, key: &TextKey, text: &str) -> Result<(), RegistryError> {
        self.check(key, "write")?;
        let refuse = |reason: String| {
            let operation = format!("write {key}");
            Err(RegistryError::new(operation, self.address(), reason).refused())
        };
        if text.trim().is_empty() {
            return refuse(
                "Nacos keeps no text that is empty or blank; remove it instead".to_owned(),
            );
        }
        if text.len() > LONGEST {
            let length = text.len();
            return refuse(format!(
                "it is {length} bytes long, and clients of Nacos read {LONGEST}"
            ));
        }
        Ok(())
    }
}

#[async_trait]
impl Client for Nacos {
    fn address(&self) -> &str {
        self.connection.address()
    }

    fn session(&self) -> watch::Receiver<Session> {
        self.connection.session()
    }

    fn timing(&self) -> Timing {
        Timing {
            grace: OUTAGE_GRACE,
            poll: self.connection.poll(),
            // To show entries takes several requests on some servers, and what was written is waited for.
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
impl Backend for Nacos {
    type Value = Instance;

    async fn show(&self, place: &Place, entries: &[Entry<Instance>]) -> Result<(), RegistryError> {
        let (group, service) = split(place);
        let instances = entries.iter().map(|entry| entry.value.clone()).collect();
        let shown = self.connection.show(group, service, instances).await;
        shown.map_err(Failure::into_error)
    }

    async fn read(&self, place: &Place) -> Result<List<Entry<Instance>>, RegistryError> {
        let (group, service) = split(place);
        let instances = self.connection.read(group, service).await;
        let instances = instances.map_err(Failure::into_error)?;
        let entries = instances.into_iter().map(|instance| Entry {
            id: instance.id().into(),
            value: instance,
        });
        Ok(by_id(entries.collect()))
    }

    async fn names(&self, folder: &Place) -> Result<Vec<Arc<str>>, RegistryError> {
        let (group, _) = split(folder);
        let names = self.connection.services(group).await;
        let names = names.map_err(Failure::into_error)?;
        Ok(names.into_iter().map(Arc::from).collect())
    }

    async fn watch(&self, place: &Place, hint: Hint) -> Result<Guard, RegistryError> {
        let (group, service) = split(place);
        let watched = self.connection.subscribe(group, service, hint).await;
        watched.map_err(Failure::into_error)
    }

    /// Servers do not tell.
    async fn watch_names(&self, _folder: &Place, _hint: Hint) -> Result<Guard, RegistryError> {
        Ok(Guard::new(()))
    }
}

#[async_trait]
impl TextStore for Nacos {
    async fn get(&self, key: &TextKey) -> Result<Option<Text>, RegistryError> {
        self.check(key, "read")?;
        match self.connection.get(key).await {
            Ok(content) => Ok(Some(Text {
                ticket: Ticket(Some(digest(&content))),
                content: content.into(),
            })),
            Err(failure) if failure.why == Why::Absent => Ok(None),
            Err(failure) => Err(failure.into_error()),
        }
    }

    async fn put(&self, key: &TextKey, text: &str) -> Result<(), RegistryError> {
        self.check_text(key, text)?;
        let written = self.connection.put(key, text, None).await;
        written.map_err(Failure::into_error)
    }

    async fn compare_and_put(
        &self,
        key: &TextKey,
        text: &str,
        ticket: &Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        self.check_text(key, text)?;
        let was = ticket.0.as_deref().unwrap_or(NOTHING);
        match self.connection.put(key, text, Some(was)).await {
            Ok(()) => Ok(CasOutcome::Written),
            Err(failure) if failure.why == Why::Changed => Ok(CasOutcome::Conflict),
            Err(failure) => Err(failure.into_error()),
        }
    }

    async fn remove(&self, key: &TextKey) -> Result<(), RegistryError> {
        self.check(key, "remove")?;
        let removed = self.connection.remove(key).await;
        removed.map_err(Failure::into_error)
    }

    async fn names(&self, group: &str) -> Result<Vec<Arc<str>>, RegistryError> {
        let reason = "clients of Nacos cannot list the texts of a group";
        Err(RegistryError::new(format!("list {group}"), self.address(), reason).refused())
    }

    async fn watch(&self, key: &TextKey, hint: Hint) -> Result<Guard, RegistryError> {
        self.check(key, "follow")?;
        Ok(self.connection.watch(key, hint))
    }
}

/// A digest that no text has, with which Nacos writes only where there is none.
const NOTHING: &str = "0";

/// A message to a client may have 4 MiB, of which the text is the most.
const LONGEST: usize = 4 * 1024 * 1024 - 4096;
