//! Where an application's metadata is kept outside the application: the metadata report.

use std::{collections::BTreeSet, sync::Arc, time::SystemTime};

use async_trait::async_trait;
use bytes::Bytes;

use crate::{registry::RegistryError, subscription::Subscription};

/// A store of application metadata, service definitions and the mapping from interfaces to applications.
///
/// `docs/spec/metadata.md` §6.6. `Ok` of nothing and `Err` are different everywhere.
#[async_trait]
pub trait MetadataReport: Send + Sync + 'static {
    /// The metadata of `application` at `revision`, encoded.
    async fn app(&self, application: &str, revision: &str) -> Result<Option<Bytes>, RegistryError>;

    /// Publishes the metadata of `application` at `revision`.
    async fn publish_app(
        &self,
        application: &str,
        revision: &str,
        metadata: Bytes,
    ) -> Result<(), RegistryError>;

    /// Removes one revision.
    async fn remove_app(&self, application: &str, revision: &str) -> Result<(), RegistryError>;

    /// The revisions of `application`, with the time each was written where the store knows it.
    async fn list_app(
        &self,
        application: &str,
    ) -> Result<Vec<(String, Option<SystemTime>)>, RegistryError>;

    /// The applications that provide `interface`, with a ticket for [`cas_mapping`](Self::cas_mapping).
    async fn mapping(&self, interface: &str) -> Result<(BTreeSet<String>, Ticket), RegistryError>;

    /// Writes the mapping of `interface`, if it is still as it was when `ticket` was given out.
    async fn cas_mapping(
        &self,
        interface: &str,
        applications: &BTreeSet<String>,
        ticket: Ticket,
    ) -> Result<CasOutcome, RegistryError>;

    /// Follows the mapping of `interface`.
    async fn watch_mapping(
        &self,
        interface: &str,
    ) -> Result<Subscription<Arc<BTreeSet<String>>>, RegistryError>;

    /// Stores a service definition under `id`.
    async fn store_definition(&self, id: &str, definition: Bytes) -> Result<(), RegistryError>;

    /// The service definition under `id`.
    async fn definition(&self, id: &str) -> Result<Option<Bytes>, RegistryError>;
}

/// The state of a mapping at the time it was read: a version, a checksum, or that it was absent. Only the store that
/// made it can read it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ticket(pub Option<String>);

/// What became of a compare-and-set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CasOutcome {
    /// Someone else wrote in between; read again and retry.
    Conflict,
    /// It is written.
    Written,
}
