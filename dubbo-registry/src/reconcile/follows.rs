//! Who follows what: one follower for each thing, however many ask for it.

use std::{
    collections::HashMap,
    fmt,
    hash::Hash,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::{sync::watch, task::AbortHandle};

use super::{
    follow::{self, Seen, Source},
    tasks::Tasks,
};

/// What is followed, by key.
pub(crate) struct Follows<K: Eq + Hash, T>(Arc<Table<K, T>>);

type Table<K, T> = Mutex<HashMap<K, Weak<Followed<K, T>>>>;

impl<K: Clone + Eq + Hash, T: PartialEq + Send + Sync + 'static> Follows<K, T> {
    /// Follows `key`; `source` says how if nobody does yet.
    pub(crate) fn follow<S: Source<State = T>>(
        &self,
        tasks: &Tasks,
        key: &K,
        source: impl FnOnce() -> S,
    ) -> Arc<Followed<K, T>> {
        let mut table = self.0.lock();
        if let Some(followed) = table.get(key).and_then(Weak::upgrade) {
            return followed;
        }
        let (sender, seen) = watch::channel(Seen::default());
        let followed = Arc::new(Followed {
            key: key.clone(),
            seen,
            task: tasks.spawn(follow::follow(source(), sender)),
            table: Arc::downgrade(&self.0),
        });
        table.insert(key.clone(), Arc::downgrade(&followed));
        followed
    }

    /// How many things are followed.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.0.lock().len()
    }
}

impl<K: Eq + Hash, T> Default for Follows<K, T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

/// A share in following something, which ends with the last of them.
pub(crate) struct Followed<K: Eq + Hash, T> {
    key: K,
    seen: watch::Receiver<Seen<T>>,
    task: AbortHandle,
    table: Weak<Table<K, T>>,
}

impl<K: Eq + Hash, T> Followed<K, T> {
    /// What is known, as it changes. It closes when the client is gone.
    pub(crate) fn seen(&self) -> watch::Receiver<Seen<T>> {
        self.seen.clone()
    }
}

impl<K: Eq + Hash, T> Drop for Followed<K, T> {
    fn drop(&mut self) {
        self.task.abort();
        if let Some(table) = self.table.upgrade() {
            let mut table = table.lock();
            // Somebody may have begun to follow it anew in the meantime.
            if table.get(&self.key).is_some_and(|f| f.strong_count() == 0) {
                table.remove(&self.key);
            }
        }
    }
}

impl<K: Eq + Hash + fmt::Debug, T> fmt::Debug for Followed<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Followed").field(&self.key).finish()
    }
}
