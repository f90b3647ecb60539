//! Looking at files several times a second, for those who follow them.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use dubbo_core::files::Stamp;
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
    /// How it looked last, to whoever read it or to us.
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
pub(super) type Look = Vec<(String, Option<Stamp>)>;

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

    /// Somebody has read `what`, and it looked so. What came after the last look and goes before the next one would not be
    /// missed otherwise.
    pub(super) fn saw(&self, what: &Watched, look: &Look) {
        let mut watches = self.0.lock();
        let same = watches
            .by_id
            .values_mut()
            .filter(|watch| watch.what == *what);
        for watch in same.filter(|watch| watch.look.as_ref() != Some(look)) {
            watch.look = Some(look.clone());
            watch.hint.give();
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

pub(super) fn stamp(path: &Path) -> io::Result<Option<Stamp>> {
    tree::or_none(Stamp::of(path))
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

#[cfg(test)]
mod tests {
    use std::fs;

    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn what_was_read_between_two_looks_and_went_again_is_noticed() {
        let root = std::env::temp_dir().join(tree::unique());
        let path = root.join("a/b");
        let what = Watched::File(path.clone());
        let (watcher, hint) = (Arc::<Watcher>::default(), Hint(Arc::default()));
        let _watching = watcher.watch(&root, what.clone(), hint.clone());
        let is_told = || hint.0.notified().now_or_never().is_some();

        watcher.look(&root);
        tree::write(&path, "x").expect("is written");
        let look = vec![(String::new(), stamp(&path).expect("is there"))];
        watcher.saw(&what, &look);
        assert!(is_told(), "others may not have read it");
        watcher.saw(&what, &look);
        assert!(!is_told(), "nothing has changed since");
        tree::remove(&root, &path).expect("is removed");
        watcher.look(&root);
        assert!(is_told());
        let _ = fs::remove_dir_all(&root);
    }
}
