//! How calls travel: servers that take them in, clients that send them out.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::{http::HttpHandler, invoker::Invoker, service::ServiceDescriptor, url::Url};

/// A way to carry calls, found by the name in a URL's `protocol`. One value serves one instance.
#[async_trait]
pub trait Protocol: Send + Sync + 'static {
    /// The port when a configuration names none.
    fn default_port(&self) -> u16;

    /// Serves `invoker` at `url`: opens the port unless it is open already, and takes calls of `service` under the
    /// URL's group and version. Port 0 is a free port; [`Exporter::url`] says which.
    ///
    /// # Errors
    ///
    /// The port cannot be opened, the service key is taken there, or the URL has a bad parameter.
    async fn export(
        &self,
        url: &Url,
        service: Arc<ServiceDescriptor>,
        invoker: Arc<dyn Invoker>,
    ) -> Result<Box<dyn Exporter>, ProtocolError>;

    /// Makes an invoker for the provider at `url`. It connects in the background: a provider that is not there yet is
    /// an unavailable invoker, not an error.
    ///
    /// # Errors
    ///
    /// The URL has a bad parameter.
    async fn refer(
        &self,
        url: &Url,
        service: Arc<ServiceDescriptor>,
    ) -> Result<Arc<dyn Invoker>, ProtocolError>;

    /// Has `handler` answer the HTTP requests at the address of `server`, for its path and what is below: on the port that
    /// is open there already, or a new one. Of several the longest path that fits answers, and calls of what is exported
    /// are calls all the same; without a path it is for whatever nothing else takes. No filter sees these requests.
    ///
    /// # Errors
    ///
    /// As [`export`](Self::export), and [`ProtocolError::NoHttp`] from a protocol that does not speak HTTP, which is what
    /// a protocol answers that does not say otherwise.
    async fn mount(
        &self,
        server: &Url,
        _handler: Arc<dyn HttpHandler>,
    ) -> Result<Box<dyn Exporter>, ProtocolError> {
        Err(ProtocolError::NoHttp {
            protocol: server.protocol().to_owned(),
        })
    }

    /// First step of a shutdown: tells connected consumers to choose others (Triple: health says `NOT_SERVING`), while
    /// calls are still served.
    async fn announce_shutdown(&self) {}

    /// Second step, of the servers: they stop accepting, let the calls in flight finish until `deadline`, then end what
    /// is left. Nothing can be exported any more; references work on, because the calls in flight may need them, in this
    /// protocol and in others.
    ///
    /// Calls that come after this starts are refused in a way that says they were not processed.
    async fn drain(&self, deadline: Instant) -> Drained;

    /// Last step, of the references, once the servers of every protocol have drained: they take no more calls, let those
    /// under way finish until `deadline`, then end what is left. Nothing can be referred to any more.
    ///
    /// Calls that come after this starts fail in a way that says they were not processed.
    async fn close(&self, deadline: Instant) -> Drained;
}

/// What became of the calls in flight when a protocol ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[must_use]
pub struct Drained {
    /// Connections that had to be cut at the deadline, with the calls on them.
    pub aborted: usize,
}

/// One service that is being served, or a handler of HTTP requests.
#[async_trait]
pub trait Exporter: Send + Sync + 'static {
    /// The URL with the address that it is really served at.
    fn url(&self) -> &Url;

    /// Serves it no longer; other services at the port go on.
    async fn unexport(self: Box<Self>);
}

/// A service that cannot be exported or referred to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// The address cannot be served at.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Something else serves that key at that address already.
    #[error("{service} is exported at {address} already")]
    Duplicate {
        /// The service key.
        service: String,
        /// The address.
        address: String,
    },
    /// HTTP requests for a protocol that has none.
    #[error("the protocol `{protocol}` serves calls alone: it has no way to serve HTTP requests")]
    NoHttp {
        /// The protocol.
        protocol: String,
    },
    /// A URL that the protocol cannot work with.
    #[error("{url:?}: {reason}")]
    Url {
        /// The URL.
        url: Url,
        /// What is wrong with it.
        reason: String,
    },
    /// A setting of the instance that the protocol cannot work with, such as the file of a certificate.
    #[error("{setting}: {reason}")]
    Setting {
        /// The setting, as a configuration spells it.
        setting: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The protocol is shutting down.
    #[error("the protocol is shutting down and takes no more services")]
    ShutDown,
}
