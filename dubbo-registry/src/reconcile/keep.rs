//! Keeping one place as it was wished for.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use dubbo_core::{
    backoff::{Backoff, BackoffPolicy},
    registry::{RegistryError, RegistryErrorKind},
};
use tokio::sync::watch;

use super::{
    Core,
    request::{self, within},
    shows::Plan,
};
use crate::backend::{Backend, Entry, Place, Session};

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
}

impl<B: Backend> Keeper<B> {
    async fn run(&mut self) {
        while let Some(up) = request::up(&mut self.sessions, |_| {}).await {
            if self.session != Some(up.session) {
                self.session = Some(up.session);
                self.visible.clear();
                self.core.shows.forgotten(&self.place);
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
                    let wait = request::poll(&*self.core.backend);
                    self.rest(wait).await;
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
