//! The consumer's side: references, and the connections that they share.
//!
//! | file | what |
//! |---|---|
//! | `options` | what a URL says |
//! | `connection`, `life` | one connection, and whether it takes calls |
//! | `table` | the calls that wait on it |
//! | `driver`, `pulse` | the task that moves its bytes; what is to be written is in the `outbox` of both sides |
//! | `invoker` | a call: deadline, connection, what is lost with it |
//! | `request`, `answer` | what is sent, and what is received |

mod answer;
mod connection;
mod driver;
mod invoker;
mod life;
mod options;
mod pulse;
mod request;
mod table;

use std::{fmt, sync::Arc};

use dubbo_core::{
    invoker::Invoker, payload::Rules, protocol::ProtocolError, service::ServiceDescriptor, url::Url,
};
use tokio::time::Instant;

use self::{connection::Tcp, invoker::DubboInvoker, options::ConnectOptions, request::Terms};
use crate::{
    endpoint::{Endpoint, Pool, Reference, address},
    net::{Connector, Dialect, Network},
};

/// Refers to services. References to one address with the same options share its connections.
pub(crate) struct DubboClient {
    connector: Arc<dyn Connector>,
    pool: Pool<ConnectOptions, Tcp>,
    rules: Rules,
}

impl DubboClient {
    /// A client without references, which connects as `network` says and reads by `rules` what providers send.
    pub(crate) fn new(network: &Network, rules: Rules) -> Self {
        Self::with_connector(Arc::new(network.dialer(Dialect::Dubbo)), rules)
    }

    fn with_connector(connector: Arc<dyn Connector>, rules: Rules) -> Self {
        Self {
            connector,
            pool: Pool::new(),
            rules,
        }
    }

    /// An invoker for `service` at `url`. It starts to connect in the background, on the runtime that this is called on.
    ///
    /// The path of its calls is that of the URL, which may have a context before the interface.
    ///
    /// # Errors
    ///
    /// The service is not one of a Java interface, the URL has a parameter that cannot be used, the files of TLS cannot
    /// be, or the client has been shut down.
    pub(crate) fn refer(
        &self,
        url: &Url,
        service: &Arc<ServiceDescriptor>,
        default_port: u16,
    ) -> Result<Arc<dyn Invoker>, ProtocolError> {
        Ok(Arc::new(self.invoker(url, service, default_port)?))
    }

    /// Connects no more, waits until `deadline` for the calls under way, and ends those that are left: how many
    /// connections were cut with calls on them.
    pub(crate) async fn shut_down(&self, deadline: Instant) -> usize {
        self.pool.shut_down(deadline).await
    }

    fn invoker(
        &self,
        url: &Url,
        service: &Arc<ServiceDescriptor>,
        default_port: u16,
    ) -> Result<DubboInvoker, ProtocolError> {
        if self.pool.is_shut_down() {
            return Err(ProtocolError::ShutDown);
        }
        let refused = |reason: String| ProtocolError::Url {
            url: url.clone(),
            reason,
        };
        if !service.is_java() {
            return Err(refused(format!(
                "the dubbo protocol carries hessian2, and `{}` is a service of a proto file; refer to it with the \
                 protocol `tri`, or describe its Java interface",
                service.interface()
            )));
        }
        let options = ConnectOptions::read(url).map_err(|error| refused(error.to_string()))?;
        self.connector.prepare()?;
        let terms = Terms::new(url, service, options.payload);
        let limit = options.payload;
        let endpoint = self.endpoint(address(url, default_port).into(), options);
        Ok(DubboInvoker {
            reference: Reference::new(url, endpoint),
            terms,
            limit,
            rules: self.rules.clone(),
        })
    }

    fn endpoint(&self, address: Arc<str>, options: ConnectOptions) -> Arc<Endpoint<Tcp>> {
        let connector = Arc::clone(&self.connector);
        let size = options.connections;
        let opener = |address| Tcp {
            connector,
            address,
            options,
        };
        self.pool.endpoint(address, options, size, opener)
    }
}

impl fmt::Debug for DubboClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pool.fmt(f)
    }
}

#[cfg(test)]
mod tests;
