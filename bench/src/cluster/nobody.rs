//! A protocol that goes nowhere: its providers answer at once with an empty message.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use dubbo_core::{
    invocation::{Body, Invocation, Reply, RpcResult},
    invoker::Invoker,
    payload::{Codec, Payload},
    protocol::{Drained, Exporter, Protocol, ProtocolError},
    service::ServiceDescriptor,
    url::Url,
};
use tokio::time::Instant;

/// Refers to [`Nobody`].
pub(super) struct InProcess;

#[async_trait]
impl Protocol for InProcess {
    fn default_port(&self) -> u16 {
        20_880
    }

    async fn export(
        &self,
        url: &Url,
        _service: Arc<ServiceDescriptor>,
        _invoker: Arc<dyn Invoker>,
    ) -> Result<Box<dyn Exporter>, ProtocolError> {
        unreachable!("nobody is served: {url:?}")
    }

    async fn refer(
        &self,
        url: &Url,
        _service: Arc<ServiceDescriptor>,
    ) -> Result<Arc<dyn Invoker>, ProtocolError> {
        Ok(Arc::new(Nobody::at(url.clone())))
    }

    async fn drain(&self, _deadline: Instant) -> Drained {
        Drained::default()
    }

    async fn close(&self, _deadline: Instant) -> Drained {
        Drained::default()
    }
}

/// A provider that answers at once.
pub(super) struct Nobody(Url);

impl Nobody {
    pub(super) fn at(url: Url) -> Self {
        Self(url)
    }
}

#[async_trait]
impl Invoker for Nobody {
    fn url(&self) -> &Url {
        &self.0
    }

    async fn invoke(&self, _invocation: Invocation) -> RpcResult {
        let message = Payload::encoded(Codec::Protobuf, Bytes::new());
        Ok(Reply::new(Body::Unary(message)))
    }
}
