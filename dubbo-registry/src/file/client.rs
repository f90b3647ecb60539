//! One client of a directory.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use dubbo_core::{
    backoff::{Backoff, BackoffPolicy},
    list::List,
    metadata::{CasOutcome, Ticket},
    registry::RegistryError,
    url::Url,
};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{
    life::{self, Life, Pulse},
    texts, tree, warnings,
    watcher::{Look, Watched, Watcher, stamp},
};
use crate::{
    backend::{
        Backend, Client, Entry, Guard, Hint, Place, Session, Text, TextKey, TextStore, Users, by_id,
    },
    plain,
    reconcile::{Tasks, closed},
};

/// A program in a directory.
pub(crate) struct FileClient {
    shared: Arc<Shared>,
    users: Users,
    tasks: Tasks,
    started: Mutex<bool>,
}

/// What requests and the task that lives have in common.
pub(super) struct Shared {
    root: PathBuf,
    address: String,
    life: Mutex<Option<Arc<Life>>>,
    /// How many there were.
    lives: AtomicU64,
    pub(super) watcher: Arc<Watcher>,
    session: watch::Sender<Session>,
}

impl FileClient {
    /// A client of the directory `root`, which is made when it is used first.
    pub(super) fn new(root: PathBuf) -> Self {
        Self {
            shared: Arc::new(Shared {
                address: format!("file://{}", root.display()),
                root,
                life: Mutex::default(),
                lives: AtomicU64::new(0),
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
        done.map_err(|error| failure(operation, self.address(), error))
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
        &self.shared.address
    }

    fn session(&self) -> watch::Receiver<Session> {
        let mut started = self.started.lock();
        if !*started {
            *started = true;
            self.tasks.spawn(live(Arc::downgrade(&self.shared)));
        }
        self.shared.session.subscribe()
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
        let over = Arc::new(closed("use", self.address()));
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
                return Err(RegistryError::new(operation, self.address(), reason).refused());
            }
            content.push_str(&line);
            content.push('\n');
        }
        if content.len() as u64 > tree::LARGEST {
            let reason = format!(
                "these are {} bytes, and a program may show {} in one place",
                content.len(),
                tree::LARGEST
            );
            return Err(RegistryError::new(operation, self.address(), reason).refused());
        }
        let life = self.shared.life.lock().clone();
        let Some(life) = life else {
            return Err(failure(operation, self.address(), lost()));
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

    async fn read(&self, place: &Place) -> Result<List<Entry<Url>>, RegistryError> {
        let folder = self.folder(place);
        let life = self.shared.life.lock().clone();
        let watcher = Arc::clone(&self.shared.watcher);
        self.ask(format!("read {}", place.0), move |root| {
            let (entries, look) = read(root, &folder)?;
            watcher.saw(&Watched::Clients(folder), &look);
            // In a directory that somebody removes, nobody is found who is alive for all that.
            if life.is_some_and(|life| life.is_seen()) {
                Ok(by_id(entries))
            } else {
                Err(lost())
            }
        })
        .await
    }

    async fn names(&self, folder: &Place) -> Result<Vec<Arc<str>>, RegistryError> {
        let operation = format!("read the names in {}", folder.0);
        let folder = self.folder(folder);
        let watcher = Arc::clone(&self.shared.watcher);
        let read = move |_: &Path| {
            let names = tree::names(&folder)?;
            let look = names.iter().map(|name| (name.clone(), None)).collect();
            watcher.saw(&Watched::Names(folder), &look);
            Ok(names)
        };
        let names = self.ask(operation, read).await?;
        Ok(names.into_iter().map(Into::into).collect())
    }

    async fn watch(&self, place: &Place, hint: Hint) -> Result<Guard, RegistryError> {
        self.follow(Watched::Clients(self.folder(place)), hint)
            .await
    }

    async fn watch_names(&self, folder: &Place, hint: Hint) -> Result<Guard, RegistryError> {
        self.follow(Watched::Names(self.folder(folder)), hint).await
    }

    /// All that this client shows in a place is one file.
    async fn watch_own(
        &self,
        place: &Place,
        _id: &str,
        hint: Hint,
    ) -> Result<Guard, RegistryError> {
        let life = self.shared.life.lock().clone();
        let life =
            life.ok_or_else(|| failure("watch what is shown".to_owned(), self.address(), lost()))?;
        let path = self.folder(place).join(&life.name);
        self.follow(Watched::File(path), hint).await
    }
}

#[async_trait]
impl TextStore for FileClient {
    async fn get(&self, key: &TextKey) -> Result<Option<Text>, RegistryError> {
        let (operation, key) = (format!("read {key}"), key.clone());
        let watcher = Arc::clone(&self.shared.watcher);
        self.ask(operation, move |root| {
            let path = texts::path(root, &key);
            let look = vec![(String::new(), stamp(&path)?)];
            let text = texts::get(root, &key)?;
            watcher.saw(&Watched::File(path), &look);
            Ok(text)
        })
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
async fn live(client: Weak<Shared>) {
    let mut backoff = Backoff::new(BackoffPolicy::default());
    while let Some(shared) = client.upgrade() {
        let beat = tokio::task::spawn_blocking({
            let shared = Arc::clone(&shared);
            move || shared.beat()
        });
        let beat = beat
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)));
        let wait = match beat {
            Ok(()) => {
                backoff.reset();
                LOOK
            }
            Err(error) => {
                let error = failure("use the directory".to_owned(), &shared.address, error);
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
    /// Begins to live if nobody sees that it does, and looks at what is followed.
    fn beat(&self) -> io::Result<()> {
        let life = self.life.lock().clone();
        let is_lost = life.as_ref().is_some_and(|life| !life.is_seen());
        if is_lost {
            tracing::warn!(
                address = self.address,
                "somebody has removed the directory, or a part of it; made again"
            );
        }
        if life.is_none() || is_lost {
            // If this fails, the next beat is the first one of another life.
            *self.life.lock() = None;
            let life = Life::begin(&self.root)?;
            *self.life.lock() = Some(Arc::new(life));
            let session = self.lives.fetch_add(1, Ordering::Relaxed) + 1;
            // Before anybody is told to look: who looks now may find nobody, because the others come back just now.
            self.session.send_replace(Session::Up {
                session,
                connection: session,
            });
        }
        self.watcher.look(&self.root);
        Ok(())
    }
}

/// What those who are alive show in `folder`, and how it looks. Of two entries with one id, the one that was written last.
fn read(root: &Path, folder: &Path) -> io::Result<(Vec<Entry<Url>>, Look)> {
    let mut by_id: HashMap<Arc<str>, (SystemTime, Entry<Url>)> = HashMap::new();
    let mut look = Look::new();
    for client in tree::names(folder)? {
        let path = folder.join(&client);
        match life::pulse(root, &client)? {
            Pulse::Alive => {}
            Pulse::Dead => {
                // Nobody else clears up after the dead; whoever looks first does.
                let _ = tree::remove(root, &path);
                continue;
            }
            Pulse::Unknown(why) => {
                warnings::once(&path, "left out: nobody knows whether it is alive", &why);
                continue;
            }
        }
        // Before it is read: what is written meanwhile looks different.
        look.push((client, stamp(&path)?));
        let content = match tree::read(&path) {
            Ok(content) => content.unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                warnings::once(&path, "left out: not what a program shows", &error);
                continue;
            }
            Err(error) => return Err(error),
        };
        let written = std::fs::metadata(&path).and_then(|metadata| metadata.modified());
        let written = written.unwrap_or(SystemTime::UNIX_EPOCH);
        for line in content.lines() {
            let Ok(url) = line.parse() else {
                warnings::once(&path, "a line is left out: not a URL", &line);
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
    let entries = by_id.into_values().map(|(_, entry)| entry).collect();
    Ok((entries, look))
}

/// What becomes of a request when nobody sees that this client is alive.
fn lost() -> io::Error {
    let reason = "the directory was removed, or is not there yet; it is made";
    io::Error::new(io::ErrorKind::NotFound, reason)
}

fn failure(operation: String, address: &str, error: io::Error) -> RegistryError {
    RegistryError::new(operation, address, error.to_string()).with_source(error)
}

/// How long the directory is not looked at.
const LOOK: Duration = Duration::from_millis(200);
