//! A memory registry behind a bad connection, for tests: it does what a test says, and remembers what it was asked.

mod suite;

use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use dubbo_core::{
    list::List,
    metadata::{CasOutcome, Ticket},
    registry::RegistryError,
    url::Url,
};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::{
    backend::{
        Backend, Client, Entry, Guard, Hint, Place, Session, Text, TextKey, TextStore, Timing,
        Users,
    },
    memory::{MemoryClient, Store},
};

/// A client whose connection fails when a test wants it to.
pub(crate) struct Flaky {
    inner: MemoryClient,
    timing: Timing,
    session: watch::Sender<Session>,
    /// Of the last session.
    number: AtomicU64,
    numbers: AtomicU64,
    mood: Mutex<Box<Mood>>,
    asked: Mutex<Vec<String>>,
    guards: Arc<Mutex<HashMap<u64, Guard>>>,
    /// Those who hear of it when what they show is taken away, by what they asked.
    owners: Mutex<HashMap<String, Hint>>,
    /// Lets those go on that were held.
    released: Notify,
}

/// What becomes of a request, such as `show p a b` or `read p`.
pub(crate) type Mood = dyn Fn(&str) -> Fate + Send;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It fails, and may work later.
    Fail,
    /// It is never answered.
    Hang,
    /// It is done, but its answer waits for [`Flaky::release`].
    Hold,
    Refuse,
    /// It is refused after it was done.
    Spoil,
    Work,
}

impl Flaky {
    /// A client of `store` that is connected.
    pub(crate) fn new(store: &Arc<Store>, timing: Timing) -> Arc<Self> {
        let url = Url::new("flaky", "server");
        Arc::new(Self {
            inner: MemoryClient::new(&url, Arc::clone(store)),
            timing,
            session: watch::Sender::new(Session::Up {
                session: 1,
                connection: 1,
            }),
            number: AtomicU64::new(1),
            numbers: AtomicU64::new(1),
            mood: Mutex::new(Box::new(|_| Fate::Work)),
            asked: Mutex::default(),
            guards: Arc::default(),
            owners: Mutex::default(),
            released: Notify::new(),
        })
    }

    /// Decides on each request from now on.
    pub(crate) fn behave(&self, mood: impl Fn(&str) -> Fate + Send + 'static) {
        *self.mood.lock() = Box::new(mood);
    }

    /// Answers what was held.
    pub(crate) fn release(&self) {
        self.released.notify_waiters();
    }

    /// Loses the connection.
    pub(crate) fn lose(&self) {
        let lost = RegistryError::new("connect", "flaky://server", "lost");
        self.session
            .send_replace(Session::Down(Some(Arc::new(lost))));
    }

    /// Connects again; the server remembers everything, but hints got lost.
    pub(crate) fn reconnect(&self) {
        let session = self.number.load(Ordering::Relaxed);
        let connection = self.next();
        self.session.send_replace(Session::Up {
            session,
            connection,
        });
    }

    /// Connects again; the server has forgotten this client.
    pub(crate) fn renew(&self) {
        self.inner.forget();
        self.guards.lock().clear();
        let session = self.next();
        self.number.store(session, Ordering::Relaxed);
        self.session.send_replace(Session::Up {
            session,
            connection: session,
        });
    }

    /// Was never connected, and does not know yet whether it can be.
    pub(crate) fn not_yet(&self) {
        self.session.send_replace(Session::Down(None));
    }

    /// Forgets what this client shows, without a word to it.
    pub(crate) fn vandalise(&self) {
        self.inner.forget();
    }

    /// Forgets what this client shows, and says so.
    pub(crate) fn rob(&self) {
        self.inner.forget();
        self.owners.lock().values().for_each(Hint::give);
    }

    /// Gives no hint of what was watched until now.
    pub(crate) fn deafen(&self) {
        self.guards.lock().clear();
    }

    /// What was asked so far, which is forgotten.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock())
    }

    /// How many watches there are.
    pub(crate) fn watches(&self) -> usize {
        self.guards.lock().len()
    }

    fn next(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    async fn ask<T>(
        &self,
        request: String,
        answer: impl Future<Output = Result<T, RegistryError>>,
    ) -> Result<T, RegistryError> {
        let mut fate = (self.mood.lock())(&request);
        self.asked.lock().push(request.clone());
        if matches!(*self.session.borrow(), Session::Down(_)) {
            fate = Fate::Fail;
        }
        let error = |reason: &str| RegistryError::new(&request, "flaky://server", reason);
        match fate {
            Fate::Fail => Err(error("failed")),
            Fate::Hang => std::future::pending().await,
            Fate::Hold => {
                let released = self.released.notified();
                let answer = answer.await;
                released.await;
                answer
            }
            Fate::Refuse => Err(error("refused").refused()),
            Fate::Spoil => {
                answer.await?;
                Err(error("refused").refused())
            }
            Fate::Work => answer.await,
        }
    }

    fn guard(&self, guard: Guard) -> Guard {
        let id = self.next();
        self.guards.lock().insert(id, guard);
        Guard::new(Kept {
            id,
            guards: Arc::downgrade(&self.guards),
        })
    }
}

#[async_trait]
impl Client for Flaky {
    fn address(&self) -> &str {
        self.inner.address()
    }

    fn session(&self) -> watch::Receiver<Session> {
        self.session.subscribe()
    }

    fn timing(&self) -> Timing {
        self.timing
    }

    fn users(&self) -> &Users {
        self.inner.users()
    }

    async fn close(&self) {
        self.asked.lock().push("close".to_owned());
        self.inner.close().await;
    }
}

#[async_trait]
impl Backend for Flaky {
    type Value = Url;

    async fn show(&self, place: &Place, entries: &[Entry<Url>]) -> Result<(), RegistryError> {
        let mut request = format!("show {}", place.0);
        for entry in entries {
            request = format!("{request} {}", entry.value.host());
        }
        self.ask(request, self.inner.show(place, entries)).await
    }

    async fn read(&self, place: &Place) -> Result<List<Entry<Url>>, RegistryError> {
        self.ask(format!("read {}", place.0), self.inner.read(place))
            .await
    }

    async fn names(&self, folder: &Place) -> Result<Vec<Arc<str>>, RegistryError> {
        let names = Backend::names(&self.inner, folder);
        self.ask(format!("names {}", folder.0), names).await
    }

    async fn watch(&self, place: &Place, hint: Hint) -> Result<Guard, RegistryError> {
        let watch = Backend::watch(&self.inner, place, hint);
        let guard = self.ask(format!("watch {}", place.0), watch).await?;
        Ok(self.guard(guard))
    }

    async fn watch_names(&self, folder: &Place, hint: Hint) -> Result<Guard, RegistryError> {
        let watch = self.inner.watch_names(folder, hint);
        let guard = self.ask(format!("watch names {}", folder.0), watch).await?;
        Ok(self.guard(guard))
    }

    /// Not among what was asked, so that tests of other things need not know of it.
    async fn watch_own(&self, place: &Place, id: &str, hint: Hint) -> Result<Guard, RegistryError> {
        let request = format!("watch own {} {id}", place.0);
        match (self.mood.lock())(&request) {
            Fate::Work => {}
            _ => return Err(RegistryError::new(request, "flaky://server", "failed")),
        }
        self.owners.lock().insert(request, hint);
        Ok(Guard::new(()))
    }
}

#[async_trait]
impl TextStore for Flaky {
    async fn get(&self, key: &TextKey) -> Result<Option<Text>, RegistryError> {
        self.ask(format!("get {key}"), self.inner.get(key)).await
    }

    async fn put(&self, key: &TextKey, text: &str) -> Result<(), RegistryError> {
        self.ask(format!("put {key}"), self.inner.put(key, text))
            .await
    }

    async fn compare_and_put(
        &self,
        key: &TextKey,
        text: &str,
        ticket: &Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        let write = self.inner.compare_and_put(key, text, ticket);
        self.ask(format!("compare and put {key}"), write).await
    }

    async fn remove(&self, key: &TextKey) -> Result<(), RegistryError> {
        self.ask(format!("remove {key}"), self.inner.remove(key))
            .await
    }

    async fn names(&self, group: &str) -> Result<Vec<Arc<str>>, RegistryError> {
        let names = TextStore::names(&self.inner, group);
        self.ask(format!("keys {group}"), names).await
    }

    async fn watch(&self, key: &TextKey, hint: Hint) -> Result<Guard, RegistryError> {
        let watch = TextStore::watch(&self.inner, key, hint);
        let guard = self.ask(format!("watch {key}"), watch).await?;
        Ok(self.guard(guard))
    }
}

/// A guard that is dropped with this, or before with its session.
struct Kept {
    id: u64,
    guards: Weak<Mutex<HashMap<u64, Guard>>>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(guards) = self.guards.upgrade() {
            let guard = guards.lock().remove(&self.id);
            drop(guard);
        }
    }
}
