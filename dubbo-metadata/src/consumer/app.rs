//! The instances of one application, with what each serves.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Weak},
};

use dubbo_core::{
    discovery::{Instances, ServiceInstance},
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
    roster::{Known, Roster, Taken, is_another},
    shared::Shared,
    source::Source,
    store::{Followed, Metadata},
    tasks::Running,
    view::{AppState, RevisionState, Serving, said},
};
use crate::{instance::keys, revision::Revision};

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
    roster: Roster,
    revisions: HashMap<Arc<str>, Arc<Followed>>,
    /// When an instance has been stale for long enough.
    expiry: Option<Instant>,
    /// Told when something about a revision changed.
    wake: Arc<Notify>,
    gauges: AppGauges,
}

/// What is to be looked at before it is shown.
enum Look {
    All,
    /// Instances by their positions, of which each has the revision that it had.
    Some(Vec<usize>),
}

impl Follower {
    fn new(name: Arc<str>, shared: Arc<Shared>, publish: watch::Sender<Arc<AppState>>) -> Self {
        Self {
            gauges: AppGauges::new(&shared.registry, &name),
            name,
            shared,
            publish,
            state: AppState::default(),
            roster: Roster::default(),
            expiry: None,
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
            let expiry = self.expiry;
            let look = tokio::select! {
                list = source.next() => match list {
                    Ok(list) => self.receive(list),
                    Err(error) if !source.is_open() && self.is_refused(&error) => self.leave_out(error),
                    Err(error) => self.lose(error),
                },
                () = wake.notified() => Some(Look::All),
                () = sleep_until(expiry.unwrap_or_else(Instant::now)), if expiry.is_some() => Some(Look::All),
            };
            if let Some(look) = look {
                self.publish(look);
            }
        }
    }

    /// Whether it cannot be followed, whatever the registry does: a mapping may name what its registry can never have. One
    /// that was listed before is no such, and a registry that is closed refuses everything.
    fn is_refused(&self, error: &RegistryError) -> bool {
        error.kind == RegistryErrorKind::Refused && !self.state.listed
    }

    /// Is as if nobody had named it, for others may provide the interface.
    fn leave_out(&mut self, error: Arc<RegistryError>) -> Option<Look> {
        let is_news = self.state.refused.is_none();
        if is_news {
            tracing::warn!(
                application = ?self.name, %error,
                "an application that this registry cannot have is left out"
            );
            self.state.refused = Some(error);
            self.state.failing = None;
        }
        is_news.then_some(Look::All)
    }

    /// Keeps the instances: nobody knows of better ones.
    fn lose(&mut self, error: Arc<RegistryError>) -> Option<Look> {
        let is_news = self
            .state
            .failing
            .as_ref()
            .is_none_or(|last| last.to_string() != error.to_string());
        if is_news {
            tracing::warn!(
                application = &*self.name, instances = self.roster.known().len(), %error,
                "the registry fails; the last instances are kept"
            );
            self.state.failing = Some(error);
        }
        is_news.then_some(Look::All)
    }

    /// Takes in what filters leave of a list; what of it has to be looked at, if anything.
    fn receive(&mut self, list: Instances) -> Option<Look> {
        let (list, left_out) = self.shared.filters.apply(&self.name, list);
        let is_news = left_out != self.state.left_out;
        self.state.left_out = left_out;
        let look = self.take(list);
        if is_news { Some(Look::All) } else { look }
    }

    /// Takes in a list; what of it has to be looked at, if anything.
    fn take(&mut self, list: Instances) -> Option<Look> {
        if list.is_empty() && !self.roster.known().is_empty() && self.shared.empty_protection {
            tracing::warn!(
                application = &*self.name,
                instances = self.roster.known().len(),
                "the registry lists no instance; the last ones are kept, because empty protection is on"
            );
            return self.state.failing.take().map(|_| Look::All);
        }
        let is_first = !self.state.listed;
        let is_news = is_first || self.state.failing.is_some();
        self.state.listed = true;
        self.state.refused = None;
        self.state.failing = None;

        let revisions = &self.revisions;
        let refresh = |known: &Known, instance: &ServiceInstance| {
            refresh_if_weak(revisions, known, instance);
        };
        match self.roster.take(list, refresh) {
            Taken::Some(changed) => {
                for &place in &changed {
                    self.offer_changed(place);
                }
                if is_news {
                    Some(Look::All)
                } else {
                    (!changed.is_empty()).then_some(Look::Some(changed))
                }
            }
            Taken::Members => {
                self.follow_revisions();
                Some(Look::All)
            }
        }
    }

    /// Has the one at `place` asked as it is now, where somebody has to be asked.
    fn offer_changed(&mut self, place: usize) {
        let Some(revision) = &self.roster.known()[place].revision else {
            return;
        };
        if let Some(followed) = self.revisions.get(revision).filter(|it| it.asks()) {
            let candidates = self.roster.known().iter();
            let candidates = candidates.filter(|known| known.revision.as_ref() == Some(revision));
            followed.offer(
                candidates
                    .map(|known| Arc::clone(&known.view.instance))
                    .collect(),
            );
        }
    }

    /// Follows the revisions that instances have, and no others.
    fn follow_revisions(&mut self) {
        let mut candidates: HashMap<Arc<str>, Vec<Arc<ServiceInstance>>> = HashMap::new();
        for known in self.roster.known() {
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
    fn publish(&mut self, look: Look) {
        let stale_until = Instant::now() + self.shared.stale_grace;
        let mut moves = Moves::default();
        match look {
            Look::Some(places) => {
                for &place in &places {
                    let known = &self.roster.known()[place];
                    let followed = known.revision.as_ref().map(|it| &self.revisions[it]);
                    let metadata = followed.map(|followed| followed.metadata());
                    self.roster
                        .look_at(place, metadata.as_ref(), stale_until, &mut moves);
                }
                let expiry = self.roster.expiry(places.iter().copied());
                self.expiry = self.expiry.into_iter().chain(expiry).min();
                let view = |place: usize| (place, Arc::clone(&self.roster.known()[place].view));
                self.state.instances = self.state.instances.with(places.into_iter().map(view));
            }
            Look::All => {
                self.look_at_all(stale_until, &mut moves);
                let views = self.roster.known().iter();
                self.state.instances = views.map(|known| Arc::clone(&known.view)).collect();
            }
        }
        moves.log(&self.name);
        self.publish.send_replace(Arc::new(self.state.clone()));
    }

    fn look_at_all(&mut self, stale_until: Instant, moves: &mut Moves) {
        let known: HashMap<&Arc<str>, Metadata> = self
            .revisions
            .iter()
            .map(|(revision, followed)| (revision, followed.metadata()))
            .collect();
        let mut counts: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        self.state.serving = Serving::default();
        let all = 0..self.roster.known().len();
        for place in all.clone() {
            let revision = self.roster.known()[place].revision.clone();
            let metadata = revision.as_ref().map(|revision| &known[revision]);
            self.roster.look_at(place, metadata, stale_until, moves);
            let serves = &self.roster.known()[place].view.serves;
            self.state.serving.count(serves);
            if let Some(revision) = revision {
                *counts.entry(revision).or_default() += 1;
            }
        }
        self.expiry = self.roster.expiry(all);
        self.state.disabled = self.roster.disabled();
        self.state.revisions = counts
            .into_iter()
            .map(|(revision, instances)| RevisionState {
                metadata: known[&revision].clone(),
                revision,
                instances,
            })
            .collect();
        self.gauges.show(&self.state);
    }
}

/// A process that took the place of another may serve something else under the same checksum.
fn refresh_if_weak(
    revisions: &HashMap<Arc<str>, Arc<Followed>>,
    known: &Known,
    instance: &ServiceInstance,
) {
    let old = &known.view.instance;
    let stays = known.revision.as_deref() == said(instance, keys::REVISION);
    if let Some(revision) = &known.revision
        && is_another(old, instance)
        && stays
        && Revision::of(revision) == Revision::Weak
        && let Some(followed) = revisions.get(revision)
    {
        followed.refresh();
    }
}
