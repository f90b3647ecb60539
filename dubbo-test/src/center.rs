//! A config center that holds what a test says, and tells who asks.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use dubbo_core::{
    config_center::ConfigCenter,
    registry::RegistryError,
    subscription::{Subscription, Update},
    url::Url,
};
use parking_lot::Mutex;
use tokio::sync::watch;

/// A config center within a test. A clone is the same one.
#[derive(Clone)]
pub struct Center(Arc<Inner>);

struct Inner {
    url: Url,
    texts: Mutex<BTreeMap<Key, watch::Sender<State>>>,
    watched: Mutex<Vec<Key>>,
    epoch: AtomicU64,
    is_silent: AtomicBool,
}

/// Group and key.
type Key = (String, String);

type State = Update<Option<Arc<str>>>;

impl Center {
    /// An empty one, which messages call `test://{name}`.
    pub fn new(name: &str) -> Self {
        Self(Arc::new(Inner {
            url: Url::new("test", name),
            texts: Mutex::default(),
            watched: Mutex::default(),
            epoch: AtomicU64::new(1),
            is_silent: AtomicBool::new(false),
        }))
    }

    /// Whether it leaves those who ask without an answer from now on.
    pub fn set_silent(&self, is_silent: bool) {
        self.0.is_silent.store(is_silent, Ordering::Relaxed);
    }

    /// Says the text of `key` in the group `dubbo`.
    pub fn put(&self, key: &str, text: &str) {
        self.say(key, Ok(Some(text.into())));
    }

    /// Takes it away.
    pub fn delete(&self, key: &str) {
        self.say(key, Ok(None));
    }

    /// Does not know it any more.
    pub fn fail(&self, key: &str, reason: &str) {
        let error = RegistryError::new(format!("follow {key}"), self.0.url.origin(), reason);
        self.say(key, Err(Arc::new(error)));
    }

    /// The keys in the group `dubbo` that somebody follows now.
    pub fn followed(&self) -> Vec<String> {
        let watched = self.0.watched.lock();
        let ours = watched.iter().filter(|(group, _)| group == GROUP);
        let keys: BTreeSet<_> = ours.map(|(_, key)| key.clone()).collect();
        keys.into_iter().collect()
    }

    fn say(&self, key: &str, state: Result<Option<Arc<str>>, Arc<RegistryError>>) {
        self.0.say((GROUP.to_owned(), key.to_owned()), state);
    }
}

impl Inner {
    /// Comes when it answers.
    async fn answers(&self) {
        while self.is_silent.load(Ordering::Relaxed) {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }

    fn say(&self, key: Key, state: Result<Option<Arc<str>>, Arc<RegistryError>>) {
        let epoch = self.epoch.fetch_add(1, Ordering::Relaxed);
        let mut texts = self.texts.lock();
        let text = texts.entry(key).or_insert_with(absent);
        text.send_replace(Update::new(epoch, state));
    }
}

#[async_trait]
impl ConfigCenter for Center {
    fn url(&self) -> &Url {
        &self.0.url
    }

    async fn get(&self, key: &str, group: &str) -> Result<Option<Arc<str>>, RegistryError> {
        self.0.answers().await;
        let texts = self.0.texts.lock();
        let text = texts.get(&(group.to_owned(), key.to_owned()));
        let state = text.map_or(Ok(None), |text| text.borrow().state.clone());
        state.map_err(|error| {
            RegistryError::new(
                format!("read {key}"),
                self.0.url.origin(),
                error.to_string(),
            )
        })
    }

    async fn publish(&self, key: &str, group: &str, content: &str) -> Result<(), RegistryError> {
        let key = (group.to_owned(), key.to_owned());
        self.0.say(key, Ok(Some(content.into())));
        Ok(())
    }

    async fn watch(
        &self,
        key: &str,
        group: &str,
    ) -> Result<Subscription<Option<Arc<str>>>, RegistryError> {
        self.0.answers().await;
        let key = (group.to_owned(), key.to_owned());
        let mut texts = self.0.texts.lock();
        let updates = texts.entry(key.clone()).or_insert_with(absent).subscribe();
        self.0.watched.lock().push(key.clone());
        let inner = Arc::clone(&self.0);
        Ok(Subscription::new(updates, move || {
            let mut watched = inner.watched.lock();
            if let Some(position) = watched.iter().position(|one| *one == key) {
                watched.remove(position);
            }
        }))
    }

    async fn remove(&self, key: &str, group: &str) -> Result<(), RegistryError> {
        self.0.say((group.to_owned(), key.to_owned()), Ok(None));
        Ok(())
    }

    /// Ends who follows texts; they stay, for others.
    async fn close(&self) {
        for text in self.0.texts.lock().values_mut() {
            let state = text.borrow().clone();
            *text = watch::Sender::new(state);
        }
    }
}

impl fmt::Debug for Center {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Center").field(&self.0.url).finish()
    }
}

fn absent() -> watch::Sender<State> {
    watch::Sender::new(Update::new(0, Ok(None)))
}

const GROUP: &str = "dubbo";
