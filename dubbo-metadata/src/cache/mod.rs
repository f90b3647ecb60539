//! What a consumer knows of metadata and mappings, for the next time: in memory, and in files for the next start.
//!
//! `docs/spec/metadata.md` §4.4. With files, a consumer that starts while the metadata report is down and providers do not
//! answer has the addresses that it had before.

mod contents;
mod files;
pub mod record;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Duration,
};

use dubbo_core::metadata::Mapping;
use parking_lot::Mutex;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::{
    sync::OnceCell,
    task::{JoinSet, spawn_blocking},
    time::{sleep, timeout},
};

pub(crate) use self::contents::Key;
use self::{
    contents::Contents,
    files::{FileError, Files},
};
use crate::model::MetadataInfo;

/// A cache of metadata and mappings, for all consumers of one application.
///
/// Metadata is kept by the registry's id, the provider's application and the revision, as far as it stays the same for
/// good: weak revisions are not kept. What is used least recently goes when there is no room; metadata that instances have
/// now stays in any case. A mapping is kept by the registry's id and the interface, 10,000 of them.
///
/// [In memory](Self::in_memory) that is all. [In a folder](Self::in_folder), files are read before the first
/// subscription, and written 5 s after a change and by [`close`](Self::close). Of several processes with one folder the
/// first one writes until it ends. Whatever is wrong with the files is a warning, and costs what is damaged.
pub struct Cache {
    contents: Mutex<Contents>,
    disk: Option<Disk>,
}

/// Where a cache stays.
struct Disk {
    folder: PathBuf,
    files: Arc<Mutex<Files>>,
    is_loaded: OnceCell<()>,
    dumps: Mutex<Dumps>,
}

struct Dumps {
    /// There are none any more once it is closed.
    running: Option<JoinSet<()>>,
    /// Whether one of them is going to see what changes now.
    is_due: bool,
}

impl Cache {
    /// A cache that ends with the program and has room for about that many bytes of metadata.
    pub fn in_memory(room: usize) -> Arc<Self> {
        Arc::new(Self {
            contents: Mutex::new(Contents::new(room)),
            disk: None,
        })
    }

    /// A cache with files in a folder of its own for `application`, the one that consumes, in the folder `base`. Both are
    /// made with the first subscription if they are not there.
    pub fn in_folder(base: &Path, application: &str, room: usize) -> Arc<Self> {
        let folder = base.join(file_name(application));
        let disk = Disk {
            files: Arc::new(Mutex::new(Files::new(&folder, room))),
            folder,
            is_loaded: OnceCell::new(),
            dumps: Mutex::new(Dumps {
                running: Some(JoinSet::new()),
                is_due: false,
            }),
        };
        Arc::new(Self {
            contents: Mutex::new(Contents::new(room)),
            disk: Some(disk),
        })
    }

    /// Writes what has not been written, and lets another process write from now on. For when the consumers are closed;
    /// nothing is written after it.
    ///
    /// # Cancel safety
    ///
    /// The files are written or left as they were, whichever it is.
    pub async fn close(self: &Arc<Self>) {
        let Some(disk) = &self.disk else { return };
        let running = disk.dumps.lock().running.take();
        let Some(mut running) = running else { return };
        running.shutdown().await;
        self.on_files(|cache, files| {
            files.attempt(|files| cache.dump(files));
            files.unlock();
        })
        .await;
    }

    /// Reads the files, the first time. What is not there in a while is not waited for.
    pub(crate) async fn load(self: &Arc<Self>) {
        let Some(disk) = &self.disk else { return };
        let load = || async {
            let reading = self.on_files(|cache, files| {
                files.attempt(|files| files.lock().map(drop));
                cache.take_in(files);
            });
            if timeout(LOAD_WITHIN, reading).await.is_err() {
                tracing::warn!(
                    folder = %disk.folder.display(), waited = ?LOAD_WITHIN,
                    "the cache of metadata takes long to be read; it is not waited for"
                );
            }
        };
        disk.is_loaded.get_or_init(load).await;
    }

    /// The metadata of `key`. It stays as long as the pin.
    pub(crate) fn pin(self: &Arc<Self>, key: &Key) -> Option<(Arc<MetadataInfo>, Pin)> {
        let info = self.contents.lock().pin(key)?;
        Some((info, self.pinned(key)))
    }

    /// Keeps the metadata of `key`, and as long as the pin in any case.
    pub(crate) fn add(self: &Arc<Self>, key: &Key, info: &Arc<MetadataInfo>) -> Pin {
        self.change(|contents| contents.add(key, info));
        self.pinned(key)
    }

    /// The mapping of `interface` as `registry` knew it last.
    pub(crate) fn mapping(
        &self,
        registry: &Arc<str>,
        interface: &Arc<str>,
    ) -> Option<Arc<Mapping>> {
        let key = (Arc::clone(registry), Arc::clone(interface));
        self.contents.lock().mapping(&key)
    }

    /// Keeps the mapping of `interface` as `registry` knows it now.
    pub(crate) fn remember(
        self: &Arc<Self>,
        registry: &Arc<str>,
        interface: &Arc<str>,
        mapping: &Arc<Mapping>,
    ) {
        let key = (Arc::clone(registry), Arc::clone(interface));
        self.change(|contents| contents.remember(key, mapping));
    }

    /// About how many bytes of metadata are kept that no instance has now.
    pub(crate) fn unpinned_bytes(&self) -> usize {
        self.contents.lock().unpinned_bytes()
    }

    fn pinned(self: &Arc<Self>, key: &Key) -> Pin {
        Pin {
            cache: Arc::clone(self),
            key: key.clone(),
        }
    }

    /// Changes the contents. What the files do not have then is written in a while.
    fn change(self: &Arc<Self>, change: impl FnOnce(&mut Contents)) {
        let is_changed = {
            let mut contents = self.contents.lock();
            change(&mut contents);
            contents.is_changed
        };
        if let Some(disk) = &self.disk
            && is_changed
        {
            disk.dumps.lock().schedule(self);
        }
    }

    /// Does something with the files, beside the threads of calls.
    async fn on_files(self: &Arc<Self>, work: impl FnOnce(&Self, &mut Files) + Send + 'static) {
        let Some(disk) = &self.disk else { return };
        let (cache, files) = (Arc::clone(self), Arc::clone(&disk.files));
        let working = spawn_blocking(move || work(&cache, &mut files.lock()));
        if let Err(error) = working.await
            && error.is_panic()
        {
            tracing::error!(%error, "a panic while the cache of metadata was read or written");
        }
    }

    fn take_in(&self, files: &mut Files) {
        let found = files.read();
        let mut contents = self.contents.lock();
        contents.merge(found.metadata, found.mappings);
        contents.is_changed |= found.is_damaged;
    }

    /// Writes all, if anything is new and no other process writes.
    fn dump(&self, files: &mut Files) -> Result<(), FileError> {
        if !self.contents.lock().is_changed {
            return Ok(());
        }
        if files.lock()? {
            // The one that wrote before has left more than was there when it was read.
            self.take_in(files);
        }
        if !files.is_locked() {
            return Ok(());
        }
        let all = {
            let mut contents = self.contents.lock();
            contents.is_changed = false;
            contents.all()
        };
        files
            .write(&all)
            .inspect_err(|_| self.contents.lock().is_changed = true)
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("folder", &self.disk.as_ref().map(|disk| &disk.folder))
            .field("unpinned_bytes", &self.unpinned_bytes())
            .finish_non_exhaustive()
    }
}

impl Dumps {
    fn schedule(&mut self, cache: &Arc<Cache>) {
        if self.is_due {
            return;
        }
        if let Some(running) = &mut self.running {
            while running.try_join_next().is_some() {}
            running.spawn(dump_later(Arc::downgrade(cache)));
            self.is_due = true;
        }
    }
}

async fn dump_later(cache: Weak<Cache>) {
    sleep(DUMP_AFTER).await;
    let Some(cache) = cache.upgrade() else { return };
    let Some(disk) = &cache.disk else { return };
    disk.dumps.lock().is_due = false;
    cache
        .on_files(|cache, files| files.attempt(|files| cache.dump(files)))
        .await;
}

/// As long as it is there its metadata stays in the cache.
#[derive(Debug)]
pub(crate) struct Pin {
    cache: Arc<Cache>,
    key: Key,
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.cache.contents.lock().unpin(&self.key);
    }
}

/// The application's name as that of a file, whatever is in it.
fn file_name(application: &str) -> String {
    let name = utf8_percent_encode(application, ESCAPED).to_string();
    match name.strip_prefix('.') {
        Some(rest) => format!("%2E{rest}"),
        None => name,
    }
}

const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// How long changes are gathered before the files are written.
const DUMP_AFTER: Duration = Duration::from_secs(5);

/// How long a first subscription waits for the files.
const LOAD_WITHIN: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_file_name_is_written_as_one() {
        for (application, want) in [
            ("order-center_2.x", "order-center_2.x"),
            ("a/b", "a%2Fb"),
            ("..", "%2E."),
            ("../../etc", "%2E.%2F..%2Fetc"),
            ("käse", "k%C3%A4se"),
            ("a b\\c:d\u{0}%2F", "a%20b%5Cc%3Ad%00%252F"),
        ] {
            assert_eq!(file_name(application), want, "{application}");
        }
    }
}
