//! `failover`: a failed call is tried again on another provider. The default.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dubbo_core::{
    cluster::{Cluster, ClusterConfig, Directory},
    extension::BoxError,
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    url::Url,
};

use super::{attempt::Reference, attempts};
use crate::resend::policy::Target;

/// Tries a call up to `retries` times more, each time on a provider that has not failed it yet, without a pause.
///
/// `docs/spec/cluster.md` §2.1. The list of providers is read anew for each attempt. An answer of the application, or an
/// error that every provider would give, is the caller's at once and as it came. What is left is told as a whole
/// ([`FailedCall`](super::FailedCall)). The caller's deadline bounds all attempts together. A call with a stream of requests
/// has one attempt, because a stream cannot be sent twice.
///
/// An attachment `retries` that is a whole number counts instead of the configured one, and is not sent. Where `dubbo.retry`
/// has a policy for a call, or says `mode: strict`, that decides what is tried again, when, on whom and how often
/// ([`resend`](crate::resend)).
#[derive(Debug)]
pub struct Failover;

impl Cluster for Failover {
    fn join(
        &self,
        directory: Arc<dyn Directory>,
        config: Arc<ClusterConfig>,
    ) -> Result<Arc<dyn Invoker>, BoxError> {
        Ok(TryAgain::join(directory, config, Target::Other))
    }
}

/// Tries calls again: what the clusters of this kind have in common.
pub(super) struct TryAgain {
    reference: Reference,
    target: Target,
}

impl TryAgain {
    /// Over `directory`; `target` is who is asked again where no policy says so.
    pub(super) fn join(
        directory: Arc<dyn Directory>,
        config: Arc<ClusterConfig>,
        target: Target,
    ) -> Arc<dyn Invoker> {
        let reference = Reference::new(directory, config);
        Arc::new(Self { reference, target })
    }
}

#[async_trait]
impl Invoker for TryAgain {
    fn url(&self) -> &Url {
        self.reference.directory.consumer_url()
    }

    fn is_available(&self) -> bool {
        self.reference.is_available()
    }

    fn why_unavailable(&self) -> Option<String> {
        self.reference.directory.why_unavailable()
    }

    fn in_flight(&self) -> usize {
        self.reference.in_flight()
    }

    async fn invoke(&self, invocation: Invocation) -> RpcResult {
        attempts::make(&self.reference, self.target, invocation).await
    }

    async fn close(&self) {
        self.reference.directory.close().await;
    }
}

impl fmt::Debug for TryAgain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TryAgain").field(self.url()).finish()
    }
}

dubbo_core::extension!(dyn Cluster, "failover", |_cx| Ok(Arc::new(Failover)));
