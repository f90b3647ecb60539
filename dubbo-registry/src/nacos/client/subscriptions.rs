//! Hearing of changes of services.
//!
//! nacos-sdk is told of one listener for each service, which tells all who want to know. Several would run in any order,
//! and the second would not hear of what there is.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use nacos_sdk::api::naming::{NamingChangeEvent, NamingEventListener};
use parking_lot::Mutex;

use super::{
    Failure,
    shared::{Chore, Service, Shared},
};
use crate::backend::{Guard, Hint, Session};

/// The services that somebody listens to.
#[derive(Default)]
pub(super) struct Topics {
    table: Mutex<BTreeMap<Service, Arc<Topic>>>,
    last_id: AtomicU64,
}

/// A service that somebody listens to.
#[derive(Default)]
struct Topic {
    listener: Arc<Listener>,
    /// The session in which it was last subscribed to. Whoever changes that has the lock meanwhile.
    subscribed: tokio::sync::Mutex<Option<u64>>,
}

#[derive(Default)]
struct Listener(Mutex<BTreeMap<u64, Hint>>);

impl NamingEventListener for Listener {
    /// On the only thread of nacos-sdk.
    fn event(&self, _event: Arc<NamingChangeEvent>) {
        self.0.lock().values().for_each(Hint::give);
    }
}

impl Topics {
    /// One more who wants to hear of `service`.
    fn listen(&self, service: &Service, hint: Hint) -> (Arc<Topic>, u64) {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed);
        let mut table = self.table.lock();
        let topic = Arc::clone(table.entry(service.clone()).or_default());
        topic.listener.0.lock().insert(id, hint);
        (topic, id)
    }

    fn get(&self, service: &Service) -> Option<Arc<Topic>> {
        self.table.lock().get(service).cloned()
    }

    /// Forgets `service` if nobody wants to hear of it.
    fn forget(&self, service: &Service) {
        let mut table = self.table.lock();
        if table.get(service).is_some_and(|topic| topic.is_idle()) {
            table.remove(service);
        }
    }
}

impl Topic {
    fn is_idle(&self) -> bool {
        self.listener.0.lock().is_empty()
    }
}

/// Ends one's interest in a service.
struct Listening {
    shared: Weak<Shared>,
    service: Service,
    topic: Arc<Topic>,
    id: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.topic.listener.0.lock().remove(&self.id);
        if self.topic.is_idle()
            && let Some(shared) = self.shared.upgrade()
        {
            // If nobody does them any more, all was taken back.
            let _ = shared.chores.send(Chore::Unsubscribe(self.service.clone()));
        }
    }
}

impl Shared {
    /// Gives hints of changes of a service as long as the guard lives.
    pub(super) async fn subscribe(
        self: &Arc<Self>,
        group: &str,
        service: &str,
        hint: Hint,
    ) -> Result<Guard, Failure> {
        let operation = || format!("subscribe to {service} of {group}");
        self.reached(operation)?;
        let Session::Up { session, .. } = *self.session.borrow() else {
            return self.reached(operation).map(|()| Guard::new(()));
        };
        let service: Service = (group.into(), service.into());
        let (topic, id) = self.topics.listen(&service, hint);
        let listening = Listening {
            shared: Arc::downgrade(self),
            service: service.clone(),
            topic: Arc::clone(&topic),
            id,
        };
        let mut subscribed = topic.subscribed.lock().await;
        if *subscribed != Some(session) {
            let listener = Arc::clone(&topic.listener);
            self.request(operation, |naming| async move {
                let (group, service) = (service.0.to_string(), service.1.to_string());
                naming
                    .subscribe(service, Some(group), Vec::new(), listener)
                    .await
            })
            .await?;
            *subscribed = Some(session);
        }
        drop(subscribed);
        Ok(Guard::new(listening))
    }

    /// Unsubscribes from a service to which nobody listens.
    async fn unsubscribe(&self, service: &Service) -> Result<(), Failure> {
        let Some(topic) = self.topics.get(service) else {
            return Ok(());
        };
        let mut subscribed = topic.subscribed.lock().await;
        if !topic.is_idle() {
            return Ok(());
        }
        let listener = Arc::clone(&topic.listener);
        self.request(
            || format!("unsubscribe from {} of {}", service.1, service.0),
            |naming| async move {
                let (group, service) = (service.0.to_string(), service.1.to_string());
                naming
                    .unsubscribe(service, Some(group), Vec::new(), listener)
                    .await
            },
        )
        .await?;
        // Who began to listen meanwhile waits for the lock, and subscribes again.
        *subscribed = None;
        self.topics.forget(service);
        Ok(())
    }
}

/// Does what has to be done after those who no longer listen.
pub(super) async fn clean_up(shared: Arc<Shared>) {
    let chores = shared.chores_to_do.lock().take();
    let Some(mut chores) = chores else {
        return;
    };
    let mut pending = BTreeSet::new();
    loop {
        let chore = if pending.is_empty() {
            chores.recv().await
        } else {
            tokio::select! {
                chore = chores.recv() => chore,
                () = tokio::time::sleep(RETRY) => {
                    pending = shared.unsubscribe_all(pending).await;
                    continue;
                }
            }
        };
        match chore {
            Some(Chore::Unsubscribe(service)) => {
                let again = shared.unsubscribe_all([service].into()).await;
                pending.extend(again);
            }
            Some(Chore::Unlisten(key, ear)) => shared.unlisten(&key, ear).await,
            None => return,
        }
    }
}

impl Shared {
    /// Unsubscribes from `services`; those for which it has to be tried again.
    async fn unsubscribe_all(&self, services: BTreeSet<Service>) -> BTreeSet<Service> {
        let mut again = BTreeSet::new();
        for service in services {
            if let Err(failure) = self.unsubscribe(&service).await {
                let error = failure.into_error();
                tracing::debug!(%error, "tried again later");
                again.insert(service);
            }
        }
        again
    }
}

/// How long after a failure it is tried again.
const RETRY: Duration = Duration::from_secs(2);
