//! What can keep an instance from doing what it was asked.

use std::fmt;

use dubbo_cluster::migration::RuleError;
use dubbo_core::{
    extension::{BoxError, ExtensionError},
    protocol::ProtocolError,
    registry::RegistryError,
    service::ServiceKey,
};

use dubbo_metadata::error::MetadataError;

use crate::config::ConfigErrors;

/// Why an instance could not be built, started or asked for a client.
///
/// Its `Debug` is its text, because that is what a `main` that returns it prints.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The instance was started twice, or is used after its shutdown.
    #[error("{0}")]
    State(&'static str),
    /// Calls that are given up cannot be kept where the configuration says.
    #[error("cannot open the store of dead letters of `dubbo.retry.dead-letter`: {0}")]
    DeadLetters(BoxError),
    /// Everything that is wrong with the configuration.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// A plugin cannot be had.
    #[error(transparent)]
    Extension(#[from] ExtensionError),
    /// Operators cannot be listened to, and `application.qos-check` says that they have to be.
    #[error("cannot listen to operators at {address}: {source}")]
    Admin {
        /// The address.
        address: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A service cannot be exported.
    #[error("cannot export {service}: {source}")]
    Export {
        /// The service.
        service: ServiceKey,
        /// Why not.
        source: ProtocolError,
    },
    /// HTTP requests cannot be answered beside calls.
    #[error("cannot serve HTTP at {path}: {source}")]
    Http {
        /// The path they were to have.
        path: String,
        /// Why not.
        source: ProtocolError,
    },
    /// A reference has no provider, and `check` says that it must have one.
    #[error(
        "no provider of {service} within {waited_millis} ms: {reason} (set `check: false` to start without one)"
    )]
    NoProvider {
        /// The service.
        service: ServiceKey,
        /// How long a provider was waited for.
        waited_millis: u128,
        /// What was seen instead.
        reason: String,
    },
    /// A reference that cannot be made.
    #[error("cannot refer to {service}: {reason}")]
    Refer {
        /// The service.
        service: ServiceKey,
        /// Why not.
        reason: String,
    },
    /// The log cannot go where the configuration says.
    #[error("cannot open the log file {} of `dubbo.logger.file.name`: {source}", path.display())]
    LogFile {
        /// The file.
        path: std::path::PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// What is counted or traced cannot go where the configuration says.
    #[error("{what} cannot be used: {reason}")]
    Telemetry {
        /// The section or key.
        what: &'static str,
        /// Why not.
        reason: String,
    },
    /// Something of the application cannot be told to others.
    #[error(transparent)]
    Metadata(#[from] MetadataError),
    /// A registry did not take a service, or does not tell about one.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A migration rule that is none.
    #[error(transparent)]
    Migration(#[from] RuleError),
    /// The operating system does not let us hear its signals.
    #[error("cannot listen for signals: {0}")]
    Signals(std::io::Error),
    /// A second signal came while the instance was shutting down.
    #[error("shutdown cut short by a second signal")]
    Interrupted,
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(errors) => fmt::Debug::fmt(errors, f),
            other => fmt::Display::fmt(other, f),
        }
    }
}
