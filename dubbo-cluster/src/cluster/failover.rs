//! `failover`: a failed call is tried again on another provider. The default.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use dubbo_core::{
    cluster::{Cluster, ClusterConfig, Directory, Node, NodeId},
    extension::BoxError,
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    service::{MethodRef, ServiceKey},
    status::{Retry, Status},
    url::Url,
};
use smallvec::SmallVec;
use tokio::time::Instant;

use super::{
    attempt::{self, Reference},
    failed::FailedCall,
};

/// Tries a call up to `retries` times more, each time on a provider that has not failed it yet, without a pause.
///
/// `docs/spec/cluster.md` §2.1. The list of providers is read anew for each attempt. An answer of the application, or an
/// error that every provider would give, is the caller's at once and as it came. What is left is told as a whole
/// ([`FailedCall`]). The caller's deadline bounds all attempts together. A call with a stream of requests has one attempt,
/// because a stream cannot be sent twice.
///
/// An attachment `retries` that is a whole number counts instead of the configured one, and is not sent.
#[derive(Debug)]
pub struct Failover;

impl Cluster for Failover {
    fn join(
        &self,
        directory: Arc<dyn Directory>,
        config: Arc<ClusterConfig>,
    ) -> Result<Arc<dyn Invoker>, BoxError> {
        Ok(Arc::new(FailoverInvoker(Reference::new(directory, config))))
    }
}

struct FailoverInvoker(Reference);

#[async_trait]
impl Invoker for FailoverInvoker {
    fn url(&self) -> &Url {
        self.0.directory.consumer_url()
    }

    fn is_available(&self) -> bool {
        self.0.is_available()
    }

    fn why_unavailable(&self) -> Option<String> {
        self.0.directory.why_unavailable()
    }

    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    async fn invoke(&self, mut invocation: Invocation) -> RpcResult {
        attempt::let_others_run().await;
        let configured = self.0.prepare(&mut invocation).retries_or(RETRIES_DEFAULT);
        let retries = take_retries(&mut invocation).unwrap_or(configured);
        let mut call = Attempts {
            reference: &self.0,
            service: Arc::clone(&invocation.service),
            method: invocation.method.clone(),
            deadline: invocation.deadline,
            allowed: retries.saturating_add(1),
            tried: SmallVec::new(),
            failed: None,
        };
        if call.time_left().is_some_and(|left| left.is_zero()) {
            return Err(Status::deadline_exceeded(format!(
                "calling {} of {}: its deadline passed before the first attempt",
                call.method.name(),
                call.service
            )));
        }
        loop {
            let (node, listed) = match call.choose(&invocation) {
                Ok(chosen) => chosen,
                Err(instead) => return Err(call.give_up(instead)),
            };
            let replay = if call.made() + 1 < call.allowed {
                invocation.try_clone()
            } else {
                None
            };
            let started = Instant::now();
            match attempt::call(&node, invocation).await {
                Err(status) if status.retry() != Retry::Never => {
                    call.note(&node, listed, started.elapsed(), status);
                }
                answer => {
                    call.answered(&node);
                    return answer;
                }
            }
            let Some(next) = call.next(replay) else {
                return Err(call.give_up(None));
            };
            invocation = next;
            attempt::let_others_run().await;
        }
    }

    async fn close(&self) {
        self.0.directory.close().await;
    }
}

/// One call on its way through its attempts.
struct Attempts<'a> {
    reference: &'a Reference,
    service: Arc<ServiceKey>,
    method: MethodRef,
    deadline: Option<Instant>,
    allowed: u32,
    tried: SmallVec<[NodeId; 4]>,
    /// Made with the first failure: a call that works pays nothing for it.
    failed: Option<Box<FailedCall>>,
}

impl Attempts<'_> {
    /// Lists the providers anew; the next one to try, and how many there are.
    ///
    /// # Errors
    ///
    /// Why there is nobody; `None` when the last attempt's status says enough.
    fn choose(&mut self, invocation: &Invocation) -> Result<(Node, usize), Option<Status>> {
        let candidates = self.reference.directory.list(invocation)?;
        let method = self.reference.config.method(&self.method);
        let node = self
            .reference
            .choose(&candidates, &self.tried, method, invocation)?;
        if node.is_none() {
            self.stop("not tried again because each provider has failed it and none is available");
        }
        Ok((node.ok_or(None)?, candidates.len()))
    }

    fn note(&mut self, node: &Node, listed: usize, elapsed: Duration, status: Status) {
        tracing::debug!(
            service = %self.service, method = self.method.name(), provider = %node.invoker.url().address(),
            ?elapsed, error = %status, "an attempt failed"
        );
        if !self.tried.contains(&node.id) {
            self.tried.push(node.id);
        }
        let failed = self.failed.get_or_insert_with(|| {
            Box::new(FailedCall::new(
                &self.service,
                self.method.name(),
                self.allowed,
                self.reference.directory.consumer_url(),
            ))
        });
        failed.candidates = listed;
        failed.push(node.invoker.url(), elapsed, status);
    }

    /// The invocation of the next attempt, if there is to be one.
    fn next(&mut self, replay: Option<Invocation>) -> Option<Invocation> {
        if self.made() >= self.allowed {
            return None;
        }
        let Some(replay) = replay else {
            self.stop(
                "not tried again because its requests are a stream, which cannot be sent twice",
            );
            return None;
        };
        if self.time_left().is_some_and(|left| left < SHORTEST_ATTEMPT) {
            self.stop("not tried again because the caller's deadline leaves no time for it");
            return None;
        }
        Some(replay)
    }

    fn stop(&mut self, why: &str) {
        if let Some(failed) = &mut self.failed {
            failed.stopped = Some(why.to_owned());
        }
    }

    /// The error of the call: how its attempts failed, with the last one's status or with `instead`.
    fn give_up(self, instead: Option<Status>) -> Status {
        let Some(mut failed) = self.failed else {
            return instead.unwrap_or_else(attempt::nobody_listed);
        };
        failed.origin = self.reference.directory.origin();
        failed.into_status(instead)
    }

    /// Some provider answered; what came before is worth a warning.
    fn answered(self, node: &Node) {
        if let Some(failed) = self.failed {
            tracing::warn!(
                service = %self.service, method = self.method.name(), provider = %node.invoker.url().address(),
                %failed, "a call was answered after failed attempts"
            );
        }
    }

    fn made(&self) -> u32 {
        self.failed.as_ref().map_or(0, |failed| failed.made)
    }

    fn time_left(&self) -> Option<Duration> {
        let deadline = self.deadline?;
        Some(deadline.saturating_duration_since(Instant::now()))
    }
}

impl fmt::Debug for FailoverInvoker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Failover").field(self.url()).finish()
    }
}

dubbo_core::extension!(dyn Cluster, "failover", |_cx| Ok(Arc::new(Failover)));

/// The number of retries that the caller attached to this one call.
fn take_retries(invocation: &mut Invocation) -> Option<u32> {
    let text = invocation.attachments.get(RETRIES)?;
    let Ok(retries) = text.trim().parse::<i64>() else {
        tracing::debug!(
            value = text,
            "attachment `retries` is no number; the configured one counts"
        );
        return None;
    };
    if retries < 0 {
        tracing::warn!(
            retries,
            "attachment `retries` is negative: the call has one attempt"
        );
    }
    invocation.attachments.remove(RETRIES);
    Some(u32::try_from(retries.max(0)).unwrap_or(u32::MAX))
}

const RETRIES: &str = "retries";

/// `docs/spec/cluster.md` §2.0.
const RETRIES_DEFAULT: u32 = 2;

/// With less time left than this, an attempt could only fail.
const SHORTEST_ATTEMPT: Duration = Duration::from_millis(10);
