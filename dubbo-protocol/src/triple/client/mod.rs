//! The consumer's side: references, and the connections that they share.
//!
//! | file | what |
//! |---|---|
//! | `options` | what a URL says |
//! | `connection` | one connection of HTTP/2, opened and driven |
//! | `http1` | the connections of HTTP/1.1 to one address, and attempts on them |
//! | `life` | what is known about a connection |
//! | `invoker` | a call: deadline, connection, when it is sent again |
//! | `carrier`, `exchange` | one attempt on one connection |
//! | `socket`, `mend` | the peer's bytes: when they came, and what is wrong with them |
//! | `written` | how far our own have got |
//! | `dialect` | gRPC, gRPC-Web and Connect: what their requests say, and how their answers are read |
//! | `head`, `upload`, `manner` | what is sent, and in which form |
//! | `departure` | whether the provider has said that it is about to end |
//! | `source`, `answer`, `replies` | what is received |
//! | `failure` | what goes wrong, in words |

mod answer;
mod carrier;
mod connection;
mod departure;
pub(crate) mod dialect;
mod exchange;
mod failure;
mod head;
mod http1;
mod invoker;
mod life;
mod manner;
mod mend;
mod options;
mod replies;
mod socket;
mod source;
mod upload;
mod written;

use std::{fmt, sync::Arc};

use dubbo_core::{
    invoker::Invoker, payload::Rules, protocol::ProtocolError, service::ServiceDescriptor, url::Url,
};
use http::uri::Scheme;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

pub use self::dialect::{TripleDialect, UnknownDialect};
use self::{
    carrier::Carrier,
    connection::Http2,
    departure::Departure,
    exchange::Terms,
    head::Heads,
    http1::Http1,
    invoker::TripleInvoker,
    manner::Manner,
    options::{ConnectOptions, HttpVersion},
};
use super::limits::Limits;
use crate::{
    endpoint::{Endpoint, Opener, Pool, Reference, address},
    net::{Connector, Dialect, Network},
};

/// Refers to services. References to one address share its connections.
pub(crate) struct Client {
    http1: Side<Http1>,
    http2: Side<Http2>,
    uploads: TaskTracker,
    rules: Rules,
}

/// What connects to peers by one version of HTTP, and the connections.
struct Side<O: Opener> {
    connector: Arc<dyn Connector>,
    pool: Pool<ConnectOptions, O>,
}

impl Client {
    /// A client without references, which connects to what `network` reaches and reads by `rules` what providers send.
    pub(crate) fn new(network: &Network, rules: Rules) -> Self {
        let dialer = |dialect| -> Arc<dyn Connector> { Arc::new(network.dialer(dialect)) };
        Self::with_connectors(dialer(Dialect::Http1), dialer(Dialect::Http2), rules)
    }

    fn with_connectors(http1: Arc<dyn Connector>, http2: Arc<dyn Connector>, rules: Rules) -> Self {
        Self {
            http1: Side::new(http1),
            http2: Side::new(http2),
            uploads: TaskTracker::new(),
            rules,
        }
    }

    /// An invoker for `service` at `url`. It starts to connect in the background, on the runtime that this is called on.
    ///
    /// The path of its calls is that of the URL, as Java's providers choose it; without one it is the interface.
    ///
    /// # Errors
    ///
    /// The URL has a parameter that cannot be used, or names an interface or address that a request cannot carry; a file
    /// of the TLS settings cannot be used; or the client has been shut down.
    pub(crate) fn refer(
        &self,
        url: &Url,
        service: &Arc<ServiceDescriptor>,
        default_port: u16,
    ) -> Result<Arc<dyn Invoker>, ProtocolError> {
        if self.http2.pool.is_shut_down() {
            return Err(ProtocolError::ShutDown);
        }
        let refused = |reason: String| ProtocolError::Url {
            url: url.clone(),
            reason,
        };
        let version = HttpVersion::read(url).map_err(|error| refused(error.to_string()))?;
        match version {
            HttpVersion::Http1 => {
                let invoker = self.invoker(&self.http1, version, url, service, default_port)?;
                Ok(Arc::new(invoker))
            }
            HttpVersion::Http2 => {
                let invoker = self.invoker(&self.http2, version, url, service, default_port)?;
                Ok(Arc::new(invoker))
            }
        }
    }

    fn invoker<O>(
        &self,
        side: &Side<O>,
        version: HttpVersion,
        url: &Url,
        service: &Arc<ServiceDescriptor>,
        default_port: u16,
    ) -> Result<TripleInvoker<O>, ProtocolError>
    where
        O: Opens + Opener<Link: Carrier>,
    {
        let refused = |reason: String| ProtocolError::Url {
            url: url.clone(),
            reason,
        };
        let options =
            ConnectOptions::read(url, version).map_err(|error| refused(error.to_string()))?;
        let limits = Limits::of_calls(url).map_err(|error| refused(error.to_string()))?;
        let manner = Manner::read(url, service).map_err(refused)?;
        if version == HttpVersion::Http1 && manner.dialect == TripleDialect::Grpc {
            return Err(refused(NOT_GRPC.to_owned()));
        }
        let departure = Departure::read(url).map_err(|error| refused(error.to_string()))?;
        let token = url.param("token").filter(|token| !token.is_empty());
        let address = address(url, default_port);
        let path = match url.path() {
            "" => service.interface(),
            path => path,
        };
        let scheme = if side.connector.prepare()? {
            Scheme::HTTPS
        } else {
            Scheme::HTTP
        };
        let heads = Heads::new(&scheme, &address, path, url.service_key(), service)
            .and_then(|heads| heads.with_manner(manner).with_token(token))
            .and_then(|heads| match version {
                HttpVersion::Http1 => heads.over_http1(),
                HttpVersion::Http2 => Ok(heads),
            })
            .map_err(refused)?;
        Ok(TripleInvoker {
            reference: Reference::new(url, side.endpoint(address.into(), options)),
            terms: Terms {
                heads,
                limits,
                rules: self.rules.clone(),
            },
            departure,
            uploads: self.uploads.clone(),
        })
    }

    /// Connects no more, waits until `deadline` for the calls under way, and ends those that are left: how many
    /// connections were cut with calls on them.
    pub(crate) async fn shut_down(&self, deadline: Instant) -> usize {
        let (http1, http2) = tokio::join!(
            self.http1.pool.shut_down(deadline),
            self.http2.pool.shut_down(deadline),
        );
        // Without a connection they end by themselves.
        self.uploads.close();
        self.uploads.wait().await;
        http1 + http2
    }
}

impl<O: Opens> Side<O> {
    fn new(connector: Arc<dyn Connector>) -> Self {
        Self {
            connector,
            pool: Pool::new(),
        }
    }

    fn endpoint(&self, address: Arc<str>, options: ConnectOptions) -> Arc<Endpoint<O>> {
        let connector = Arc::clone(&self.connector);
        let opener = |address| O::opener(connector, address, options);
        self.pool
            .endpoint(address, options, O::links(options), opener)
    }
}

/// A version of HTTP, as far as a client makes connections of it.
trait Opens: Opener {
    /// What opens them.
    fn opener(connector: Arc<dyn Connector>, address: Arc<str>, options: ConnectOptions) -> Self;

    /// How many links are kept to an address.
    fn links(options: ConnectOptions) -> usize;
}

impl Opens for Http1 {
    fn opener(connector: Arc<dyn Connector>, address: Arc<str>, options: ConnectOptions) -> Self {
        Self::new(connector, address, options)
    }

    /// One, in which there are as many connections as there are calls.
    fn links(_options: ConnectOptions) -> usize {
        1
    }
}

impl Opens for Http2 {
    fn opener(connector: Arc<dyn Connector>, address: Arc<str>, options: ConnectOptions) -> Self {
        Self {
            connector,
            address,
            options,
        }
    }

    fn links(options: ConnectOptions) -> usize {
        options.connections
    }
}

impl Default for Client {
    /// A client without references, which connects without TLS.
    fn default() -> Self {
        Self::new(&Network::default(), Rules::NONE)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("http1", &self.http1.pool)
            .field("http2", &self.http2.pool)
            .finish_non_exhaustive()
    }
}

const NOT_GRPC: &str = "`triple.http-version` is `1.1`, over which nobody speaks gRPC; set `triple.dialect` to `grpc-web` or \
                        `connect`, or leave the version out";

#[cfg(test)]
mod tests;
