//! What the invokers of clusters have in common.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use dubbo_core::{
    cluster::{ClusterConfig, Directory, Node},
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    service::{MethodRef, ServiceKey},
    status::{Retry, Status},
    url::Url,
};
use tokio::time::Instant;

use super::{
    attempt::{self, Reference},
    failed::FailedCall,
};

/// The manner in which a cluster makes the attempts of a call.
pub(super) trait Manner: Send + Sync + 'static {
    /// The cluster's name.
    const CLUSTER: &'static str;

    /// Carries one call.
    fn call(
        &self,
        reference: &Reference,
        invocation: Invocation,
    ) -> impl Future<Output = RpcResult> + Send;
}

/// The invoker of one cluster over one directory.
pub(super) struct Joined<M> {
    reference: Reference,
    manner: M,
}

impl<M: Manner> Joined<M> {
    pub(super) fn over(
        directory: Arc<dyn Directory>,
        config: Arc<ClusterConfig>,
        manner: M,
    ) -> Arc<dyn Invoker> {
        Self::of(Reference::new(directory, config), manner)
    }

    pub(super) fn of(reference: Reference, manner: M) -> Arc<dyn Invoker> {
        Arc::new(Self { reference, manner })
    }
}

#[async_trait]
impl<M: Manner> Invoker for Joined<M> {
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
        attempt::let_others_run().await;
        self.manner.call(&self.reference, invocation).await
    }

    async fn close(&self) {
        self.reference.directory.close().await;
    }
}

impl<M: Manner> fmt::Debug for Joined<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(M::CLUSTER).field(self.url()).finish()
    }
}

/// Chooses who takes the only attempt of a call, and says of how many.
pub(super) fn choose(
    reference: &Reference,
    invocation: &mut Invocation,
) -> Result<(Node, usize), Status> {
    let method = reference.prepare(invocation);
    let candidates = reference.directory.list(invocation)?;
    let node = reference.choose(&candidates, &[], method, invocation)?;
    Ok((node.ok_or_else(attempt::nobody_listed)?, candidates.len()))
}

/// Makes the only attempt of a call, on `node` of `candidates`. An answer of the application comes as it is; what else
/// fails is told as a [`FailedCall`].
pub(super) async fn once(
    reference: &Reference,
    node: &Node,
    candidates: usize,
    invocation: Invocation,
) -> RpcResult {
    let mut failures = Failures::new(reference, &invocation, 1, candidates);
    let started = Instant::now();
    match attempt::call(reference, node, invocation).await {
        Err(status) if status.retry() != Retry::Never => {
            failures.push(node, started.elapsed(), status);
            Err(failures.into_status())
        }
        answer => answer,
    }
}

/// The attempts of one call that have failed. Nothing is kept of a call that works.
pub(super) struct Failures<'a> {
    reference: &'a Reference,
    service: Arc<ServiceKey>,
    method: MethodRef,
    allowed: usize,
    candidates: usize,
    failed: Option<Box<FailedCall>>,
}

impl<'a> Failures<'a> {
    /// None yet of the `allowed` attempts of `invocation`.
    pub(super) fn new(
        reference: &'a Reference,
        invocation: &Invocation,
        allowed: usize,
        candidates: usize,
    ) -> Self {
        Self {
            reference,
            service: Arc::clone(&invocation.service),
            method: invocation.method.clone(),
            allowed,
            candidates,
            failed: None,
        }
    }

    pub(super) fn push(&mut self, node: &Node, elapsed: Duration, status: Status) {
        tracing::debug!(
            target: super::RETRY,
            service = %self.service, method = self.method.name(), provider = %node.invoker.url().address(),
            ?elapsed, code = %status.code(), error = %status, "an attempt failed"
        );
        self.failed().push(node.invoker.url(), elapsed, status);
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.failed
            .as_ref()
            .map_or(0, |failed| failed.made as usize)
    }

    /// Says why there were no more attempts.
    pub(super) fn stop(&mut self, why: String) {
        self.failed().stopped = Some(why);
    }

    /// The error of the call: how its attempts failed, with the last one's status.
    pub(super) fn into_status(self) -> Status {
        let Some(mut failed) = self.failed else {
            return attempt::nobody_listed();
        };
        failed.origin = self.reference.directory.origin();
        failed.into_status(None)
    }

    /// The same where `answered` says that others were answered.
    pub(super) fn into_status_beside(mut self, answered: bool) -> Status {
        if let Some(failed) = &mut self.failed {
            failed.answered = answered;
        }
        self.into_status()
    }

    fn failed(&mut self) -> &mut FailedCall {
        self.failed.get_or_insert_with(|| {
            let allowed = u32::try_from(self.allowed).unwrap_or(u32::MAX);
            let consumer = self.reference.directory.consumer_url();
            let mut failed = FailedCall::new(&self.service, self.method.name(), allowed, consumer);
            failed.candidates = self.candidates;
            Box::new(failed)
        })
    }
}
