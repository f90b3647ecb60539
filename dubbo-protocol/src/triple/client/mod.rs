//! The consumer's side: references, and the connections that they share.
//!
//! | file | what |
//! |---|---|
//! | `options` | what a URL says |
//! | `connection` | one connection of HTTP/2, opened and driven |
//! | `invoker` | a call: deadline, connection, when it is sent again |
//! | `exchange` | one attempt on one connection |
//! | `socket`, `mend` | the peer's bytes: when they came, and what is wrong with them |
//! | `written` | how far our own have got |
//! | `head`, `upload`, `manner` | what is sent, and in which form |
//! | `departure` | whether the provider has said that it is about to end |
//! | `answer`, `replies` | what is received |
//! | `failure` | what goes wrong, in words |

mod answer;
mod connection;
mod departure;
mod exchange;
mod failure;
mod head;
mod invoker;
mod manner;
mod mend;
mod options;
mod replies;
mod socket;
mod upload;
mod written;

use std::{fmt, sync::Arc};

use dubbo_core::{
    invoker::Invoker, payload::Rules, protocol::ProtocolError, service::ServiceDescriptor, url::Url,
};
use http::uri::Scheme;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use self::{
    connection::Http2, departure::Departure, exchange::Terms, head::Heads, invoker::TripleInvoker,
    manner::Manner, options::ConnectOptions,
};
use super::limits::Limits;
use crate::{
    endpoint::{Endpoint, Pool, Reference, address},
    net::{Connector, Dialect, Network},
};

/// Refers to services. References to one address share its connections.
pub(crate) struct Client {
    connector: Arc<dyn Connector>,
    pool: Pool<ConnectOptions, Http2>,
    uploads: TaskTracker,
    rules: Rules,
}

impl Client {
    /// A client without references, which connects to what `network` reaches and reads by `rules` what providers send.
    pub(crate) fn new(network: &Network, rules: Rules) -> Self {
        Self::with_connector(Arc::new(network.dialer(Dialect::Http2)), rules)
    }

    fn with_connector(connector: Arc<dyn Connector>, rules: Rules) -> Self {
        Self {
            connector,
            pool: Pool::new(),
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
        if self.pool.is_shut_down() {
            return Err(ProtocolError::ShutDown);
        }
        let refused = |reason: String| ProtocolError::Url {
            url: url.clone(),
            reason,
        };
        let options = ConnectOptions::read(url).map_err(|error| refused(error.to_string()))?;
        let limits = Limits::of_calls(url).map_err(|error| refused(error.to_string()))?;
        let manner = Manner::read(url, service).map_err(refused)?;
        let departure = Departure::read(url).map_err(|error| refused(error.to_string()))?;
        let token = url.param("token").filter(|token| !token.is_empty());
        let address = address(url, default_port);
        let path = match url.path() {
            "" => service.interface(),
            path => path,
        };
        let scheme = if self.connector.prepare()? {
            Scheme::HTTPS
        } else {
            Scheme::HTTP
        };
        let heads = Heads::new(&scheme, &address, path, url.service_key(), service)
            .and_then(|heads| heads.with_manner(manner).with_token(token))
            .map_err(refused)?;
        Ok(Arc::new(TripleInvoker {
            reference: Reference::new(url, self.endpoint(address.into(), options)),
            terms: Terms {
                heads,
                limits,
                rules: self.rules.clone(),
            },
            departure,
            uploads: self.uploads.clone(),
        }))
    }

    /// Connects no more, waits until `deadline` for the calls under way, and ends those that are left: how many
    /// connections were cut with calls on them.
    pub(crate) async fn shut_down(&self, deadline: Instant) -> usize {
        let cut = self.pool.shut_down(deadline).await;
        // Without a connection they end by themselves.
        self.uploads.close();
        self.uploads.wait().await;
        cut
    }

    fn endpoint(&self, address: Arc<str>, options: ConnectOptions) -> Arc<Endpoint<Http2>> {
        let connector = Arc::clone(&self.connector);
        let size = options.connections;
        let opener = |address| Http2 {
            connector,
            address,
            options,
        };
        self.pool.endpoint(address, options, size, opener)
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
        self.pool.fmt(f)
    }
}

#[cfg(test)]
mod tests;
