//! Finding the providers of a service by way of the applications that serve it.
//!
//! `docs/spec/metadata.md` §6.2. A subscription looks up the applications of its interface (the mapping), follows the
//! instances of each, and gets the metadata of each revision that they have: instances and metadata together make the URLs
//! of providers. What several subscriptions need is looked up, followed and fetched once, and let go with the last of
//! them.

mod app;
mod attached;
mod explain;
mod fetch;
mod filters;
mod join;
mod load;
pub(crate) mod metrics;
mod moves;
mod offer;
mod options;
mod request;
mod roster;
mod shared;
mod source;
mod store;
mod tasks;
mod view;

use std::sync::{Arc, atomic::Ordering};

use dubbo_core::{
    registry::{RegistryError, RegistrySnapshot},
    subscription::{Subscription, Update},
    url::Url,
};
use tokio::sync::watch;

pub use self::{
    fetch::{Fetch, FetchError},
    options::{ConsumerOptions, FetchSlots},
};
use self::{join::Join, request::Request};
pub(crate) use self::{shared::Shared, source::Source, tasks::Running};
use crate::mapping::MappingView;

/// Application-level discovery at one registry.
///
/// Nothing is done before the first subscription, and after [`close`](Self::close).
#[derive(Debug)]
pub struct Consumer {
    shared: Arc<Shared>,
}

impl Consumer {
    /// A consumer that follows nothing yet.
    pub fn new(options: ConsumerOptions) -> Arc<Self> {
        Arc::new(Self {
            shared: Shared::new(options),
        })
    }

    /// Follows the providers of the service that `consumer`, a consumer's URL, asks for by its interface, group, version
    /// and protocol. `provided-by` in it names the applications, and then no mapping is read.
    ///
    /// It returns with the first state: once all that is known soon is there, after 3 s at the latest. A state without
    /// providers is an error as long as there may be some that could not be found, and says in its text what is missing;
    /// how the providers of any other state were found is in its [steps](RegistrySnapshot::steps). While the registry
    /// fails the last list stays, and the state is that error.
    ///
    /// # Errors
    ///
    /// `consumer` cannot be followed in this way, or the consumer was closed.
    ///
    /// # Cancel safety
    ///
    /// Nothing is left behind when the future is dropped.
    pub async fn subscribe(
        &self,
        consumer: &Url,
    ) -> Result<Subscription<RegistrySnapshot>, RegistryError> {
        let shared = &self.shared;
        let request =
            Request::of(consumer, &shared.address)?.extended_by(Arc::clone(&shared.extend_params));
        let closed = || {
            RegistryError::new(
                format!("subscribe to {request}"),
                &shared.address,
                "it is closed",
            )
            .refused()
        };
        if shared.tasks.is_closed() {
            return Err(closed());
        }
        shared.cache.load().await;
        let (publish, mut updates) = watch::channel(Update::new(0, Err(Arc::new(closed()))));
        let join = Join::new(request.clone(), shared, publish);
        let running = shared.tasks.spawn(join.run());
        updates.changed().await.map_err(|_| closed())?;
        Ok(Subscription::new(updates, move || drop(running)))
    }

    /// What it does now, in numbers.
    pub fn stats(&self) -> ConsumerStats {
        let states = self.shared.states();
        let (fetches, failed_fetches) = self.shared.store.counts();
        ConsumerStats {
            applications: states.len(),
            instances: states.iter().map(|state| state.instances.len()).sum(),
            revisions: states.iter().map(|state| state.revisions.len()).sum(),
            stale_instances: states.iter().map(|state| state.serving.stale).sum(),
            tasks: self.shared.tasks.len(),
            kept_bytes: self.shared.cache.unpinned_bytes(),
            fetches,
            failed_fetches,
            portless: self.shared.portless.load(Ordering::Relaxed),
        }
    }

    /// Who provides the interfaces that are followed by way of a mapping, by interface. Those for which the reference names
    /// the applications itself (`provided-by`) have none.
    pub fn mappings(&self) -> Vec<MappingView> {
        self.shared.mappings()
    }

    /// Ends all subscriptions, and waits until nothing is going on any more.
    pub async fn close(&self) {
        self.shared.tasks.close().await;
    }
}

/// What a [`Consumer`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsumerStats {
    /// The applications that it follows.
    pub applications: usize,
    /// Their instances that want calls.
    pub instances: usize,
    /// The revisions that these have.
    pub revisions: usize,
    /// The instances that are taken for what they served before, because what they serve now is not known
    /// (`metadata_stale_instances`).
    pub stale_instances: usize,
    /// The tasks that run.
    pub tasks: usize,
    /// About how many bytes of metadata its cache has for instances that may come back.
    pub kept_bytes: usize,
    /// How often an instance or a report was asked for metadata, as far as that has come to an end
    /// (`dubbo_metadata_fetch_total`).
    pub fetches: u64,
    /// How many of these gave none.
    pub failed_fetches: u64,
    /// How often an instance had no port for a service that was asked for.
    pub portless: u64,
}
