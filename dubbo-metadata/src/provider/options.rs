//! What a provider is made from.

use std::{fmt, sync::Arc, time::Duration};

use dubbo_core::{discovery::ServiceDiscovery, metadata::MetadataReport};

use crate::{
    clock::Clock,
    instance::{Customizers, Labels, PortMode, Storage},
    model::ParamsFilters,
    published::HistoryLimits,
    revision::Algorithm,
};

/// What a [`Provider`](super::Provider) is made from.
#[derive(Clone)]
#[non_exhaustive]
pub struct ProviderOptions {
    /// The application's name.
    pub application: String,
    /// The id of the registry: the metadata report of the same id is the one that is used.
    pub registry: String,
    /// The registry.
    pub discovery: Arc<dyn ServiceDiscovery>,
    /// The metadata reports by their ids.
    pub reports: Vec<(String, Arc<dyn MetadataReport>)>,
    /// Where consumers are to read the metadata. Local by default.
    pub storage: Storage,
    /// The application's tag.
    pub tag: Option<String>,
    /// The application's environment.
    pub environment: Option<String>,
    /// The instance's share of the calls. By default 100, which is not told.
    pub weight: Option<u32>,
    /// What else the instance says about itself, as `dubbo.labels` and `dubbo.env.keys` name it.
    pub labels: Labels,
    /// Plugins that add to that.
    pub customizers: Customizers,
    /// The protocol that stands for the instance, if it is exported; see
    /// [`Endpoints::main`](crate::instance::Endpoints::main).
    pub protocol: Option<String>,
    /// When ports stand in the metadata.
    pub port_mode: PortMode,
    /// How revisions are made.
    pub algorithm: Algorithm,
    /// Which parameters consumers are told.
    pub params: ParamsFilters,
    /// How long a superseded revision is answered for.
    pub history: HistoryLimits,
    /// Whether stale revisions in the report are only told of in the log, and not removed.
    pub gc_dry_run: bool,
    /// How long things may take.
    pub timings: ProviderTimings,
    /// When the process started, in milliseconds since the epoch.
    pub started_ms: u64,
    /// The time of day.
    pub clock: Clock,
    /// Where chance begins: that of waiting times.
    pub seed: u64,
}

impl ProviderOptions {
    /// The defaults for `application` in the registry `registry`.
    pub fn new(
        application: impl Into<String>,
        registry: impl Into<String>,
        discovery: Arc<dyn ServiceDiscovery>,
        started_ms: u64,
        seed: u64,
    ) -> Self {
        Self {
            application: application.into(),
            registry: registry.into(),
            discovery,
            reports: Vec::new(),
            storage: Storage::default(),
            tag: None,
            environment: None,
            weight: None,
            labels: Labels::default(),
            customizers: Customizers::default(),
            protocol: None,
            port_mode: PortMode::default(),
            algorithm: Algorithm::default(),
            params: ParamsFilters::default(),
            history: HistoryLimits::default(),
            gc_dry_run: false,
            timings: ProviderTimings::default(),
            started_ms,
            clock: Clock::default(),
            seed,
        }
    }
}

impl fmt::Debug for ProviderOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reports: Vec<_> = self.reports.iter().map(|(id, _)| id).collect();
        f.debug_struct("ProviderOptions")
            .field("application", &self.application)
            .field("registry", &self.registry)
            .field("discovery", self.discovery.url())
            .field("reports", &reports)
            .field("storage", &self.storage)
            .finish_non_exhaustive()
    }
}

/// How long things of a provider may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderTimings {
    /// How long nothing may change before a change is told. Default 1 s. While others follow, a change waits five times as
    /// long at most.
    pub quiet: Duration,
    /// How long publishing into a report is tried before the `MetadataService` takes its place, or registering fails.
    /// Default 30 s.
    pub publish: Duration,
}

impl Default for ProviderTimings {
    fn default() -> Self {
        Self {
            quiet: Duration::from_secs(1),
            publish: Duration::from_secs(30),
        }
    }
}
