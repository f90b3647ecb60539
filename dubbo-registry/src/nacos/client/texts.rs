//! Texts: read and written through one client of nacos-sdk, listened to through another. Each has a way to the server of
//! its own, that of the client for services, and is made again when it is lost.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use nacos_sdk::api::{
    config::{ConfigChangeListener, ConfigResponse, ConfigService, ConfigServiceBuilder},
    error::Error,
};
use parking_lot::Mutex;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    Failure, Why, digest,
    generation::Generation,
    link::Link,
    shared::{Chore, Shared},
};
use crate::backend::{Guard, Hint, TextKey};

/// A line for texts: a client of nacos-sdk that is made when it is first needed, and again when it was lost.
#[derive(Default)]
pub(super) struct Line {
    client: Mutex<Option<Arc<Client>>>,
    /// When the last one was begun that was made or failed. Whoever makes one has the lock meanwhile.
    begun: tokio::sync::Mutex<Option<Instant>>,
}

/// A client of nacos-sdk for texts, and its way to the server.
struct Client {
    service: ConfigService,
    link: Link,
}

/// Listens to one text, for one who wants to know.
pub(super) struct Ear(Hint);

impl ConfigChangeListener for Ear {
    /// On the only thread of nacos-sdk.
    fn notify(&self, _text: ConfigResponse) {
        self.0.give();
    }
}

impl Shared {
    /// Reads the text under `key`.
    pub(super) async fn get(&self, key: &TextKey) -> Result<String, Failure> {
        let (name, group) = names(key);
        let ask = |service: ConfigService| async move { service.get_config(name, group).await };
        let operation = || format!("read {key}");
        let text = self.ask(operation, ask).await?;
        Ok(text.content().clone())
    }

    /// Writes the text under `key`, if what is there has the digest `was` where one is given.
    pub(super) async fn put(
        &self,
        key: &TextKey,
        text: &str,
        was: Option<&str>,
    ) -> Result<(), Failure> {
        let (name, group) = names(key);
        let (content, was) = (text.to_owned(), was.map(ToOwned::to_owned));
        let ask = |service: ConfigService| async move {
            match was {
                Some(was) => {
                    let compared = service.publish_config_cas(name, group, content, None, was);
                    compared.await
                }
                None => service.publish_config(name, group, content, None).await,
            }
        };
        let operation = || format!("write {key}");
        self.ask(operation, ask).await?;
        let want = digest(text);
        self.until_read(key, |read| read.is_ok_and(|text| digest(text) == want))
            .await;
        Ok(())
    }

    /// Takes the text under `key` away, if there is one.
    pub(super) async fn remove(&self, key: &TextKey) -> Result<(), Failure> {
        let (name, group) = names(key);
        let ask = |service: ConfigService| async move { service.remove_config(name, group).await };
        let operation = || format!("remove {key}");
        self.ask(operation, ask).await?;
        let is_absent =
            |read: Result<&String, &Failure>| matches!(read, Err(f) if f.why == Why::Absent);
        self.until_read(key, is_absent).await;
        Ok(())
    }

    /// Waits until what was written is read, as the server takes its time; but not for long, as somebody else may have
    /// written meanwhile.
    async fn until_read(&self, key: &TextKey, is_so: impl Fn(Result<&String, &Failure>) -> bool) {
        let end = Instant::now() + DUMPED;
        while Instant::now() < end && !is_so(self.get(key).await.as_ref()) {
            sleep(LOOK).await;
        }
    }

    /// Forgets a listener, of which the server is not told: it cannot be.
    pub(super) async fn unlisten(&self, key: &TextKey, ear: Arc<Ear>) {
        let operation = || format!("stop listening to {key}");
        let Ok(generation) = self.generation(operation) else {
            return;
        };
        if let Some(client) = generation.listening.client() {
            let (name, group) = names(key);
            let gone = client.service.remove_listener(name, group, ear);
            if let Err(failure) = self.within(&client.link, operation, gone).await {
                let error = failure.into_error();
                tracing::debug!(%error, "a listener stays, and does nothing");
            }
        }
    }

    /// Asks through the client for reading.
    async fn ask<T, F>(
        &self,
        operation: impl Fn() -> String,
        make: impl FnOnce(ConfigService) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let generation = self.generation(&operation)?;
        let client = self.client(&generation, &generation.reading).await?;
        self.ask_at(&client, operation, make).await
    }

    async fn ask_at<T, F>(
        &self,
        client: &Client,
        operation: impl Fn() -> String,
        make: impl FnOnce(ConfigService) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let answer = self
            .within(&client.link, operation, make(client.service.clone()))
            .await;
        if matches!(&answer, Err(failure) if failure.why == Why::Broken) {
            client.link.cut();
        }
        answer
    }

    /// The client of `line`.
    async fn client(&self, generation: &Generation, line: &Line) -> Result<Arc<Client>, Failure> {
        let operation = "connect for texts";
        let mut begun = line.begun.lock().await;
        if let Some(client) = line.client() {
            return Ok(client);
        }
        if begun.is_some_and(|begun| begun.elapsed() < PACE) {
            let reason =
                format!("the connection was lost within {PACE:?}, and is made again after that");
            return Err(Failure::unavailable(self.error(operation, reason)));
        }
        let now = Instant::now();
        let way = self.link(&generation.server).await?;
        let builder = ConfigServiceBuilder::new(self.props(&way));
        let builder = match &self.login {
            Some(login) => builder.with_auth_plugin(Arc::clone(login) as _),
            None => builder,
        };
        let made = self.make(&way, operation, builder.build()).await;
        // Not before: whoever asks may be gone meanwhile, and others need not wait for that.
        *begun = Some(now);
        let service = made?;
        let client = Arc::new(Client { service, link: way });
        *line.client.lock() = Some(Arc::clone(&client));
        if generation.link.is_lost() {
            // It was cut meanwhile, and all its lines with it.
            line.cut();
        }
        Ok(client)
    }
}

impl Line {
    /// The client that there is.
    fn client(&self) -> Option<Arc<Client>> {
        let client = self.client.lock();
        client
            .as_ref()
            .filter(|client| !client.link.is_lost())
            .cloned()
    }

    /// Ends the client that there is.
    pub(super) fn cut(&self) {
        if let Some(client) = self.client.lock().take() {
            client.link.cut();
        }
    }
}

/// Gives hints of changes of the text under `key` as long as the guard lives.
pub(super) fn watch(shared: &Arc<Shared>, key: &TextKey, hint: Hint) -> Guard {
    let watching = Watching {
        shared: Arc::downgrade(shared),
        key: key.clone(),
        ear: Arc::new(Ear(hint)),
    };
    let mut task = JoinSet::new();
    task.spawn(watching.run());
    Guard::new(task)
}

struct Watching {
    shared: Weak<Shared>,
    key: TextKey,
    ear: Arc<Ear>,
}

impl Watching {
    /// Has nacos-sdk listen, and looks now and then for what it does not tell: that a text is new, or deleted.
    async fn run(self) {
        let session = self
            .shared
            .upgrade()
            .map(|shared| shared.session.subscribe());
        let Some(mut session) = session else {
            return;
        };
        let mut listens: Option<Arc<Client>> = None;
        let mut last = None;
        let mut wait = FIRST_LOOK;
        loop {
            let Some(shared) = self.shared.upgrade() else {
                return;
            };
            let poll = shared.options.poll;
            if listens.as_ref().is_none_or(|client| client.link.is_lost()) {
                listens = shared.listen(&self.key, &self.ear).await;
            }
            drop(shared);
            tokio::select! {
                () = sleep(wait.min(poll)) => {}
                changed = session.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    wait = FIRST_LOOK;
                }
                () = lost(listens.as_deref()) => {}
            }
            let Some(shared) = self.shared.upgrade() else {
                return;
            };
            let now = match shared.get(&self.key).await {
                Ok(text) => Some(digest(&text)),
                Err(failure) if failure.why == Why::Absent => None,
                Err(_) => continue,
            };
            // What is not there is likely to come.
            let longest = if now.is_some() { poll } else { poll / 3 };
            wait = (wait * 2).min(longest);
            if last.as_ref() != Some(&now) {
                last = Some(now);
                self.ear.0.give();
            }
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            // If nobody does them any more, all was taken back.
            let _ = shared
                .chores
                .send(Chore::Unlisten(self.key.clone(), Arc::clone(&self.ear)));
        }
    }
}

impl Shared {
    /// Has nacos-sdk listen to the text under `key`; the client that does.
    async fn listen(&self, key: &TextKey, ear: &Arc<Ear>) -> Option<Arc<Client>> {
        let (name, group) = names(key);
        let ear = Arc::clone(ear);
        let operation = || format!("listen to {key}");
        let listening = async {
            let generation = self.generation(operation)?;
            let client = self.client(&generation, &generation.listening).await?;
            let ask = |service: ConfigService| async move {
                service.add_listener(name, group, ear).await
            };
            self.ask_at(&client, operation, ask).await.map(|()| client)
        };
        match listening.await {
            Ok(client) => Some(client),
            Err(failure) => {
                tracing::debug!(%key, why = ?failure.why, "is looked at now and then instead");
                None
            }
        }
    }
}

fn names(key: &TextKey) -> (String, String) {
    (key.name.to_string(), key.group.to_string())
}

/// Waits for the end of a client, if there is one.
async fn lost(client: Option<&Client>) {
    match client {
        Some(client) => drop(client.link.lost().await),
        None => std::future::pending().await,
    }
}

/// How often a client may be made: each leaves a task behind.
const PACE: Duration = Duration::from_secs(5);

/// How long a server may take until it reads what was written.
const DUMPED: Duration = Duration::from_secs(1);

const LOOK: Duration = Duration::from_millis(50);

/// When a text is first looked at again.
const FIRST_LOOK: Duration = Duration::from_secs(2);
