//! The instances of one application, with what each serves.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Weak},
};

use dubbo_core::{
    discovery::ServiceInstance,
    registry::{RegistryError, RegistryErrorKind},
};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep_until},
};

use super::{
    load::Wanted,
    metrics::AppGauges,
    moves::Moves,
    shared::Shared,
    source::Source,
    store::{Followed, Metadata},
    tasks::Running,
    view::{AppState, InstanceView, RevisionState, Serves, endpoints, said},
};
use crate::{instance::keys, model::MetadataInfo, revision::Revision};

/// One application of one registry, followed once for all who need it (`docs/spec/metadata.md` §5.4, §6.2). It ends when
/// nobody does any more.
pub(super) struct AppWatch {
    name: Arc<str>,
    states: watch::Receiver<Arc<AppState>>,
    shared: Weak<Shared>,
    _running: Running,
}

impl AppWatch {
    pub(super) fn start(name: Arc<str>, shared: &Arc<Shared>) -> Arc<Self> {
        let (publish, states) = watch::channel(Arc::default());
        let follower = Follower::new(Arc::clone(&name), Arc::clone(shared), publish);
        Arc::new(Self {
            name,
            states,
            shared: Arc::downgrade(shared),
            _running: shared.tasks.spawn(follower.run()),
        })
    }

    /// The newest state, and changes of it.
    pub(super) fn states(&self) -> watch::Receiver<Arc<AppState>> {
        self.states.clone()
    }
}

impl Drop for AppWatch {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.forget_app(&self.name);
        }
    }
}

/// The task behind it, which alone changes anything.
struct Follower {
    name: Arc<str>,
    shared: Arc<Shared>,
    publish: watch::Sender<Arc<AppState>>,
    state: AppState,
    /// By id.
    instances: BTreeMap<Arc<str>, Known>,
    revisions: HashMap<Arc<str>, Arc<Followed>>,
    /// Told when something about a revision changed.
    wake: Arc<Notify>,
    gauges: AppGauges,
}

struct Known {
    view: Arc<InstanceView>,
    revision: Option<Arc<str>>,
    /// The newest metadata that it was known to have.
    last_good: Option<Arc<MetadataInfo>>,
    /// Until when that counts.
    stale_until: Option<Instant>,
}

impl Follower {
    fn new(name: Arc<str>, shared: Arc<Shared>, publish: watch::Sender<Arc<AppState>>) -> Self {
        Self {
            gauges: AppGauges::new(&shared.registry, &name),
            name,
            shared,
            publish,
            state: AppState::default(),
            instances: BTreeMap::new(),
            revisions: HashMap::new(),
            wake: Arc::default(),
        }
    }

    async fn run(mut self) {
        let discovery = Arc::clone(&self.shared.discovery);
        let name = Arc::clone(&self.name);
        let mut source = Source::new(self.shared.random(), move || {
            let (discovery, name) = (Arc::clone(&discovery), Arc::clone(&name));
            Box::pin(async move { discovery.watch(&name).await })
        });
        let wake = Arc::clone(&self.wake);
        loop {
            let expiry = self.instances.values().filter_map(|i| i.stale_until).min();
            let changed = tokio::select! {
                list = source.next() => match list {
                    Ok(list) => self.receive(list),
                    Err(error) if !source.is_open() && self.is_refused(&error) => self.leave_out(error),
                    Err(error) => self.lose(error),
                },
                () = wake.notified() => true,
                () = sleep_until(expiry.unwrap_or_else(Instant::now)), if expiry.is_some() => true,
            };
            if changed {
                self.publish();
            }
        }
    }

    /// Whether it cannot be followed, whatever the registry does: a mapping may name what its registry can never have. One
    /// that was listed before is no such, and a registry that is closed refuses everything.
    fn is_refused(&self, error: &RegistryError) -> bool {
        error.kind == RegistryErrorKind::Refused && !self.state.listed
    }

    /// Is as if nobody had named it, for others may provide the interface.
    fn leave_out(&mut self, error: Arc<RegistryError>) -> bool {
        let is_news = self.state.refused.is_none();
        if is_news {
            tracing::warn!(
                application = ?self.name, %error,
                "an application that this registry cannot have is left out"
            );
            self.state.refused = Some(error);
            self.state.failing = None;
        }
        is_news
    }

    /// Keeps the instances: nobody knows of better ones.
    fn lose(&mut self, error: Arc<RegistryError>) -> bool {
        let is_news = self
            .state
            .failing
            .as_ref()
            .is_none_or(|last| last.to_string() != error.to_string());
        if is_news {
            tracing::warn!(
                application = &*self.name, instances = self.instances.len(), %error,
                "the registry fails; the last instances are kept"
            );
            self.state.failing = Some(error);
        }
        is_news
    }

    /// Takes in what filters leave of a list; whether that changed anything.
    fn receive(&mut self, list: Arc<[ServiceInstance]>) -> bool {
        let (list, left_out) = self.shared.filters.apply(&self.name, list);
        let is_news = left_out != self.state.left_out;
        self.state.left_out = left_out;
        self.take(&list) || is_news
    }

    /// Takes in a list; whether that changed anything.
    fn take(&mut self, list: &[ServiceInstance]) -> bool {
        if list.is_empty() && !self.instances.is_empty() && self.shared.empty_protection {
            tracing::warn!(
                application = &*self.name,
                instances = self.instances.len(),
                "the registry lists no instance; the last ones are kept, because empty protection is on"
            );
            return self.state.failing.take().is_some();
        }
        let mut changed = !self.state.listed || self.state.failing.is_some();
        self.state.listed = true;
        self.state.refused = None;
        self.state.failing = None;

        let mut before = std::mem::take(&mut self.instances);
        let mut disabled = 0;
        for instance in list {
            if !instance.enabled {
                disabled += 1;
                continue;
            }
            let id: Arc<str> = instance.id().into();
            let known = match before.remove(&id) {
                Some(known) if *known.view.instance == *instance => known,
                Some(known) => {
                    changed = true;
                    self.refresh_if_weak(&known, instance);
                    known.changed_to(instance)
                }
                // The registry lists it twice; the first one counts.
                None if self.instances.contains_key(&id) => continue,
                None => {
                    changed = true;
                    Known::new(&id, instance)
                }
            };
            self.instances.insert(id, known);
        }
        changed |= !before.is_empty() || disabled != self.state.disabled;
        self.state.disabled = disabled;
        if changed {
            self.follow_revisions();
        }
        changed
    }

    /// A process that took the place of another may serve something else under the same checksum.
    fn refresh_if_weak(&self, known: &Known, instance: &ServiceInstance) {
        let old = &known.view.instance;
        let is_another = [keys::TIMESTAMP, keys::ENDPOINTS]
            .iter()
            .any(|key| said(old, key) != said(instance, key));
        let stays = known.revision.as_deref() == said(instance, keys::REVISION);
        if let Some(revision) = &known.revision
            && is_another
            && stays
            && Revision::of(revision) == Revision::Weak
            && let Some(followed) = self.revisions.get(revision)
        {
            followed.refresh();
        }
    }

    /// Follows the revisions that instances have, and no others.
    fn follow_revisions(&mut self) {
        let mut candidates: HashMap<Arc<str>, Vec<Arc<ServiceInstance>>> = HashMap::new();
        for known in self.instances.values() {
            if let Some(revision) = &known.revision {
                candidates
                    .entry(Arc::clone(revision))
                    .or_default()
                    .push(Arc::clone(&known.view.instance));
            }
        }
        self.revisions
            .retain(|revision, _| candidates.contains_key(revision));
        for (revision, candidates) in candidates {
            if let Some(followed) = self.revisions.get(&revision) {
                followed.offer(candidates);
                continue;
            }
            let wanted = Wanted {
                application: Arc::clone(&self.name),
                revision: Arc::clone(&revision),
            };
            let followed = self.shared.store.follow(wanted, candidates, &self.wake);
            self.revisions.insert(revision, followed);
        }
    }

    /// Looks at what is known of the revisions now, and shows the instances as they are by that.
    fn publish(&mut self) {
        let known: HashMap<&Arc<str>, Metadata> = self
            .revisions
            .iter()
            .map(|(revision, followed)| (revision, followed.metadata()))
            .collect();
        let mut counts: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
        let stale_until = Instant::now() + self.shared.stale_grace;
        let mut moves = Moves::default();
        for instance in self.instances.values_mut() {
            let metadata = instance.revision.as_ref().map(|revision| &known[revision]);
            instance.look_at(metadata, stale_until, &mut moves);
        }
        moves.log(&self.name);
        for revision in self.instances.values().filter_map(|i| i.revision.as_ref()) {
            *counts.entry(revision).or_default() += 1;
        }
        self.state.instances = self
            .instances
            .values()
            .map(|instance| Arc::clone(&instance.view))
            .collect();
        self.state.revisions = counts
            .into_iter()
            .map(|(revision, instances)| RevisionState {
                revision: Arc::clone(revision),
                instances,
                metadata: known[revision].clone(),
            })
            .collect();
        self.gauges.show(&self.state);
        self.publish.send_replace(Arc::new(self.state.clone()));
    }
}

impl Known {
    fn new(id: &Arc<str>, instance: &ServiceInstance) -> Self {
        Self {
            view: Arc::new(InstanceView {
                id: Arc::clone(id),
                instance: Arc::new(instance.clone()),
                endpoints: Arc::new(endpoints(instance)),
                serves: Serves::Unknown,
            }),
            revision: revision(instance),
            last_good: None,
            stale_until: None,
        }
    }

    fn changed_to(self, instance: &ServiceInstance) -> Self {
        Self {
            last_good: self.last_good,
            stale_until: self.stale_until,
            ..Self::new(&self.view.id, instance)
        }
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
                if let Some(older) = self.last_good.replace(Arc::clone(info)) {
                    moves.note(&older, info);
                }
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
    let revision = said(instance, keys::REVISION)?;
    match Revision::of(revision) {
        Revision::Strong | Revision::Weak => Some(revision.into()),
        Revision::Empty | Revision::Unknown => None,
    }
}
