//! What a consumer is made of.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use dubbo_core::{
    discovery::{InstanceListFilter, ServiceDiscovery},
    metadata::MetadataReport,
};
use tokio::sync::Semaphore;

use super::Fetch;
use crate::cache::Cache;

/// What [`Consumer::new`](super::Consumer::new) takes.
///
/// The names in parentheses are those of the configuration (`docs/spec/metadata.md` §10).
#[non_exhaustive]
pub struct ConsumerOptions {
    /// The id of the registry: which metadata report is its own.
    pub registry: String,
    /// Where instances are found.
    pub discovery: Arc<dyn ServiceDiscovery>,
    /// How an instance is asked for its metadata.
    pub fetch: Arc<dyn Fetch>,
    /// The metadata reports by their ids: mappings, and metadata of instances that keep it there. None by default.
    pub reports: Vec<(String, Arc<dyn MetadataReport>)>,
    /// What looks at each list of instances before anybody else does, by name (`instance-filter` of the registry). None by
    /// default.
    pub filters: Vec<(String, Arc<dyn InstanceListFilter>)>,
    /// What this process adds to what instances say of themselves, for its own routers and balancers (`extend-params` of the
    /// registry). It wins over what an instance says, and what a service says wins over it. None by default.
    pub extend_params: BTreeMap<String, String>,
    /// The applications to look at when no mapping names any (`subscribed-services` of the registry). None by default.
    pub subscribed_services: Vec<String>,
    /// Whether an application that had instances is believed to have some for ever (`enable-empty-protection`). Off by
    /// default.
    pub empty_protection: bool,
    /// How long one instance or report may take to answer (`metadata.fetch-timeout`). 5 s.
    pub fetch_timeout: Duration,
    /// How many are asked at once by this consumer (`metadata.fetch-concurrency`). 8.
    pub fetch_concurrency: usize,
    /// How many are asked at once by all consumers that have a clone of this value. 64.
    pub fetch_slots: FetchSlots,
    /// How long an instance whose new metadata is not known yet stays with what it served before
    /// (`metadata.stale-grace`). 30 s.
    pub stale_grace: Duration,
    /// What stays known of metadata and mappings when nobody needs it any more. By default one in memory, of 64 MiB.
    pub cache: Arc<Cache>,
    /// What chances are made of: whom to ask, how long to wait. Random by default.
    pub seed: u64,
}

impl ConsumerOptions {
    /// The defaults, for the registry with the id `registry`.
    pub fn new(
        registry: impl Into<String>,
        discovery: Arc<dyn ServiceDiscovery>,
        fetch: Arc<dyn Fetch>,
    ) -> Self {
        Self {
            registry: registry.into(),
            discovery,
            fetch,
            reports: Vec::new(),
            filters: Vec::new(),
            extend_params: BTreeMap::new(),
            subscribed_services: Vec::new(),
            empty_protection: false,
            fetch_timeout: Duration::from_secs(5),
            fetch_concurrency: 8,
            fetch_slots: FetchSlots::default(),
            stale_grace: Duration::from_secs(30),
            cache: Cache::in_memory(64 << 20),
            seed: fastrand::u64(..),
        }
    }
}

impl fmt::Debug for ConsumerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsumerOptions")
            .field("registry", &self.registry)
            .field("discovery", self.discovery.url())
            .finish_non_exhaustive()
    }
}

/// How many instances and reports may be asked at the same time; clones share the number.
#[derive(Debug, Clone)]
pub struct FetchSlots(pub(super) Arc<Semaphore>);

impl FetchSlots {
    /// `slots` of them, at least one.
    pub fn new(slots: usize) -> Self {
        Self(Arc::new(Semaphore::new(
            slots.clamp(1, Semaphore::MAX_PERMITS),
        )))
    }
}

impl Default for FetchSlots {
    /// 64.
    fn default() -> Self {
        Self::new(64)
    }
}
