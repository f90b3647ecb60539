//! `disk`: dead letters that outlive the program, in one file. With the feature `durable`.

mod file;
mod writer;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
};

use async_trait::async_trait;
use dubbo_core::url::Key;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use self::{
    file::File,
    writer::{Command, Reply},
};
use super::{
    letter::{DeadLetter, LetterId},
    options::SyncMode,
    store::{DeadLetterStore, StoreError},
};

/// Keeps letters in a file, which one process may have open at a time.
///
/// All reading and writing is done on a thread of its own, so that a slow disk holds up no call. Letters that come
/// together are written together. A record that cannot be read is left where it is, told in the log and counted
/// ([`unreadable`](DeadLetterStore::unreadable)); the others are not affected.
pub struct DiskStore {
    path: PathBuf,
    commands: Mutex<Option<mpsc::Sender<Command>>>,
    unreadable: Arc<AtomicU64>,
}

/// How a [`DiskStore`] keeps letters.
#[derive(Debug, Clone, Copy)]
pub struct DiskOptions {
    /// How many letters it takes; 0 counts as 1.
    pub capacity: u64,
    /// When a letter counts as kept.
    pub sync: SyncMode,
}

impl Default for DiskOptions {
    /// 100,000 letters, each on the disk before it counts as kept.
    fn default() -> Self {
        Self {
            capacity: 100_000,
            sync: SyncMode::default(),
        }
    }
}

impl DiskStore {
    /// Opens the file at `path`, or makes it. A file that was not closed is put right first, which takes a moment.
    ///
    /// # Errors
    ///
    /// It cannot be opened: another process has it open, it is no such file, the disk refuses.
    pub fn open(path: impl Into<PathBuf>, options: DiskOptions) -> Result<Self, StoreError> {
        let path = path.into();
        let unreadable = Arc::new(AtomicU64::new(0));
        let file = File::open(&path, options, Arc::clone(&unreadable))?;
        let (commands, receiver) = mpsc::channel();
        std::thread::Builder::new()
            .name("dubbo-dead-letters".to_owned())
            .spawn(move || writer::run(file, &receiver))
            .map_err(|error| failed(&path, &format!("no thread for it: {error}")))?;
        Ok(Self {
            path,
            commands: Mutex::new(Some(commands)),
            unreadable,
        })
    }

    /// Has the thread do something, and waits for it.
    async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, StoreError> {
        let commands = self.commands.lock().clone();
        let closed = || StoreError::Closed {
            store: NAME.to_owned(),
        };
        let commands = commands.ok_or_else(closed)?;
        let (reply, answer) = oneshot::channel();
        commands.send(command(reply)).map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

#[async_trait]
impl DeadLetterStore for DiskStore {
    async fn put(&self, letter: Arc<DeadLetter>) -> Result<(), StoreError> {
        let bytes = letter.encode().map_err(|error| {
            let reason = format!("the letter {} cannot be written: {error}", letter.id);
            failed(&self.path, &reason)
        })?;
        let id = letter.id;
        self.ask(|reply| Command::Put { id, bytes, reply }).await
    }

    async fn page(
        &self,
        after: Option<LetterId>,
        limit: usize,
    ) -> Result<Vec<Arc<DeadLetter>>, StoreError> {
        self.ask(|reply| Command::Page {
            after,
            limit,
            reply,
        })
        .await
    }

    async fn get(&self, id: LetterId) -> Result<Option<Arc<DeadLetter>>, StoreError> {
        self.ask(|reply| Command::Get { id, reply }).await
    }

    async fn remove(&self, id: LetterId) -> Result<bool, StoreError> {
        self.ask(|reply| Command::Remove { id, reply }).await
    }

    fn unreadable(&self) -> u64 {
        self.unreadable.load(Ordering::Relaxed)
    }

    async fn close(&self) {
        let commands = self.commands.lock().take();
        let Some(commands) = commands else { return };
        let (done, closed) = oneshot::channel();
        if commands.send(Command::Close(done)).is_ok() {
            // The thread may have gone before it heard.
            let _ = closed.await;
        }
    }
}

impl fmt::Debug for DiskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DiskStore").field(&self.path).finish()
    }
}

fn failed(path: &Path, reason: &str) -> StoreError {
    StoreError::Io {
        store: NAME.to_owned(),
        reason: format!("{}: {reason}", path.display()),
    }
}

const NAME: &str = "disk";

const PATH: Key<String> = Key {
    name: "path",
    default: String::new,
};

const CAPACITY: Key<Option<u64>> = Key {
    name: "capacity",
    default: || None,
};

const SYNC: Key<String> = Key {
    name: "sync",
    default: || "always".to_owned(),
};

dubbo_core::extension!(dyn super::DeadLetterStore, "disk", |cx| {
    let path = cx.url.get(&PATH)?;
    if path.is_empty() {
        return Err("it needs the `path` of its file".into());
    }
    let sync = match cx.url.get(&SYNC)?.as_str() {
        "always" => SyncMode::Always,
        "batch" => SyncMode::Batch,
        other => return Err(format!("`sync` is `{other}`, not `always` or `batch`").into()),
    };
    let capacity = cx.url.get(&CAPACITY)?;
    let capacity = capacity.unwrap_or_else(|| DiskOptions::default().capacity);
    Ok(Arc::new(DiskStore::open(
        path,
        DiskOptions { capacity, sync },
    )?))
});

#[cfg(test)]
mod tests;
