//! What was wished for, by place, and who waits until it is so. No I/O: [`keep`](super::keep) does what is planned here.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    mem,
    sync::Arc,
};

use dubbo_core::registry::RegistryError;
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use crate::backend::{Entry, Place};

/// All wishes of one client.
#[derive(Debug)]
pub(super) struct Shows<V> {
    places: Mutex<HashMap<Place, Shown<V>>>,
    /// Tells that some place was tried.
    progress: watch::Sender<()>,
}

/// Tells when a wish is fulfilled, or why it never will be. It closes when the wish was given up.
pub(crate) type Fulfilled = oneshot::Receiver<Result<(), Arc<RegistryError>>>;

type Waiter = oneshot::Sender<Result<(), Arc<RegistryError>>>;

/// Tells when what was taken back is gone.
pub(crate) type Gone = oneshot::Receiver<()>;

/// What one place should show.
#[derive(Debug)]
pub(super) struct Plan<V> {
    /// Which state of the wishes this is.
    pub(super) version: u64,
    pub(super) entries: Vec<Entry<V>>,
}

#[derive(Debug)]
struct Shown<V> {
    wishes: BTreeMap<Arc<str>, Wish<V>>,
    /// Grows with each change of the wishes.
    version: watch::Sender<u64>,
    /// The version that was last fulfilled as a whole.
    fulfilled: u64,
    /// Whether anything was ever tried: if not, nothing can be there.
    tried: bool,
    /// The last session in which it was tried.
    session: Option<u64>,
    /// Who waits until something is gone, with the version from which on it is.
    hidings: Vec<(u64, oneshot::Sender<()>)>,
}

#[derive(Debug)]
struct Wish<V> {
    value: V,
    /// What the server has taken before, to go back to when it does not take `value`.
    accepted: Option<V>,
    owners: BTreeSet<u64>,
    /// Who waits, with the version from which on they do.
    waiters: Vec<(u64, Waiter)>,
}

impl<V: Clone + PartialEq> Shows<V> {
    /// Wishes for `entry` in `place`, on behalf of `owner`. If nothing was wished for there before, `start` is given the
    /// versions of the wishes from now on.
    pub(super) fn wish(
        &self,
        owner: u64,
        place: &Place,
        entry: Entry<V>,
        start: impl FnOnce(watch::Receiver<u64>),
    ) -> Fulfilled {
        let (sender, receiver) = oneshot::channel();
        let mut places = self.places.lock();
        let is_new = !places.contains_key(place);
        let shown = places.entry(place.clone()).or_default();
        let mut changed = false;
        let wish = shown.wishes.entry(entry.id).or_insert_with(|| {
            changed = true;
            Wish::new(entry.value.clone())
        });
        changed |= wish.value != entry.value;
        wish.value = entry.value;
        wish.owners.insert(owner);
        let version = if changed {
            next(&shown.version)
        } else {
            now(&shown.version)
        };
        if shown.fulfilled == version {
            // Nobody is listening if this fails, and that is all right.
            let _ = sender.send(Ok(()));
        } else {
            wish.waiters.push((version, sender));
        }
        if is_new {
            start(shown.version.subscribe());
        }
        receiver
    }

    /// Takes back what `owner` wishes for under `id`; `None` if nothing has to go.
    pub(super) fn take_back(&self, owner: u64, place: &Place, id: &str) -> Option<Gone> {
        let mut places = self.places.lock();
        places.get_mut(place)?.take_back(owner, id)
    }

    /// Takes back all that `owner` wishes for.
    pub(super) fn take_all_back(&self, owner: u64) -> Vec<Gone> {
        let mut places = self.places.lock();
        let mut gone = Vec::new();
        for shown in places.values_mut() {
            let ids: Vec<_> = shown.wishes.keys().cloned().collect();
            gone.extend(ids.iter().filter_map(|id| shown.take_back(owner, id)));
        }
        gone
    }

    /// What `place` should show, which is tried from now on.
    pub(super) fn plan(&self, place: &Place) -> Plan<V> {
        let mut places = self.places.lock();
        let Some(shown) = places.get_mut(place) else {
            return Plan {
                version: 0,
                entries: Vec::new(),
            };
        };
        shown.tried = true;
        Plan {
            version: now(&shown.version),
            entries: shown
                .wishes
                .iter()
                .map(|(id, wish)| Entry {
                    id: Arc::clone(id),
                    value: wish.value.clone(),
                })
                .collect(),
        }
    }

    /// The server has taken `entry` as it stood in `version`.
    pub(super) fn accepted(&self, place: &Place, version: u64, entry: &Entry<V>) {
        self.with_wish(place, &entry.id, |wish| {
            wish.accepted = Some(entry.value.clone());
            for waiter in wish.served(version) {
                let _ = waiter.send(Ok(()));
            }
        });
    }

    /// The server does not take `entry`, which goes, or becomes again what it was. Whether that helps: what was taken
    /// before stays wished for.
    pub(super) fn refused(
        &self,
        place: &Place,
        version: u64,
        entry: &Entry<V>,
        error: &Arc<RegistryError>,
    ) -> bool {
        let mut places = self.places.lock();
        let Some(shown) = places.get_mut(place) else {
            return true;
        };
        let Some(wish) = shown.wishes.get_mut(&entry.id) else {
            return true;
        };
        if wish.value != entry.value {
            return true;
        }
        match wish.accepted.clone() {
            Some(before) if before == entry.value => return false,
            Some(before) => {
                wish.value = before;
                for waiter in wish.served(version) {
                    let _ = waiter.send(Err(Arc::clone(error)));
                }
            }
            None => {
                let wish = shown.wishes.remove(&entry.id);
                for (_, waiter) in wish.into_iter().flat_map(|wish| wish.waiters) {
                    let _ = waiter.send(Err(Arc::clone(error)));
                }
            }
        }
        next(&shown.version);
        true
    }

    /// The server shows exactly what was wished for in `version`.
    pub(super) fn shown(&self, place: &Place, version: u64) {
        if let Some(shown) = self.places.lock().get_mut(place) {
            shown.fulfilled = version;
        }
        self.hidden(place, version);
    }

    /// The server shows nothing that was not wished for in `version`.
    pub(super) fn hidden(&self, place: &Place, version: u64) {
        let mut places = self.places.lock();
        if let Some(shown) = places.get_mut(place) {
            let hidings = mem::take(&mut shown.hidings);
            for (from, waiter) in hidings {
                if from <= version {
                    let _ = waiter.send(());
                } else {
                    shown.hidings.push((from, waiter));
                }
            }
        }
    }

    /// The server may have forgotten what it showed.
    pub(super) fn forgotten(&self, place: &Place) {
        if let Some(shown) = self.places.lock().get_mut(place) {
            shown.fulfilled = NEVER;
        }
    }

    /// `place` was tried in `session`, whatever came of it.
    pub(super) fn tried(&self, place: &Place, session: u64) {
        if let Some(shown) = self.places.lock().get_mut(place) {
            shown.session = Some(session);
        }
        self.progress.send_replace(());
    }

    /// Waits until all that is wished for was tried in `session`.
    pub(super) async fn all_tried(&self, session: u64) {
        let mut progress = self.progress.subscribe();
        let all = progress.wait_for(|()| {
            let places = self.places.lock();
            places.values().all(|shown| shown.session >= Some(session))
        });
        // The sender is ours, so it does not close.
        let _ = all.await;
    }

    /// Forgets `place` if nothing is wished for there and nothing has changed since `version`; whether it did.
    pub(super) fn forget(&self, place: &Place, version: u64) -> bool {
        let mut places = self.places.lock();
        let is_done = places
            .get(place)
            .is_none_or(|shown| shown.wishes.is_empty() && now(&shown.version) == version);
        if is_done {
            places.remove(place);
        }
        is_done
    }

    /// Forgets all places: nobody keeps them any more.
    pub(super) fn clear(&self) {
        let places = mem::take(&mut *self.places.lock());
        drop(places);
    }

    /// In how many places something is wished for or still has to go.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.places.lock().len()
    }

    fn with_wish(&self, place: &Place, id: &str, change: impl FnOnce(&mut Wish<V>)) {
        let mut places = self.places.lock();
        if let Some(wish) = places.get_mut(place).and_then(|s| s.wishes.get_mut(id)) {
            change(wish);
        }
    }
}

impl<V> Shown<V> {
    fn take_back(&mut self, owner: u64, id: &str) -> Option<Gone> {
        let wish = self.wishes.get_mut(id)?;
        if !wish.owners.remove(&owner) || !wish.owners.is_empty() {
            return None;
        }
        self.wishes.remove(id);
        let version = next(&self.version);
        if !self.tried {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        self.hidings.push((version, sender));
        Some(receiver)
    }
}

impl<V> Wish<V> {
    fn new(value: V) -> Self {
        Self {
            value,
            accepted: None,
            owners: BTreeSet::new(),
            waiters: Vec::new(),
        }
    }

    /// Those who wait for what was wished for in `version`.
    fn served(&mut self, version: u64) -> impl Iterator<Item = Waiter> {
        let waiters = mem::take(&mut self.waiters);
        let (served, later) = waiters.into_iter().partition(|(from, _)| *from <= version);
        self.waiters = later;
        served.into_iter().map(|(_, waiter)| waiter)
    }
}

impl<V> Default for Shows<V> {
    fn default() -> Self {
        Self {
            places: Mutex::default(),
            progress: watch::Sender::new(()),
        }
    }
}

impl<V> Default for Shown<V> {
    fn default() -> Self {
        Self {
            wishes: BTreeMap::new(),
            version: watch::Sender::new(NEVER),
            fulfilled: NEVER,
            tried: false,
            session: None,
            hidings: Vec::new(),
        }
    }
}

fn now(version: &watch::Sender<u64>) -> u64 {
    *version.borrow()
}

/// A new version, of which the one who keeps the place is told.
fn next(version: &watch::Sender<u64>) -> u64 {
    version.send_modify(|version| *version += 1);
    now(version)
}

/// The version of wishes before the first one.
const NEVER: u64 = 0;
