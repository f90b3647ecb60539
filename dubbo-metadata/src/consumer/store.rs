//! The metadata that a consumer knows: each revision is got once, whoever needs it.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};

use dubbo_core::discovery::ServiceInstance;
use parking_lot::Mutex;
use tokio::{sync::Notify, time::sleep};

use super::{
    load::{Failures, LoadError, Loader, Wanted},
    tasks::{Running, Tasks},
};
use crate::{
    cache::{Cache, Key, Pin},
    jitter::EqualJitter,
    model::MetadataInfo,
};

/// The revisions of all applications of one registry (`docs/spec/metadata.md` §6.2).
///
/// What somebody [follows](Self::follow) is got by one task for all that follow it, again and again until it is there. A
/// strong revision is then known for good, and is in the cache; a weak one is asked for again from time to time.
pub(crate) struct RevisionStore {
    loader: Loader,
    tasks: Arc<Tasks>,
    cache: Arc<Cache>,
    /// The id of the registry.
    registry: Arc<str>,
    random: Mutex<fastrand::Rng>,
    followed: Mutex<HashMap<Wanted, Weak<Followed>>>,
}

impl RevisionStore {
    pub(super) fn new(
        loader: Loader,
        tasks: Arc<Tasks>,
        cache: Arc<Cache>,
        registry: Arc<str>,
        random: fastrand::Rng,
    ) -> Arc<Self> {
        Arc::new(Self {
            loader,
            tasks,
            cache,
            registry,
            random: Mutex::new(random),
            followed: Mutex::default(),
        })
    }

    /// Follows what `wanted` is, asking `candidates` for it. `wake` is told of each change.
    pub(super) fn follow(
        self: &Arc<Self>,
        wanted: Wanted,
        candidates: Vec<Arc<ServiceInstance>>,
        wake: &Arc<Notify>,
    ) -> Arc<Followed> {
        let mut all = self.followed.lock();
        if let Some(followed) = all.get(&wanted).and_then(Weak::upgrade) {
            drop(all);
            followed.state.wakes.lock().push(Arc::clone(wake));
            followed.offer(candidates);
            return followed;
        }
        let (metadata, pin) = match self.cache.pin(&self.key(&wanted)) {
            Some((info, pin)) => (Metadata::Ready(info), Some(pin)),
            None => (Metadata::Loading, None),
        };
        let is_known = pin.is_some();
        let state = Arc::new(State {
            metadata: Mutex::new(metadata),
            pin: Mutex::new(pin),
            candidates: Mutex::new(candidates),
            again: Notify::new(),
            wakes: Mutex::new(vec![Arc::clone(wake)]),
        });
        let running = (!is_known).then(|| {
            let random = self.random.lock().fork();
            let keep = Arc::clone(self).keep(wanted.clone(), Arc::clone(&state), random);
            self.tasks.spawn(keep)
        });
        let followed = Arc::new(Followed {
            wanted: wanted.clone(),
            state,
            store: Arc::clone(self),
            _running: running,
        });
        all.insert(wanted, Arc::downgrade(&followed));
        followed
    }

    /// Where it is in the cache.
    fn key(&self, wanted: &Wanted) -> Key {
        Key {
            registry: Arc::clone(&self.registry),
            application: Arc::clone(&wanted.application),
            revision: Arc::clone(&wanted.revision),
        }
    }

    /// How often instances and reports were asked, and how often in vain.
    pub(super) fn counts(&self) -> (u64, u64) {
        self.loader.counts()
    }

    /// Gets it, until it need not be got any more.
    async fn keep(self: Arc<Self>, wanted: Wanted, state: Arc<State>, mut random: fastrand::Rng) {
        let mut failures = Failures::default();
        let mut waits = EqualJitter::new(RETRY_BASE, RETRY_CAP);
        loop {
            let candidates = state.candidates.lock().clone();
            let loaded = self
                .loader
                .load(&wanted, &candidates, &mut failures, &mut random)
                .await;
            let wait = match loaded {
                Ok(info) => {
                    waits.reset();
                    let info = Arc::new(info);
                    let is_for_good = !wanted.is_weak();
                    if is_for_good {
                        *state.pin.lock() = Some(self.cache.add(&self.key(&wanted), &info));
                        // Nobody is asked any more.
                        *state.candidates.lock() = Vec::new();
                    }
                    state.set(Metadata::Ready(info));
                    if is_for_good {
                        return;
                    }
                    WEAK_FOR
                }
                Err(error) => {
                    tracing::warn!(
                        application = &*wanted.application, revision = &*wanted.revision, %error,
                        "metadata cannot be fetched"
                    );
                    state.fail(error);
                    waits.next_wait(&mut random)
                }
            };
            tokio::select! {
                () = sleep(wait) => {}
                () = state.again.notified() => waits.reset(),
            }
        }
    }
}

impl fmt::Debug for RevisionStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RevisionStore")
            .field("loader", &self.loader)
            .field("cache", &self.cache)
            .field("followed", &self.followed.lock().len())
            .finish_non_exhaustive()
    }
}

/// One revision that somebody needs.
#[derive(Debug)]
pub(super) struct Followed {
    wanted: Wanted,
    state: Arc<State>,
    store: Arc<RevisionStore>,
    _running: Option<Running>,
}

impl Followed {
    pub(super) fn metadata(&self) -> Metadata {
        self.state.metadata.lock().clone()
    }

    /// Whether somebody has to be asked: what is known is not known for good.
    pub(super) fn asks(&self) -> bool {
        self.wanted.is_weak() || !matches!(self.metadata(), Metadata::Ready(_))
    }

    /// Says who can be asked now. If somebody is new among them, that is reason enough to ask at once.
    pub(super) fn offer(&self, candidates: Vec<Arc<ServiceInstance>>) {
        let is_known = matches!(self.metadata(), Metadata::Ready(_));
        if !self.asks() {
            return;
        }
        let mut now = self.state.candidates.lock();
        if is_known {
            *now = candidates;
            return;
        }
        let asked: HashSet<_> = now.iter().map(|one| one.id()).collect();
        let is_new = candidates.iter().any(|one| !asked.contains(&one.id()));
        *now = candidates;
        drop(now);
        if is_new {
            self.state.again.notify_one();
        }
    }

    /// Asks again: what was a weak revision may be another one now.
    pub(super) fn refresh(&self) {
        self.state.again.notify_one();
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        let mut all = self.store.followed.lock();
        // Somebody may have begun to follow it anew in the meantime.
        if all
            .get(&self.wanted)
            .is_some_and(|followed| followed.strong_count() == 0)
        {
            all.remove(&self.wanted);
        }
    }
}

#[derive(Debug)]
struct State {
    metadata: Mutex<Metadata>,
    /// Keeps it in the cache.
    pin: Mutex<Option<Pin>>,
    candidates: Mutex<Vec<Arc<ServiceInstance>>>,
    again: Notify,
    wakes: Mutex<Vec<Arc<Notify>>>,
}

impl State {
    fn set(&self, metadata: Metadata) {
        *self.metadata.lock() = metadata;
        for wake in &*self.wakes.lock() {
            wake.notify_one();
        }
    }

    /// Keeps what was known: an old answer is better than none.
    fn fail(&self, error: LoadError) {
        match &*self.metadata.lock() {
            Metadata::Ready(_) => return,
            // Whoever was asked by chance makes no difference worth telling.
            Metadata::Failed(last) if last.is_like(&error) => return,
            Metadata::Failed(_) | Metadata::Loading => {}
        }
        self.set(Metadata::Failed(Arc::new(error)));
    }
}

/// What is known of one revision.
#[derive(Debug, Clone)]
pub(crate) enum Metadata {
    /// It could not be got so far, for this reason; it is tried again.
    Failed(Arc<LoadError>),
    /// It is being got for the first time.
    Loading,
    /// This is it.
    Ready(Arc<MetadataInfo>),
}

const RETRY_BASE: Duration = Duration::from_secs(1);
const RETRY_CAP: Duration = Duration::from_mins(1);
const WEAK_FOR: Duration = Duration::from_mins(5);
