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
use crate::{jitter::EqualJitter, model::MetadataInfo};

/// The revisions of all applications of one registry (`docs/spec/metadata.md` §6.2).
///
/// What somebody [follows](Self::follow) is got by one task for all that follow it, again and again until it is there. A
/// strong revision is then known for good; a weak one is asked for again from time to time. What nobody follows any more
/// stays as long as there is room.
pub(crate) struct RevisionStore {
    loader: Loader,
    tasks: Arc<Tasks>,
    room: usize,
    random: Mutex<fastrand::Rng>,
    known: Mutex<Known>,
}

impl RevisionStore {
    pub(super) fn new(
        loader: Loader,
        tasks: Arc<Tasks>,
        room: usize,
        random: fastrand::Rng,
    ) -> Arc<Self> {
        Arc::new(Self {
            loader,
            tasks,
            room,
            random: Mutex::new(random),
            known: Mutex::default(),
        })
    }

    /// Follows what `wanted` is, asking `candidates` for it. `wake` is told of each change.
    pub(super) fn follow(
        self: &Arc<Self>,
        wanted: Wanted,
        candidates: Vec<Arc<ServiceInstance>>,
        wake: &Arc<Notify>,
    ) -> Arc<Followed> {
        let mut known = self.known.lock();
        if let Some(followed) = known.followed.get(&wanted).and_then(Weak::upgrade) {
            drop(known);
            followed.state.wakes.lock().push(Arc::clone(wake));
            followed.offer(candidates);
            return followed;
        }
        let kept = known.take_out(&wanted);
        let state = Arc::new(State {
            metadata: Mutex::new(match &kept {
                Some(kept) => Metadata::Ready(Arc::clone(&kept.info)),
                None => Metadata::Loading,
            }),
            candidates: Mutex::new(candidates),
            again: Notify::new(),
            wakes: Mutex::new(vec![Arc::clone(wake)]),
        });
        let running = kept.is_none().then(|| {
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
        known.followed.insert(wanted, Arc::downgrade(&followed));
        followed
    }

    /// About how many bytes of metadata are kept that nobody follows.
    pub(super) fn kept_bytes(&self) -> usize {
        self.known.lock().bytes
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
                    state.set(Metadata::Ready(Arc::new(info)));
                    if !wanted.is_weak() {
                        // Nobody is asked any more.
                        state.candidates.lock().clear();
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
        let known = self.known.lock();
        f.debug_struct("RevisionStore")
            .field("loader", &self.loader)
            .field("followed", &known.followed.len())
            .field("kept", &known.kept.len())
            .field("bytes", &known.bytes)
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
    /// Keeps what is known for good.
    fn drop(&mut self) {
        let mut known = self.store.known.lock();
        if known
            .followed
            .get(&self.wanted)
            .is_some_and(|followed| followed.strong_count() == 0)
        {
            known.followed.remove(&self.wanted);
        }
        if let Metadata::Ready(info) = self.metadata()
            && !self.wanted.is_weak()
        {
            known.keep(&self.wanted, info, self.store.room);
        }
    }
}

#[derive(Debug)]
struct State {
    metadata: Mutex<Metadata>,
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

/// What nobody follows and may be needed again.
#[derive(Default)]
struct Known {
    followed: HashMap<Wanted, Weak<Followed>>,
    kept: HashMap<Wanted, Kept>,
    bytes: usize,
    keeps: u64,
}

struct Kept {
    info: Arc<MetadataInfo>,
    bytes: usize,
    /// The smallest goes first.
    age: u64,
}

impl Known {
    fn keep(&mut self, wanted: &Wanted, info: Arc<MetadataInfo>, room: usize) {
        let bytes = weight(&info);
        self.keeps += 1;
        self.bytes += bytes;
        let kept = Kept {
            info,
            bytes,
            age: self.keeps,
        };
        if let Some(old) = self.kept.insert(wanted.clone(), kept) {
            self.bytes -= old.bytes;
        }
        while self.bytes > room {
            let oldest = self.kept.iter().min_by_key(|(_, kept)| kept.age);
            let Some(oldest) = oldest.map(|(wanted, _)| wanted.clone()) else {
                break;
            };
            self.take_out(&oldest);
        }
    }

    fn take_out(&mut self, wanted: &Wanted) -> Option<Kept> {
        let kept = self.kept.remove(wanted)?;
        self.bytes -= kept.bytes;
        Some(kept)
    }
}

/// About how many bytes it takes.
fn weight(info: &MetadataInfo) -> usize {
    let services = info.services.iter().map(|(key, service)| {
        let params = service
            .params
            .iter()
            .map(|(key, value)| key.len() + value.len() + PER_ENTRY);
        key.len() + service.name.len() + service.path.len() + PER_ENTRY + params.sum::<usize>()
    });
    PER_ENTRY + services.sum::<usize>()
}

const RETRY_BASE: Duration = Duration::from_secs(1);
const RETRY_CAP: Duration = Duration::from_mins(1);
const WEAK_FOR: Duration = Duration::from_mins(5);

/// What a map needs beside the texts.
const PER_ENTRY: usize = 64;
