//! One client of a directory.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use dubbo_core::{
    backoff::{Backoff, BackoffPolicy},
    metadata::{CasOutcome, Ticket},
    registry::RegistryError,
    url::Url,
};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{
    life::{self, Life},
    texts, tree,
    watcher::{Watched, Watcher},
};
use crate::{
    backend::{
        Backend, Client, Entry, Guard, Hint, Place, Session, Text, TextKey, TextStore, Timing,
        Users,
    },
    plain,
    reconcile::{Tasks, closed},
};

/// A program in a directory.
pub(crate) struct FileClient {
    shared: Arc<Shared>,
    address: String,
    users: Users,
    tasks: Tasks,
    started: Mutex<bool>,
}

/// What requests and the task that lives have in common.
pub(super) struct Shared {
    root: PathBuf,
    life: Mutex<Option<Arc<Life>>>,
    pub(super) watcher: Arc<Watcher>,
    session: watch::Sender<Session>,
}

impl FileClient {
    /// A client of the directory `root`, which is made when it is used first.
    pub(super) fn new(root: PathBuf) -> Self {
        Self {
            address: format!("file://{}", root.display()),
            shared: Arc::new(Shared {
                root,
                life: Mutex::default(),
                watcher: Arc::default(),
                session: watch::Sender::new(Session::Down(None)),
            }),
            users: Users::default(),
            tasks: Tasks::default(),
            started: Mutex::default(),
        }
    }

    #[cfg(test)]
    pub(super) fn shared(&self) -> Weak<Shared> {
        Arc::downgrade(&self.shared)
    }

    /// Does `work` on the directory where it may block.
    async fn ask<T: Send + 'static>(
        &self,
        operation: String,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, RegistryError> {
        let shared = Arc::clone(&self.shared);
        let done = tokio::task::spawn_blocking(move || work(&shared.root)).await;
        let done = done.unwrap_or_else(|error| Err(io::Error::other(error)));
        done.map_err(|error| failure(operation, &self.address, error))
    }

    async fn follow(&self, what: Watched, hint: Hint) -> Result<Guard, RegistryError> {
        let watcher = Arc::clone(&self.shared.watcher);
        self.ask("look at the directory".to_owned(), move |root| {
            Ok(Guard::new(watcher.watch(root, what, hint)))
        })
        .await
    }

    fn folder(&self, place: &Place) -> PathBuf {
        self.shared.root.join(&*place.0)
    }
}

#[async_trait]
impl Client for FileClient {
    fn address(&self) -> &str {
        &self.address
    }

    fn session(&self) -> watch::Receiver<Session> {
        let mut started = self.started.lock();
        if !*started {
            *started = true;
            let live = live(Arc::downgrade(&self.shared), self.address.clone());
            self.tasks.spawn(live);
        }
        self.shared.session.subscribe()
    }

    fn timing(&self) -> Timing {
        // What is read is always the truth.
        Timing {
            confirm_empty: Duration::ZERO,
            ..Timing::default()
        }
    }

    fn users(&self) -> &Users {
        &self.users
    }

    async fn close(&self) {
        self.tasks.end().await;
        let life = self.shared.life.lock().take();
        let end = tokio::task::spawn_blocking(move || drop(life));
        // Nothing can be done about a panic in there, and there is none.
        let _ = end.await;
        let over = Arc::new(closed("use", &self.address));
        self.shared.session.send_replace(Session::Down(Some(over)));
    }
}

#[async_trait]
impl Backend for FileClient {
    type Value = Url;

    async fn show(&self, place: &Place, entries: &[Entry<Url>]) -> Result<(), RegistryError> {
        let operation = format!("show {} entries in {}", entries.len(), place.0);
        let mut content = String::new();
        for entry in entries {
            let line = entry.value.to_string();
            if line.contains('\n') || line.parse::<Url>().as_ref() != Ok(&entry.value) {
                let reason = format!("{:?} cannot be written as a line", entry.value);
                return Err(RegistryError::new(operation, &self.address, reason).refused());
            }
            content.push_str(&line);
            content.push('\n');
        }
        let life = self.shared.life.lock().clone();
        let Some(life) = life else {
            return Err(RegistryError::new(
                operation,
                &self.address,
                "the directory is not there yet",
            ));
        };
        let path = self.folder(place).join(&life.name);
        self.ask(operation, move |root| {
            if content.is_empty() {
                return tree::remove(root, &path);
            }
            // Showing the same again is no news to anybody.
            if tree::read(&path).ok().flatten().as_ref() == Some(&content) {
                return Ok(());
            }
            tree::write(&path, &content)
        })
        .await
    }

    async fn read(&self, place: &Place) -> Result<Vec<Entry<Url>>, RegistryError> {
        let folder = self.folder(place);
        self.ask(format!("read {}", place.0), move |root| read(root, &folder))
            .await
    }

    async fn names(&self, folder: &Place) -> Result<Vec<Arc<str>>, RegistryError> {
        let operation = format!("read the names in {}", folder.0);
        let folder = self.folder(folder);
        let names = self.ask(operation, move |_| tree::names(&folder)).await?;
        Ok(names.into_iter().map(Into::into).collect())
    }

    async fn watch(&self, place: &Place, hint: Hint) -> Result<Guard, RegistryError> {
        self.follow(Watched::Clients(self.folder(place)), hint)
            .await
    }

    async fn watch_names(&self, folder: &Place, hint: Hint) -> Result<Guard, RegistryError> {
        self.follow(Watched::Names(self.folder(folder)), hint).await
    }
}

#[async_trait]
impl TextStore for FileClient {
    async fn get(&self, key: &TextKey) -> Result<Option<Text>, RegistryError> {
        let (operation, key) = (format!("read {key}"), key.clone());
        self.ask(operation, move |root| texts::get(root, &key))
            .await
    }

    async fn put(&self, key: &TextKey, text: &str) -> Result<(), RegistryError> {
        let (operation, key, text) = (format!("write {key}"), key.clone(), text.to_owned());
        let put = move |root: &Path| texts::put(root, &key, &text, None);
        self.ask(operation, put).await.map(|_| ())
    }

    async fn compare_and_put(
        &self,
        key: &TextKey,
        text: &str,
        ticket: &Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        let operation = format!("write {key}");
        let (key, text, ticket) = (key.clone(), text.to_owned(), ticket.clone());
        let put = move |root: &Path| texts::put(root, &key, &text, Some(&ticket));
        self.ask(operation, put).await
    }

    async fn remove(&self, key: &TextKey) -> Result<(), RegistryError> {
        let (operation, key) = (format!("remove {key}"), key.clone());
        self.ask(operation, move |root| texts::remove(root, &key))
            .await
    }

    async fn names(&self, group: &str) -> Result<Vec<Arc<str>>, RegistryError> {
        let (operation, group) = (format!("list {group}"), group.to_owned());
        self.ask(operation, move |root| texts::names(root, &group))
            .await
    }

    async fn watch(&self, key: &TextKey, hint: Hint) -> Result<Guard, RegistryError> {
        let path = texts::path(&self.shared.root, key);
        self.follow(Watched::File(path), hint).await
    }
}

/// Lives in the directory, and looks at what is followed, until the client is gone.
async fn live(client: Weak<Shared>, address: String) {
    let mut backoff = Backoff::new(BackoffPolicy::default());
    let mut sessions = 0;
    while let Some(shared) = client.upgrade() {
        let beat = tokio::task::spawn_blocking({
            let shared = Arc::clone(&shared);
            move || shared.beat()
        });
        let beat = beat
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)));
        let wait = match beat {
            Ok(is_new) => {
                if is_new {
                    sessions += 1;
                    shared.session.send_replace(Session::Up {
                        session: sessions,
                        connection: sessions,
                    });
                }
                backoff.reset();
                LOOK
            }
            Err(error) => {
                let error = failure("use the directory".to_owned(), &address, error);
                shared
                    .session
                    .send_replace(Session::Down(Some(Arc::new(error))));
                backoff.next_wait()
            }
        };
        drop(shared);
        tokio::time::sleep(wait).await;
    }
}

impl Shared {
    /// Begins to live if nobody sees that it does, and looks at what is followed; whether it is a new life.
    fn beat(&self) -> io::Result<bool> {
        let life = self.life.lock().clone();
        let is_new = life.is_none_or(|life| !life.is_seen());
        if is_new {
            // If this fails, the next beat is the first one of another life.
            *self.life.lock() = None;
            let life = Life::begin(&self.root)?;
            *self.life.lock() = Some(Arc::new(life));
        }
        self.watcher.look(&self.root);
        Ok(is_new)
    }
}

/// What those who are alive show in `folder`. Of two entries with one id, the one that was written last.
fn read(root: &Path, folder: &Path) -> io::Result<Vec<Entry<Url>>> {
    let mut by_id: HashMap<Arc<str>, (SystemTime, Entry<Url>)> = HashMap::new();
    for client in tree::names(folder)? {
        let path = folder.join(&client);
        if !life::is_alive(root, &client)? {
            // Nobody else clears up after the dead; whoever looks first does.
            let _ = tree::remove(root, &path);
            continue;
        }
        let content = match tree::read(&path) {
            Ok(content) => content.unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                tracing::warn!(path = %path.display(), %error, "left out: not what a program shows");
                continue;
            }
            Err(error) => return Err(error),
        };
        let written = std::fs::metadata(&path).and_then(|metadata| metadata.modified());
        let written = written.unwrap_or(SystemTime::UNIX_EPOCH);
        for line in content.lines() {
            let Ok(url) = line.parse() else {
                tracing::warn!(path = %path.display(), line, "left out: not a URL");
                continue;
            };
            let entry = plain::entry(url);
            let found = by_id.entry(Arc::clone(&entry.id));
            let found = found.or_insert_with(|| (written, entry.clone()));
            if written > found.0 {
                *found = (written, entry);
            }
        }
    }
    Ok(by_id.into_values().map(|(_, entry)| entry).collect())
}

fn failure(operation: String, address: &str, error: io::Error) -> RegistryError {
    RegistryError::new(operation, address, error.to_string()).with_source(error)
}

/// How long the directory is not looked at.
const LOOK: Duration = Duration::from_millis(200);
