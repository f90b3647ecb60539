//! Keeping one place as it was wished for.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use dubbo_core::{
    backoff::{Backoff, BackoffPolicy},
    registry::{RegistryError, RegistryErrorKind},
};
use futures_util::FutureExt as _;
use tokio::sync::{Notify, watch};

use super::{
    Core,
    request::{self, within},
    shows::Plan,
};
use crate::backend::{Backend, Entry, Guard, Hint, Place, Session};

/// Keeps `place` until nothing is wished for there any more and nothing is left there, or the client is gone.
pub(super) async fn keep<B: Backend>(
    core: Arc<Core<B>>,
    place: Place,
    versions: watch::Receiver<u64>,
) {
    let sessions = core.backend.session();
    let mut keeper = Keeper {
        backoff: Backoff::new(BackoffPolicy::default()),
        core,
        place,
        versions,
        sessions,
        session: None,
        visible: BTreeMap::new(),
        guards: BTreeMap::new(),
        hints: Arc::default(),
        repairs: Backoff::new(REPAIRS),
    };
    keeper.run().await;
}

struct Keeper<B: Backend> {
    core: Arc<Core<B>>,
    place: Place,
    versions: watch::Receiver<u64>,
    sessions: watch::Receiver<Session>,
    backoff: Backoff,
    session: Option<u64>,
    /// What the server shows of ours in this session.
    visible: BTreeMap<Arc<str>, B::Value>,
    /// The watches on what is visible.
    guards: BTreeMap<Arc<str>, Guard>,
    /// Tells that somebody else may have taken away or changed something of it.
    hints: Arc<Notify>,
    /// The pauses before it is shown again for that reason. Two programs that both want what only one can have would take
    /// it from each other all the time.
    repairs: Backoff,
}

impl<B: Backend> Keeper<B> {
    async fn run(&mut self) {
        while let Some(up) = request::up(&mut self.sessions, |_| {}).await {
            if self.session != Some(up.session) {
                self.session = Some(up.session);
                self.visible.clear();
                self.guards.clear();
                // Late hints of the session before lead nowhere.
                self.hints = Arc::default();
                self.core.shows.forgotten(&self.place);
            }
            // The wishes were forgotten, all at once, while one was made.
            if self.versions.has_changed().is_err() {
                return;
            }
            // What changes from here on is not in the plan.
            self.versions.borrow_and_update();
            let plan = self.core.shows.plan(&self.place);
            let sessions = self.sessions.clone();
            let done = request::while_up(&sessions, up, self.fulfil(&plan)).await;
            self.core.shows.tried(&self.place, up.session);
            let Some(result) = done else {
                continue;
            };
            match result {
                Ok(()) => {
                    self.backoff.reset();
                    if self.core.shows.forget(&self.place, plan.version) {
                        return;
                    }
                    if request::while_up(&sessions, up, self.guard())
                        .await
                        .is_some()
                    {
                        self.watch_over().await;
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, place = %self.place.0, "cannot be shown now; tried again until it can");
                    let wait = self.backoff.next_wait();
                    self.rest(wait).await;
                }
            }
        }
    }

    async fn fulfil(&mut self, plan: &Plan<B::Value>) -> Result<(), RegistryError> {
        match self.show(&plan.entries).await {
            Ok(()) => {
                for entry in &plan.entries {
                    self.core.shows.accepted(&self.place, plan.version, entry);
                }
                self.core.shows.shown(&self.place, plan.version);
                Ok(())
            }
            Err(error) if error.kind == RegistryErrorKind::Refused => {
                self.sort_out(plan, error).await
            }
            Err(error) => Err(error),
        }
    }

    /// Finds out what of `plan` is refused, while what is visible stays so, and leaves that out.
    async fn sort_out(
        &mut self,
        plan: &Plan<B::Value>,
        error: RegistryError,
    ) -> Result<(), RegistryError> {
        let is_visible =
            |e: &&Entry<B::Value>| self.visible.get(&e.id).is_some_and(|v| *v == e.value);
        let news: Vec<_> = plan.entries.iter().filter(|e| !is_visible(e)).collect();
        // Without anything new there is nobody to blame: it is a failure like any other.
        let mut failure = Some(error).filter(|_| news.is_empty());
        let mut entries = self.visible.clone();
        entries.retain(|id, _| plan.entries.iter().any(|e| e.id == *id));
        for entry in news {
            let before = entries.insert(Arc::clone(&entry.id), entry.value.clone());
            match self.show(&list(&entries)).await {
                Ok(()) => self.core.shows.accepted(&self.place, plan.version, entry),
                Err(error) if error.kind == RegistryErrorKind::Refused => {
                    match before {
                        Some(value) => entries.insert(Arc::clone(&entry.id), value),
                        None => entries.remove(&entry.id),
                    };
                    let error = Arc::new(error);
                    let shows = &self.core.shows;
                    if !shows.refused(&self.place, plan.version, entry, &error) {
                        failure = Some(super::copy(&error));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        // A refusal may have left something half done.
        self.show(&list(&entries)).await?;
        self.core.shows.hidden(&self.place, plan.version);
        failure.map_or(Ok(()), Err)
    }

    async fn show(&mut self, entries: &[Entry<B::Value>]) -> Result<(), RegistryError> {
        let what = || format!("show {} entries in {}", entries.len(), self.place.0);
        let backend = &*self.core.backend;
        within(backend, what, backend.show(&self.place, entries)).await?;
        self.visible = entries
            .iter()
            .map(|entry| (Arc::clone(&entry.id), entry.value.clone()))
            .collect();
        Ok(())
    }

    /// Watches what is visible. Where that fails it is looked after now and then, as always.
    async fn guard(&mut self) {
        let visible = &self.visible;
        self.guards.retain(|id, _| visible.contains_key(id));
        for id in self.visible.keys() {
            if self.guards.contains_key(id) {
                continue;
            }
            let what = || format!("watch {id} in {}", self.place.0);
            let backend = &*self.core.backend;
            let watch = backend.watch_own(&self.place, id, Hint(Arc::clone(&self.hints)));
            match within(backend, what, watch).await {
                Ok(guard) => {
                    self.guards.insert(Arc::clone(id), guard);
                }
                Err(error) => {
                    tracing::debug!(%error, "whoever takes it away is noticed later");
                    return;
                }
            }
        }
    }

    /// Waits until what is visible has to be looked after.
    async fn watch_over(&mut self) {
        let poll = request::poll(&*self.core.backend);
        tokio::select! {
            () = tokio::time::sleep(poll) => self.repairs.reset(),
            () = self.hints.notified() => {
                let wait = self.repairs.next_wait();
                self.rest(wait).await;
                // What came meanwhile is looked after at the same time.
                let _ = self.hints.notified().now_or_never();
            }
            _ = self.versions.changed() => {}
            _ = self.sessions.changed() => {}
        }
    }

    /// Waits for a reason to show it again.
    async fn rest(&mut self, wait: Duration) {
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            _ = self.versions.changed() => {}
            _ = self.sessions.changed() => {}
        }
    }
}

fn list<V: Clone>(entries: &BTreeMap<Arc<str>, V>) -> Vec<Entry<V>> {
    entries
        .iter()
        .map(|(id, value)| Entry {
            id: Arc::clone(id),
            value: value.clone(),
        })
        .collect()
}

/// The first is shorter than an empty list is doubted ([`Timing::confirm_empty`](crate::backend::Timing)).
const REPAIRS: BackoffPolicy = BackoffPolicy {
    initial: Duration::from_millis(200),
    max: Duration::from_secs(30),
    multiplier: 1.5,
    jitter: 0.5,
};
