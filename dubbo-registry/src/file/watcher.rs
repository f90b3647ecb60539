//! Looking at files several times a second, for those who follow them.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use parking_lot::Mutex;

use super::{
    life::{self, Pulse},
    tree,
};
use crate::backend::Hint;

/// What is looked at.
#[derive(Debug, Default)]
pub(super) struct Watcher(Mutex<Watches>);

#[derive(Debug, Default)]
struct Watches {
    last: u64,
    by_id: HashMap<u64, Watch>,
}

#[derive(Debug)]
struct Watch {
    what: Watched,
    hint: Hint,
    /// How it looked last.
    look: Option<Look>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Watched {
    /// The files of clients in a folder.
    Clients(PathBuf),
    /// One file.
    File(PathBuf),
    /// The names in a folder.
    Names(PathBuf),
}

/// How something looks from outside: another look means another content.
type Look = Vec<(String, Option<Stamp>)>;

/// Size, time and number of a file; each that is written is a new one.
type Stamp = (u64, Option<SystemTime>, u64);

impl Watcher {
    /// Gives `hint` when `what` looks different from now on, until the guard is dropped.
    pub(super) fn watch(self: &Arc<Self>, root: &Path, what: Watched, hint: Hint) -> Watching {
        let look = what.look(root).ok();
        let mut watches = self.0.lock();
        watches.last += 1;
        let id = watches.last;
        watches.by_id.insert(id, Watch { what, hint, look });
        Watching {
            watcher: Arc::clone(self),
            id,
        }
    }

    /// Looks at everything once.
    pub(super) fn look(&self, root: &Path) {
        let watched: Vec<_> = {
            let watches = self.0.lock();
            let by_id = watches.by_id.iter();
            by_id.map(|(id, watch)| (*id, watch.what.clone())).collect()
        };
        for (id, what) in watched {
            // What cannot be looked at now may have changed: reading it tells why it cannot.
            let look = what.look(root).ok();
            if let Some(watch) = self.0.lock().by_id.get_mut(&id)
                && (watch.look != look || look.is_none())
            {
                watch.look = look;
                watch.hint.give();
            }
        }
    }

    /// How many watches there are.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.0.lock().by_id.len()
    }
}

impl Watched {
    fn look(&self, root: &Path) -> io::Result<Look> {
        match self {
            Self::Clients(folder) => {
                let mut look = Vec::new();
                for name in tree::names(folder)? {
                    if life::pulse(root, &name)? == Pulse::Alive {
                        let stamp = stamp(&folder.join(&name))?;
                        look.push((name, stamp));
                    }
                }
                Ok(look)
            }
            Self::File(path) => Ok(vec![(String::new(), stamp(path)?)]),
            Self::Names(folder) => {
                let names = tree::names(folder)?.into_iter();
                Ok(names.map(|name| (name, None)).collect())
            }
        }
    }
}

fn stamp(path: &Path) -> io::Result<Option<Stamp>> {
    let metadata = tree::or_none(fs::metadata(path))?;
    Ok(metadata.map(|metadata| (metadata.len(), metadata.modified().ok(), number(&metadata))))
}

#[cfg(unix)]
fn number(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn number(_metadata: &fs::Metadata) -> u64 {
    0
}

/// A watch, until it is dropped.
#[derive(Debug)]
pub(super) struct Watching {
    watcher: Arc<Watcher>,
    id: u64,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.watcher.0.lock().by_id.remove(&self.id);
    }
}
