//! Triple: gRPC, and calls over plain HTTP, with Dubbo's routing, attachments and errors (`docs/spec/triple.md`).

pub(crate) mod client;
pub(crate) mod compression;
pub(crate) mod exception;
pub(crate) mod form;
pub(crate) mod frame;
pub(crate) mod headers;
mod limits;
pub mod ranges;
mod room;
pub(crate) mod server;
mod silence;
pub(crate) mod status_wire;
pub(crate) mod timeout;
pub(crate) mod wrapper;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dubbo_core::{
    http::HttpHandler,
    invoker::Invoker,
    payload::Rules,
    protocol::{Drained, Exporter, Protocol, ProtocolError},
    service::ServiceDescriptor,
    url::Url,
};
use tokio::time::Instant;

pub use self::{
    client::{TripleDialect, UnknownDialect},
    compression::{Compression, UnknownCompression},
    server::{BadCorsSetting, CorsSettings},
};

use client::Client;
use server::Servers;

use crate::{java::shared_rules, net::Network};

/// Triple, linked as the protocol `tri` (and `triple`): servers and connections of one instance.
///
/// A provider's URL may set `max-server-recv-msg-size` (4 MiB) and `max-server-send-msg-size` (2^31 − 1 bytes), in bytes
/// or with a unit; and `.compression.send` (nothing), a list of [compressions](Compression) of which callers get the first
/// that they take, with `.compression.min-size` (1 KiB), from which length on. Requests may be compressed in any of them.
///
/// Each port speaks HTTP/1.1 and HTTP/2. Its methods are called by gRPC and gRPC-Web, and over plain HTTP: a body of JSON or
/// protobuf is the message, and a stream of answers goes out as Server-Sent Events (`docs/spec/triple.md` §5). It serves
/// `grpc.health.v1.Health` beside what is exported there.
///
/// The URL of a reference may set, each with its default:
///
/// | parameter | default | what |
/// |---|---|---|
/// | `connections` | 1 | connections to the address; references with the same connection parameters share them |
/// | `connect.timeout` | 3 s | how long one attempt to connect may take |
/// | `keep-alive-interval` | 10 s | a peer from which nothing came for so long is asked for a sign of life; 0 is never |
/// | `keep-alive-timeout` | 20 s | how long its answer may take before the connection is given up |
/// | `max-call-recv-msg-size`, `max-call-send-msg-size` | 4 MiB, 2^31 − 1 bytes | limits of one message |
/// | `compression.send` | nothing | the [compression](Compression) of requests; for services of a proto file alone |
/// | `compression.min-size` | 1 KiB | shorter requests are sent as they are |
/// | `triple.dialect` | `grpc` | the [dialect](TripleDialect) of calls: `grpc-web` and `connect` pass where gRPC does not |
/// | `triple.http-version` | 2 | `1.1` for those two: a connection for each call under way, up to `connections`, by default 32; more calls wait for their turn. One that was silent for `keep-alive-interval` is replaced before it is used |
/// | `serialization` | | `json`: messages of a proto file are sent and read as JSON. Any other is what the service is defined for |
///
/// References connect in the background and again after a failure. A call that a closing or busy provider certainly did
/// not take is sent once more on another connection; every other failure is the caller's to judge
/// ([`Status::retry`](dubbo_core::status::Status::retry)). Dropping a call or its reply stream resets it at the provider.
///
/// Dropping the value ends its servers at once; [`Protocol::drain`] ends them well.
#[derive(Default)]
pub struct TripleProtocol {
    client: Client,
    servers: Servers,
}

impl TripleProtocol {
    /// Shares listening ports with other protocols of the instance, uses its TLS settings, and reads by its rules what peers
    /// send. The default does none of it.
    fn of(network: Network, rules: Rules) -> Self {
        Self {
            client: Client::new(&network, rules.clone()),
            servers: Servers::new(network, rules),
        }
    }
}

#[async_trait]
impl Protocol for TripleProtocol {
    fn default_port(&self) -> u16 {
        50_051
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

    async fn mount(
        &self,
        server: &Url,
        handler: Arc<dyn HttpHandler>,
    ) -> Result<Box<dyn Exporter>, ProtocolError> {
        self.servers
            .mount(server, self.default_port(), handler)
            .await
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

impl fmt::Debug for TripleProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TripleProtocol").finish_non_exhaustive()
    }
}

dubbo_core::extension!(dyn Protocol, "tri" | "triple", |cx| Ok(Arc::new(
    TripleProtocol::of(Network::of(cx), shared_rules(cx))
)));
