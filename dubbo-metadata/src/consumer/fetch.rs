//! Asking an instance for its metadata.

use async_trait::async_trait;
use dubbo_core::{discovery::ServiceInstance, extension::BoxError};

use crate::model::MetadataInfo;

/// The way to an instance's metadata service: one call to one instance.
///
/// `docs/spec/metadata.md` §3.4. Which version and protocol of the service to call follows from the instance's own
/// metadata; nothing the instance says changes how long the call may take. Who calls this bounds the time, checks the
/// application and the revision of the answer, and chooses whom to ask next.
#[async_trait]
pub trait Fetch: Send + Sync + 'static {
    /// Asks `instance` what its application serves at `revision`.
    ///
    /// # Cancel safety
    ///
    /// The call is given up when the future is dropped.
    async fn fetch(
        &self,
        instance: &ServiceInstance,
        revision: &str,
    ) -> Result<MetadataInfo, FetchError>;
}

/// Why an instance did not tell its metadata.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// It could not be reached, or answered with an error.
    #[error("the call of its metadata service failed")]
    Unavailable(#[source] BoxError),
    /// It answered, with nothing: it has moved on to another revision.
    #[error("it does not know this revision")]
    UnknownRevision,
    /// It offers its metadata in a way that nobody here can call, such as on an unknown protocol.
    #[error("its metadata service cannot be called: {0}")]
    Unsupported(String),
}
