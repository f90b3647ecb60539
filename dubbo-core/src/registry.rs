//! Interface-level registration: providers and consumers of one service, as URLs.

use std::{error::Error, sync::Arc};

use async_trait::async_trait;

use crate::{subscription::Subscription, url::Url};

/// A registry of provider and consumer URLs.
///
/// `docs/spec/registry.md`. Registering twice is the same as once. Every method may be cancelled by dropping its
/// future; what was registered by then may or may not be.
#[async_trait]
pub trait Registry: Send + Sync + 'static {
    /// The registry's own URL.
    fn url(&self) -> &Url;

    /// Makes `url`, a provider or a consumer, visible.
    async fn register(&self, url: &Url) -> Result<(), RegistryError>;

    /// Takes it back.
    async fn unregister(&self, url: &Url) -> Result<(), RegistryError>;

    /// Reads once what matches `consumer`.
    async fn lookup(&self, consumer: &Url) -> Result<RegistrySnapshot, RegistryError>;

    /// Follows what matches `consumer`. The watch is armed before the first state is read, so nothing is lost between
    /// the two; after a reconnect there is a new state.
    async fn subscribe(
        &self,
        consumer: &Url,
    ) -> Result<Subscription<RegistrySnapshot>, RegistryError>;

    /// Takes back everything that was registered through this value, and ends its subscriptions.
    async fn close(&self);
}

/// All that a registry knows about one service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegistrySnapshot {
    /// The providers.
    pub providers: Arc<[Url]>,
    /// Override rules.
    pub configurators: Arc<[Url]>,
    /// Routing rules.
    pub routers: Arc<[Url]>,
}

impl RegistrySnapshot {
    /// A snapshot with providers only.
    pub fn of_providers(providers: impl Into<Arc<[Url]>>) -> Self {
        Self {
            providers: providers.into(),
            ..Self::default()
        }
    }
}

/// A registry, a metadata report or a config center that did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[error("{operation} at {address}: {reason}")]
#[non_exhaustive]
pub struct RegistryError {
    /// What was attempted, such as `subscribe to greet.Greeter`.
    pub operation: String,
    /// Where, such as `nacos://10.0.0.1:8848`.
    pub address: String,
    /// Why it failed.
    pub reason: String,
    /// The error behind it.
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl RegistryError {
    /// An error without one behind it.
    pub fn new(
        operation: impl Into<String>,
        address: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            operation: operation.into(),
            address: address.into(),
            reason: reason.into(),
            source: None,
        }
    }

    /// Records the error behind it.
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}
