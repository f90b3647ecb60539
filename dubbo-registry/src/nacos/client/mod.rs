//! The client of Nacos: a connection that is watched, and requests with a time limit.
//!
//! This folder alone names the crate `nacos_sdk`. What one has to know of its version 0.8.3, measured in
//! `docs/spec/nacos-2.5.1.md` and read in its source, and what is done about it here:
//!
//! - It looks for a lost server after 2, 4, 8 … 64 s, may not notice for ever that it is lost, and shows again what it was
//!   told before. Nothing of it ends before the process does: not its sockets, nor what was registered, subscribed to or
//!   listened to. So it speaks to servers through ways that we cut ([`link`]), and each client of it lives for one
//!   connection; then there is a new one ([`driver`]).
//! - A client whose way was cut knocks at the closed port of this program every 64 s for as long as the process runs; that
//!   costs a task or two and no socket. There is at most one for services and two for texts each time that a connection is
//!   lost, as a client is made only for a server that says it is ready ([`probe`]), and not often.
//! - It keeps one request for each service and repeats one that failed. A list is therefore always sent as a whole, an
//!   empty one in order to leave ([`publications`]).
//! - Calls may hang without an end: each has a time limit.
//! - Listeners run on its only thread: ours give a hint and return. It is silent when it believes that a list is as it
//!   was, when a text comes or goes, and when a subscription is refused; all that is asked for now and then
//!   ([`subscriptions`], [`texts`]).
//! - A client of texts that has a listener answers from its memory, for ever if the text is deleted. Texts are read through
//!   another one, which has none.
//! - It never tells the server that nobody listens to a text any more. The server goes on telling, and nobody hears it;
//!   of that there is no more than a key for each text that was listened to through this client.
//! - What it keeps on the disk is of no use, and in a folder of its own.
//! - Its login loses why it failed: ours is in [`login`].
//! - Answers that refuse look like others: [`failure`] tells them apart.

mod driver;
mod failure;
mod generation;
mod link;
mod login;
mod naming;
mod options;
mod probe;
mod publications;
mod shared;
mod subscriptions;
mod texts;

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{runtime::Handle, sync::watch, task::JoinSet};

pub(super) use failure::{Failure, Why};
pub(super) use options::Options;
use shared::Shared;

use crate::{
    backend::{Guard, Hint, Session, TextKey},
    nacos::instance::Instance,
};

/// The connection to servers. It is made when somebody first asks for something.
pub(super) struct Connection {
    shared: Arc<Shared>,
    /// Keeps it; `None` before it starts. Ends when it is dropped.
    driver: Mutex<Option<JoinSet<()>>>,
}

impl Connection {
    pub(super) fn new(options: Options) -> Self {
        Self {
            shared: Arc::new(Shared::new(options)),
            driver: Mutex::new(None),
        }
    }

    pub(super) fn address(&self) -> &str {
        &self.shared.address
    }

    /// How long a request may take.
    pub(super) fn limit(&self) -> Duration {
        self.shared.options.timeout
    }

    /// How often the server is asked for what it does not tell by itself.
    pub(super) fn poll(&self) -> Duration {
        self.shared.options.poll
    }

    /// The session, as it changes.
    pub(super) fn session(&self) -> watch::Receiver<Session> {
        self.start();
        self.shared.session.subscribe()
    }

    /// Makes `instances` all that this client shows in a service.
    pub(super) async fn show(
        &self,
        group: &str,
        service: &str,
        instances: Vec<Instance>,
    ) -> Result<(), Failure> {
        self.start();
        self.shared.show(group, service, instances).await
    }

    /// The instances of a service.
    pub(super) async fn read(&self, group: &str, service: &str) -> Result<Vec<Instance>, Failure> {
        self.start();
        self.shared.read(group, service).await
    }

    /// The names of the services of a group.
    pub(super) async fn services(&self, group: &str) -> Result<Vec<String>, Failure> {
        self.start();
        self.shared.services(group).await
    }

    /// Gives hints of changes of a service.
    pub(super) async fn subscribe(
        &self,
        group: &str,
        service: &str,
        hint: Hint,
    ) -> Result<Guard, Failure> {
        self.start();
        self.shared.subscribe(group, service, hint).await
    }

    /// The text under `key`.
    pub(super) async fn get(&self, key: &TextKey) -> Result<String, Failure> {
        self.start();
        self.shared.get(key).await
    }

    /// Writes the text under `key`, if what is there has the digest `was` where one is given.
    pub(super) async fn put(
        &self,
        key: &TextKey,
        text: &str,
        was: Option<&str>,
    ) -> Result<(), Failure> {
        self.start();
        self.shared.put(key, text, was).await
    }

    /// Takes the text under `key` away, if there is one.
    pub(super) async fn remove(&self, key: &TextKey) -> Result<(), Failure> {
        self.start();
        self.shared.remove(key).await
    }

    /// Gives hints of changes of the text under `key`.
    pub(super) fn watch(&self, key: &TextKey, hint: Hint) -> Guard {
        self.start();
        texts::watch(&self.shared, key, hint)
    }

    /// Takes back all that was registered, and ends the connections.
    pub(super) async fn close(&self) {
        self.shared.end();
        let driver = self.driver.lock().take();
        if let Some(mut driver) = driver {
            driver.shutdown().await;
        }
        self.shared.take_all_back().await;
    }

    fn start(&self) {
        let mut driver = self.driver.lock();
        if driver.is_some() || self.shared.is_closed() {
            return;
        }
        if let Ok(runtime) = Handle::try_current() {
            let mut tasks = JoinSet::new();
            tasks.spawn_on(driver::drive(Arc::clone(&self.shared)), &runtime);
            tasks.spawn_on(subscriptions::clean_up(Arc::clone(&self.shared)), &runtime);
            *driver = Some(tasks);
        }
    }
}

/// The digest of a text that Nacos compares.
pub(super) fn digest(text: &str) -> String {
    format!("{:x}", md5::compute(text))
}
