//! Application-level discovery: the instances of an application, each with its metadata.

mod plugins;

use std::sync::Arc;

use async_trait::async_trait;

pub use plugins::{
    Described, DescribedService, InstanceCustomizer, InstanceDraft, InstanceListFilter,
};

use crate::{
    list::List, registry::RegistryError, subscription::Subscription, text_map::TextMap, url::Url,
};

/// A registry of application instances.
///
/// `docs/spec/metadata.md` §6.6: an error is never an empty list, and each subscription begins with a snapshot. What is
/// registered is a wish that is kept fulfilled, as in a [`Registry`](crate::registry::Registry), and its methods wait and
/// can be dropped in the same way.
#[async_trait]
pub trait ServiceDiscovery: Send + Sync + 'static {
    /// The registry's own URL.
    fn url(&self) -> &Url;

    /// Why it cannot be reached now; `None` when it can, or when that is not known.
    fn trouble(&self) -> Option<Arc<RegistryError>> {
        None
    }

    /// Makes an instance visible.
    async fn register(&self, instance: &ServiceInstance) -> Result<(), RegistryError>;

    /// Replaces what is visible of an instance, in place: consumers see no gap.
    async fn update(
        &self,
        old: &ServiceInstance,
        new: &ServiceInstance,
    ) -> Result<(), RegistryError>;

    /// Takes an instance back.
    async fn unregister(&self, instance: &ServiceInstance) -> Result<(), RegistryError>;

    /// Reads the instances of `application` once.
    async fn snapshot(&self, application: &str) -> Result<Instances, RegistryError>;

    /// Reads once what applications are called there, sorted: those that have instances, and where names stay behind, those
    /// that had some. Tools ask for it; who calls services need not.
    ///
    /// # Errors
    ///
    /// The registry does not answer, or cannot list them, as by default.
    async fn applications(&self) -> Result<Vec<String>, RegistryError> {
        let reason = "this kind of registry does not list applications";
        Err(RegistryError::new("list the applications", self.url().origin(), reason).refused())
    }

    /// Follows the instances of `application`.
    async fn watch(&self, application: &str) -> Result<Subscription<Instances>, RegistryError>;

    /// Takes back what was registered through this value, and ends its subscriptions.
    async fn close(&self);
}

/// The instances of an application. One that stays as it was is the same allocation in the next list.
pub type Instances = List<Arc<ServiceInstance>>;

/// One running process of an application, known by its host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceInstance {
    /// The application's name.
    pub application: Arc<str>,
    /// Where it is reached.
    pub host: Arc<str>,
    /// The port of its first protocol.
    pub port: u16,
    /// Whether the registry thinks it alive.
    pub healthy: bool,
    /// Whether it wants calls.
    pub enabled: bool,
    /// Its share of the calls as the registry has it, in Dubbo's scale: 100 by default.
    pub weight: u32,
    /// What it says about itself, such as `dubbo.metadata.revision`.
    pub metadata: TextMap,
}

impl ServiceInstance {
    /// A healthy, enabled instance without metadata.
    pub fn new(application: impl Into<Arc<str>>, host: impl Into<Arc<str>>, port: u16) -> Self {
        Self {
            application: application.into(),
            host: host.into(),
            port,
            healthy: true,
            enabled: true,
            weight: DEFAULT_WEIGHT,
            metadata: TextMap::new(),
        }
    }

    /// Its name among the instances of its application: `host:port`.
    pub fn id(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// The share of an instance that says nothing about it (`docs/spec/registry.md` §1.1).
const DEFAULT_WEIGHT: u32 = 100;
