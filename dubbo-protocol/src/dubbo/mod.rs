//! The classic protocol: frames over TCP with hessian2 in them (`docs/spec/dubbo-protocol.md`).
//!
//! | part | what |
//! |---|---|
//! | `frame`, `body`, `descriptor`, `status` | the codec, without I/O |
//! | `outbox`, `parameters` | what both sides have in common |
//! | `server`, `client` | the two sides |

pub(crate) mod body;
pub(crate) mod client;
pub(crate) mod descriptor;
pub(crate) mod frame;
mod outbox;
pub(crate) mod parameters;
mod server;
pub(crate) mod status;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dubbo_core::{
    invoker::Invoker,
    payload::Rules,
    protocol::{Drained, Exporter, Protocol, ProtocolError},
    service::ServiceDescriptor,
    url::Url,
};
use tokio::time::Instant;

use self::{client::DubboClient, server::Servers};
use crate::{java::shared_rules, net::Network};

/// The classic protocol of Dubbo, linked as `dubbo`: servers and connections of one instance.
///
/// It carries services of Java interfaces, in hessian2; those of proto files and streams are for `tri`.
///
/// A provider's URL may set, each with its default:
///
/// | parameter | default | what |
/// |---|---|---|
/// | `payload` | 8388608 | how many bytes a request or an answer may have; 0 is any number |
/// | `heartbeat.timeout` | 3 × `heartbeat` | a connection on which nothing happens for so long, or whose peer takes nothing of its answers, is closed; 0 is never |
/// | `heartbeat` | 60 s | how often consumers show that they are alive |
/// | `accepts` | 0 | connections to the port, with those that have said nothing yet; 0 is any number, of which 1,024 may be silent |
/// | `max-connection-calls` | 1000 | calls of one connection under way; beyond, it is not read from |
/// | `max-calls` | 0 | calls of all connections under way; those beyond are refused with status 100; 0 is any number |
///
/// They are set in the `params` of a service, or of the protocol. All but `payload` hold for a port, and all services on it have the same.
///
/// The `timeout` of a call is its deadline, when the handler is stopped. A connection that ends ends its calls, but for
/// those that are one-way.
///
/// The URL of a reference may set, each with its default:
///
/// | parameter | default | what |
/// |---|---|---|
/// | `connections` | 1 | connections to the address; references with the same connection parameters share them |
/// | `connect.timeout` | 3 s | how long one attempt to connect may take |
/// | `heartbeat` | 60 s | a provider from which nothing came for so long is asked for a sign of life; 0 is never |
/// | `heartbeat.timeout` | 3 × `heartbeat` | after so long without one, or with nothing taken of what is sent, the connection is given up; 0 is never |
/// | `payload` | 8388608 | how many bytes a request or an answer may have; 0 is any number |
/// | `application`, `token` | none | what the provider is told with each call |
///
/// dubbo-go takes no request and no answer of more than 1,024,000 bytes, whatever is set here, and closes the connection.
///
/// References connect in the background and again after a failure. A call of which nothing was written goes to another
/// connection; every other failure is the caller's to judge ([`Status::retry`](dubbo_core::status::Status::retry)). What
/// would end the same again is never repeated: a request that cannot be written (code 3, or 11 where it is too large), and an
/// answer that the provider cannot write or this side cannot read (15, or 11), whose call has been done. A provider that says that it is about to stop (the event `R`, or `closing` in an answer) gets no new calls, until it says
/// otherwise, closes the connection, or ten seconds are over. Dropping a call frees what it holds; the provider is not told,
/// because the protocol has no way to.
///
/// Dropping the value ends its servers at once; [`Protocol::drain`] ends them well.
pub struct DubboProtocol {
    client: DubboClient,
    servers: Servers,
}

impl DubboProtocol {
    /// Shares listening ports with other protocols of the instance, uses its TLS settings, and reads by its rules what peers
    /// send. The default does none of it.
    fn of(network: Network, rules: Rules) -> Self {
        Self {
            client: DubboClient::new(&network, rules.clone()),
            servers: Servers::new(network, rules),
        }
    }
}

#[async_trait]
impl Protocol for DubboProtocol {
    fn default_port(&self) -> u16 {
        20_880
    }

    async fn export(
        &self,
        url: &Url,
        service: Arc<ServiceDescriptor>,
        invoker: Arc<dyn Invoker>,
    ) -> Result<Box<dyn Exporter>, ProtocolError> {
        self.servers
            .export(url, self.default_port(), service, invoker)
            .await
    }

    async fn refer(
        &self,
        url: &Url,
        service: Arc<ServiceDescriptor>,
    ) -> Result<Arc<dyn Invoker>, ProtocolError> {
        self.client.refer(url, &service, self.default_port())
    }

    async fn announce_shutdown(&self) {
        self.servers.announce_shutdown().await;
    }

    async fn drain(&self, deadline: Instant) -> Drained {
        self.servers.drain(deadline).await
    }

    async fn close(&self, deadline: Instant) -> Drained {
        let aborted = self.client.shut_down(deadline).await;
        Drained { aborted }
    }
}

impl Default for DubboProtocol {
    fn default() -> Self {
        Self::of(Network::default(), Rules::NONE)
    }
}

impl fmt::Debug for DubboProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DubboProtocol").finish_non_exhaustive()
    }
}

dubbo_core::extension!(dyn Protocol, "dubbo", |cx| Ok(Arc::new(DubboProtocol::of(
    Network::of(cx),
    shared_rules(cx),
))));
