//! The instances of one application, as list after list of them comes.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    mem,
    sync::Arc,
};

use dubbo_core::discovery::{Instances, ServiceInstance};
use tokio::time::Instant;

use super::{
    moves::Moves,
    store::Metadata,
    view::{EndpointsRead, InstanceView, Serves, said},
};
use crate::{instance::keys, model::MetadataInfo, revision::Revision};

/// Those that want calls.
///
/// Of thousands that are listed again and again, few have changed: they are found without a look into the others.
#[derive(Default)]
pub(super) struct Roster {
    /// By id.
    known: Vec<Known>,
    /// The last list.
    list: Instances,
    /// Which of `known` each of it is, if any.
    places: Vec<Option<usize>>,
    disabled: usize,
    endpoints: EndpointsRead,
}

/// One instance.
pub(super) struct Known {
    pub(super) view: Arc<InstanceView>,
    pub(super) revision: Option<Arc<str>>,
    /// The newest metadata that it was known to have.
    last_good: Option<Arc<MetadataInfo>>,
    /// Until when that counts.
    stale_until: Option<Instant>,
}

/// What a list has changed.
pub(super) enum Taken {
    /// Who is there, or what revisions they have, and maybe more.
    Members,
    /// What these say, by their positions, and nothing else.
    Some(Vec<usize>),
}

impl Roster {
    /// Those that want calls, by id.
    pub(super) fn known(&self) -> &[Known] {
        &self.known
    }

    /// How many want none.
    pub(super) fn disabled(&self) -> usize {
        self.disabled
    }

    /// Takes in a list. `replaces` hears of each instance that changed, as it was and as it is.
    pub(super) fn take(
        &mut self,
        list: Instances,
        mut replaces: impl FnMut(&Known, &ServiceInstance),
    ) -> Taken {
        let Some(others) = self.others(&list) else {
            self.replace(list, replaces);
            return Taken::Members;
        };
        let mut changed = Vec::new();
        let mut moved = false;
        for at in others {
            let instance = &list[at];
            if *self.list[at] == **instance {
                continue;
            }
            if let Some(place) = self.places[at] {
                let known = &mut self.known[place];
                replaces(known, instance);
                moved |= known.change_to(instance, &mut self.endpoints);
                changed.push(place);
            }
        }
        self.list = list;
        if moved {
            Taken::Members
        } else {
            Taken::Some(changed)
        }
    }

    /// The positions of those that may have changed, if `list` has the same members in the same order.
    fn others(&self, list: &Instances) -> Option<Vec<usize>> {
        let positions = list.differing(&self.list)?;
        let others = positions
            .into_iter()
            .filter(|at| !Arc::ptr_eq(&list[*at], &self.list[*at]));
        let others: Vec<_> = others.collect();
        let is_same = |at: &usize| {
            let (old, new) = (&self.list[*at], &list[*at]);
            (&old.host, old.port, old.enabled) == (&new.host, new.port, new.enabled)
        };
        others.iter().all(is_same).then_some(others)
    }

    fn replace(&mut self, list: Instances, mut replaces: impl FnMut(&Known, &ServiceInstance)) {
        let before = mem::take(&mut self.known).into_iter();
        let mut before: BTreeMap<Arc<str>, Known> = before
            .map(|known| (Arc::clone(&known.view.id), known))
            .collect();
        let mut now: BTreeMap<Arc<str>, (usize, Known)> = BTreeMap::new();
        self.places = vec![None; list.len()];
        for (at, instance) in list.iter().enumerate().filter(|(_, one)| one.enabled) {
            let id: Arc<str> = instance.id().into();
            // The registry may list it twice; the first one counts.
            let Entry::Vacant(free) = now.entry(Arc::clone(&id)) else {
                continue;
            };
            let known = match before.remove(&id) {
                Some(known) if *known.view.instance == **instance => known,
                Some(mut known) => {
                    replaces(&known, instance);
                    known.change_to(instance, &mut self.endpoints);
                    known
                }
                None => Known::new(id, instance, &mut self.endpoints),
            };
            free.insert((at, known));
        }
        for (place, (at, known)) in now.into_values().enumerate() {
            self.places[at] = Some(place);
            self.known.push(known);
        }
        self.known.shrink_to_fit();
        self.disabled = list.iter().filter(|one| !one.enabled).count();
        self.list = list;
    }

    /// Says what the one at `place` serves, by what is known of its revision; see [`Known::look_at`].
    pub(super) fn look_at(
        &mut self,
        place: usize,
        metadata: Option<&Metadata>,
        stale_until: Instant,
        moves: &mut Moves,
    ) {
        self.known[place].look_at(metadata, stale_until, moves);
    }

    /// When one of `places` has been stale for long enough.
    pub(super) fn expiry(&self, places: impl IntoIterator<Item = usize>) -> Option<Instant> {
        let until = |place: usize| self.known[place].stale_until;
        places.into_iter().filter_map(until).min()
    }
}

impl Known {
    fn new(id: Arc<str>, instance: &Arc<ServiceInstance>, endpoints: &mut EndpointsRead) -> Self {
        Self {
            view: Arc::new(InstanceView {
                id,
                instance: Arc::clone(instance),
                endpoints: endpoints.of(instance),
                serves: Serves::Unknown,
            }),
            revision: revision(instance),
            last_good: None,
            stale_until: None,
        }
    }

    /// Takes in what it says now; whether it has another revision.
    fn change_to(
        &mut self,
        instance: &Arc<ServiceInstance>,
        endpoints: &mut EndpointsRead,
    ) -> bool {
        let new = Self::new(Arc::clone(&self.view.id), instance, endpoints);
        self.view = new.view;
        let moved = self.revision != new.revision;
        self.revision = new.revision;
        moved
    }

    /// Says what it serves, by what is known of its revision. `stale_until` is when something that becomes stale now has
    /// been so for long enough.
    fn look_at(&mut self, metadata: Option<&Metadata>, stale_until: Instant, moves: &mut Moves) {
        let serves = match metadata {
            None => {
                self.last_good = None;
                self.stale_until = None;
                Serves::Nothing
            }
            Some(Metadata::Ready(info)) => {
                if let Some(last) = &self.last_good {
                    moves.note(last, info);
                }
                self.last_good = Some(Arc::clone(info));
                self.stale_until = None;
                Serves::Known(Arc::clone(info))
            }
            Some(Metadata::Failed(_) | Metadata::Loading) => self.stale(stale_until),
        };
        if !self.view.serves.is_same(&serves) {
            self.view = Arc::new(InstanceView {
                id: Arc::clone(&self.view.id),
                instance: Arc::clone(&self.view.instance),
                endpoints: Arc::clone(&self.view.endpoints),
                serves,
            });
        }
    }

    fn stale(&mut self, until: Instant) -> Serves {
        let Some(info) = &self.last_good else {
            return Serves::Unknown;
        };
        if Instant::now() < *self.stale_until.get_or_insert(until) {
            return Serves::Stale(Arc::clone(info));
        }
        self.last_good = None;
        self.stale_until = None;
        Serves::Unknown
    }
}

/// The revision whose metadata says what the instance serves, if there is any.
fn revision(instance: &ServiceInstance) -> Option<Arc<str>> {
    let revision = instance.metadata.text(keys::REVISION)?;
    match Revision::of(revision) {
        Revision::Strong | Revision::Weak => Some(Arc::clone(revision)),
        Revision::Empty | Revision::Unknown => None,
    }
}

/// Whether a process took the place of another, as far as it says so.
pub(super) fn is_another(old: &ServiceInstance, new: &ServiceInstance) -> bool {
    [keys::TIMESTAMP, keys::ENDPOINTS]
        .iter()
        .any(|key| said(old, key) != said(new, key))
}
