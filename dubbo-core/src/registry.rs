//! Interface-level registration: providers and consumers of one service, as URLs.

use std::{error::Error, sync::Arc};

use async_trait::async_trait;

use crate::{explain::Step, list::List, subscription::Subscription, url::Url};

/// A registry of provider and consumer URLs.
///
/// `docs/spec/registry.md`. What is registered is a wish, and the registry keeps it fulfilled from then on: through lost
/// connections, expired sessions and restarts of the server, until it is taken back. Registering twice is the same as
/// once.
#[async_trait]
pub trait Registry: Send + Sync + 'static {
    /// The registry's own URL.
    fn url(&self) -> &Url;

    /// Why it cannot be reached now; `None` when it can, or when that is not known.
    fn trouble(&self) -> Option<Arc<RegistryError>> {
        None
    }

    /// Makes `url`, a provider or a consumer, visible, and waits until it is.
    ///
    /// # Errors
    ///
    /// The registry [refuses](RegistryErrorKind::Refused) it: then the wish is gone. As long as the registry is out of
    /// reach this waits, with growing pauses between attempts.
    ///
    /// # Cancel safety
    ///
    /// The wish stays when the future is dropped.
    async fn register(&self, url: &Url) -> Result<(), RegistryError>;

    /// Takes it back, and waits until it is gone. What is not there is gone.
    ///
    /// # Cancel safety
    ///
    /// The wish is gone at once; whether the registry has heard of it is open when the future is dropped.
    async fn unregister(&self, url: &Url) -> Result<(), RegistryError>;

    /// Reads once what matches `consumer`.
    async fn lookup(&self, consumer: &Url) -> Result<RegistrySnapshot, RegistryError>;

    /// Follows what matches `consumer`. The watch is armed before the first state is read, so nothing is lost between
    /// the two; after a reconnect there is a new state.
    ///
    /// It returns with the first state, which is an error when the registry is out of reach: that is no reason to give up
    /// following.
    ///
    /// # Errors
    ///
    /// `consumer` cannot be followed, whatever the registry does.
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
    pub providers: List<Url>,
    /// Override rules.
    pub configurators: Arc<[Url]>,
    /// Routing rules.
    pub routers: Arc<[Url]>,
    /// How it was found: what to tell when there is no provider. Empty when there is no more to say than what the lists
    /// say.
    pub steps: Arc<[Step]>,
}

impl RegistrySnapshot {
    /// A snapshot with providers only.
    pub fn of_providers(providers: impl Into<List<Url>>) -> Self {
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
    /// Whether it is worth trying again.
    pub kind: RegistryErrorKind,
    /// How far it came, where there is more to tell than `reason` says: the last step is where it is stuck.
    pub steps: Arc<[Step]>,
    /// The error behind it.
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl RegistryError {
    /// An error that may pass, without one behind it.
    pub fn new(
        operation: impl Into<String>,
        address: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            operation: operation.into(),
            address: address.into(),
            reason: reason.into(),
            kind: RegistryErrorKind::Unavailable,
            steps: Arc::default(),
            source: None,
        }
    }

    /// Says that trying again does not help.
    pub fn refused(mut self) -> Self {
        self.kind = RegistryErrorKind::Refused;
        self
    }

    /// Records how far it came.
    pub fn with_steps(mut self, steps: impl Into<Arc<[Step]>>) -> Self {
        self.steps = steps.into();
        self
    }

    /// Records the error behind it.
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

/// Whether an operation that failed is worth repeating as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegistryErrorKind {
    /// The request cannot be fulfilled, however often it is made: a name or content that is not allowed, a login that is
    /// wrong, something that was closed.
    Refused,
    /// There was no answer, or one that says to come back later.
    Unavailable,
}
