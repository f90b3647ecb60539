//! `memory`: a registry within the process, for one program that provides and consumes, and for tests.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use dubbo_core::{
    registry::{Registry, RegistryError, RegistrySnapshot},
    subscription::{Subscription, Update},
    url::Url,
};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use crate::matching::{self, Category};

/// A handle on a registry within the process.
///
/// [`new`](Self::new) makes a registry of its own: two instances that name `memory` in their configuration do not see each
/// other. A clone is a second handle on the same registry: what is registered through one is seen through both, and
/// closing one takes back what was registered through that one alone. So two instances share a registry on purpose:
///
/// ```
/// # use std::sync::Arc;
/// # use dubbo_core::{extension::Extensions, registry::Registry, url::Url};
/// # use dubbo_registry::memory::MemoryRegistry;
/// let shared = MemoryRegistry::new(Url::new("memory", "shared"));
/// let (mut one, mut other) = (Extensions::linked()?, Extensions::linked()?);
/// for extensions in [&mut one, &mut other] {
///     let shared = shared.clone();
///     extensions.register::<dyn Registry>("memory", move |_cx| Ok(Arc::new(shared.clone())));
/// }
/// # Ok::<(), dubbo_core::extension::ExtensionError>(())
/// ```
pub struct MemoryRegistry {
    url: Url,
    store: Arc<Mutex<Store>>,
    handle: Id,
    closed: AtomicBool,
}

impl MemoryRegistry {
    /// A registry that nobody has registered with. `url` is what messages call it.
    pub fn new(url: Url) -> Self {
        Self::on(url, Arc::default())
    }

    fn on(url: Url, store: Arc<Mutex<Store>>) -> Self {
        let handle = store.lock().next_id();
        Self {
            url,
            store,
            handle,
            closed: AtomicBool::new(false),
        }
    }

    /// Locks the store for an operation on `url`. The lock is taken first, so that nothing comes in after a close.
    fn open(&self, operation: &str, url: &Url) -> Result<MutexGuard<'_, Store>, RegistryError> {
        let store = self.store.lock();
        if self.closed.load(Ordering::Relaxed) {
            return Err(self.error(operation, url, "the registry is closed"));
        }
        if url.service_key().interface().is_empty() {
            return Err(self.error(operation, url, "it names no interface"));
        }
        Ok(store)
    }

    fn error(&self, operation: &str, url: &Url, reason: impl Into<String>) -> RegistryError {
        let address = format!("{}://{}", self.url.protocol(), self.url.address());
        RegistryError::new(format!("{operation} {url:?}"), address, reason)
    }
}

impl Clone for MemoryRegistry {
    fn clone(&self) -> Self {
        Self::on(self.url.clone(), Arc::clone(&self.store))
    }
}

#[async_trait]
impl Registry for MemoryRegistry {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn register(&self, url: &Url) -> Result<(), RegistryError> {
        let category =
            Category::of(url).map_err(|error| self.error("register", url, error.to_string()))?;
        self.open("register", url)?
            .register(self.handle, category, url);
        Ok(())
    }

    async fn unregister(&self, url: &Url) -> Result<(), RegistryError> {
        self.open("unregister", url)?
            .withdraw(self.handle, |entry| entry.url == *url);
        Ok(())
    }

    async fn lookup(&self, consumer: &Url) -> Result<RegistrySnapshot, RegistryError> {
        Ok(self.open("look up", consumer)?.snapshot(consumer))
    }

    async fn subscribe(
        &self,
        consumer: &Url,
    ) -> Result<Subscription<RegistrySnapshot>, RegistryError> {
        let mut store = self.open("subscribe to", consumer)?;
        let id = store.next_id();
        let updates = store.watch(id, self.handle, consumer);
        drop(store);
        let store = Arc::downgrade(&self.store);
        Ok(Subscription::new(updates, move || {
            if let Some(store) = store.upgrade() {
                store.lock().watchers.remove(&id);
            }
        }))
    }

    async fn close(&self) {
        let mut store = self.store.lock();
        self.closed.store(true, Ordering::Relaxed);
        store
            .watchers
            .retain(|_, watcher| watcher.handle != self.handle);
        store.withdraw(self.handle, |_| true);
    }
}

impl fmt::Debug for MemoryRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryRegistry")
            .field("url", &self.url)
            .field("entries", &self.store.lock().entries.len())
            .finish_non_exhaustive()
    }
}

dubbo_core::extension!(dyn dubbo_core::registry::Registry, "memory", |cx| Ok(
    Arc::new(MemoryRegistry::new(cx.url.clone()))
));

type Id = u64;

#[derive(Default)]
struct Store {
    last_id: Id,
    epoch: u64,
    /// In the order of their registration.
    entries: Vec<Entry>,
    watchers: BTreeMap<Id, Watcher>,
}

struct Entry {
    url: Url,
    category: Category,
    /// The handles that registered it; it goes with the last of them.
    handles: BTreeSet<Id>,
}

struct Watcher {
    handle: Id,
    consumer: Url,
    updates: watch::Sender<Update<RegistrySnapshot>>,
}

impl Store {
    fn next_id(&mut self) -> Id {
        self.last_id += 1;
        self.last_id
    }

    fn register(&mut self, handle: Id, category: Category, url: &Url) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.url == *url) {
            entry.handles.insert(handle);
            return;
        }
        self.entries.push(Entry {
            url: url.clone(),
            category,
            handles: BTreeSet::from([handle]),
        });
        self.publish();
    }

    /// Takes `handle` off the entries that `which` names, and drops those that nobody holds any more.
    fn withdraw(&mut self, handle: Id, which: impl Fn(&Entry) -> bool) {
        let before = self.entries.len();
        self.entries.retain_mut(|entry| {
            if which(entry) {
                entry.handles.remove(&handle);
            }
            !entry.handles.is_empty()
        });
        if self.entries.len() < before {
            self.publish();
        }
    }

    fn watch(
        &mut self,
        id: Id,
        handle: Id,
        consumer: &Url,
    ) -> watch::Receiver<Update<RegistrySnapshot>> {
        let first = Update::new(self.epoch, Ok(self.snapshot(consumer)));
        let (updates, receiver) = watch::channel(first);
        let watcher = Watcher {
            handle,
            consumer: consumer.clone(),
            updates,
        };
        self.watchers.insert(id, watcher);
        receiver
    }

    /// Shows every watcher for whom something has changed what there is now.
    fn publish(&mut self) {
        self.epoch += 1;
        for watcher in self.watchers.values() {
            let now = self.snapshot(&watcher.consumer);
            watcher.updates.send_if_modified(|update| {
                let changed = update.state.as_ref().ok() != Some(&now);
                if changed {
                    *update = Update::new(self.epoch, Ok(now));
                }
                changed
            });
        }
    }

    fn snapshot(&self, consumer: &Url) -> RegistrySnapshot {
        let of = |category: Category| -> Arc<[Url]> {
            self.entries
                .iter()
                .filter(|entry| entry.category == category && category.is_wanted_by(consumer))
                .filter(|entry| matching::matches(consumer, &entry.url))
                .map(|entry| entry.url.clone())
                .collect()
        };
        let mut snapshot = RegistrySnapshot::of_providers(of(Category::Providers));
        snapshot.configurators = of(Category::Configurators);
        snapshot.routers = of(Category::Routers);
        snapshot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().expect(text)
    }

    #[tokio::test]
    async fn what_cannot_be_registered_is_refused_with_what_and_where() {
        let registry = MemoryRegistry::new(url("memory://user:secret@local"));
        for (text, want) in [
            (
                "tri://h:1",
                "register tri://h:1 at memory://local: it names no interface",
            ),
            (
                "tri://h:1/a.B?category=x",
                "register tri://h:1/a.B?category=x at memory://local: \
                 category `x` is none of configurators, consumers, providers, routers",
            ),
        ] {
            let error = registry.register(&url(text)).await.expect_err("refused");
            assert_eq!(error.to_string(), want);
        }
    }

    #[tokio::test]
    async fn two_registries_are_two_and_a_clone_is_the_same() {
        let (one, two) = (url("memory://local"), url("memory://local"));
        let (one, two) = (MemoryRegistry::new(one), MemoryRegistry::new(two));
        let provider = url("tri://h:1/a.B");
        one.register(&provider).await.expect("registers");
        let consumer = url("consumer://h/a.B");
        let count = |found: RegistrySnapshot| found.providers.len();
        assert_eq!(
            one.clone()
                .lookup(&consumer)
                .await
                .map(count)
                .expect("open"),
            1
        );
        assert_eq!(two.lookup(&consumer).await.map(count).expect("open"), 0);
    }

    #[tokio::test]
    async fn nobody_is_woken_by_what_is_not_theirs_and_the_dropped_are_forgotten() {
        let registry = MemoryRegistry::new(url("memory://local"));
        let consumer = url("consumer://h/a.B");
        let mut subscription = registry.subscribe(&consumer).await.expect("open");
        subscription.current();
        registry
            .register(&url("tri://h:1/a.C"))
            .await
            .expect("registers");
        registry
            .register(&url("consumer://h:1/a.B"))
            .await
            .expect("registers");
        let news = tokio::time::timeout(std::time::Duration::ZERO, subscription.changed());
        assert!(
            news.await.is_err(),
            "another service and a consumer are no news"
        );
        drop(subscription);
        assert!(registry.store.lock().watchers.is_empty());
    }
}
