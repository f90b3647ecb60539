//! `broadcast`: every provider gets the call. For what each of them has to do, such as to drop a cache.

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    cluster::{Cluster, ClusterConfig, Directory, Node, PerMethod},
    extension::BoxError,
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    service::CallKind,
    status::Status,
    url::{Key, Url, UrlError},
};
use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;

use super::{
    attempt::{self, Reference},
    joined::{Failures, Joined, Manner, once},
};

/// Sends a unary call to every provider, one after the other in the order of the list, and answers with the last answer.
///
/// `docs/spec/cluster.md` §2.7. Any failure is an error of the call, which lists each provider that failed; what others
/// did stays done. Parameters, each for a method or for all:
///
/// - `broadcast.fail.percent` (100): no further provider is called once so many of a hundred have failed. 0, and a share
///   of less than one provider, are the first failure; what is not from 0 to 100 is 100.
/// - `broadcast.parallelism` (1): how many providers are called at a time.
#[derive(Debug)]
pub struct Broadcast;

impl Cluster for Broadcast {
    fn join(
        &self,
        directory: Arc<dyn Directory>,
        config: Arc<ClusterConfig>,
    ) -> Result<Arc<dyn Invoker>, BoxError> {
        let options = config.per_method(|method| Options::read(&config.url, method))?;
        Ok(Joined::over(directory, config, Everyone(options)))
    }
}

struct Everyone(PerMethod<Options>);

#[derive(Debug, Clone, Copy)]
struct Options {
    fail_percent: usize,
    parallelism: usize,
}

impl Options {
    fn read(url: &Url, method: &str) -> Result<Self, UrlError> {
        let percent = url.get_for(method, &FAIL_PERCENT)?;
        let fail_percent = usize::try_from(percent)
            .ok()
            .filter(|percent| *percent <= ALL);
        if fail_percent.is_none() {
            tracing::warn!(service = %url.service_key(), method, percent, "`broadcast.fail.percent` is not from 0 to 100: 100");
        }
        Ok(Self {
            fail_percent: fail_percent.unwrap_or(ALL),
            parallelism: url.get_for(method, &PARALLELISM)?.max(1),
        })
    }

    /// How many failures of `count` providers end the call.
    fn threshold(self, count: usize) -> usize {
        (count.saturating_mul(self.fail_percent) / ALL).max(1)
    }
}

impl Manner for Everyone {
    const CLUSTER: &'static str = "broadcast";

    async fn call(&self, reference: &Reference, mut invocation: Invocation) -> RpcResult {
        let options = *self.0.get(&invocation.method);
        reference.prepare(&mut invocation);
        let nodes: Vec<Node> = {
            let candidates = reference.directory.list(&invocation)?;
            candidates.iter().cloned().collect()
        };
        if let [lone] = nodes.as_slice() {
            return once(reference, lone, 1, invocation).await;
        }
        if invocation.method.kind() != CallKind::Unary {
            return Err(streams(&invocation, nodes.len()));
        }
        let count = nodes.len();
        let threshold = options.threshold(count);
        let mut failures = Failures::new(reference, &invocation, count, count);
        let calls = nodes.into_iter().filter_map(move |node| {
            let copy = invocation.try_clone()?;
            Some(attempt(node, copy))
        });
        let mut calls = stream::iter(calls).buffered(options.parallelism);
        let mut last = None;
        while let Some((node, elapsed, result)) = calls.next().await {
            match result {
                Ok(reply) => last = Some(reply),
                Err(status) => {
                    failures.push(&node, elapsed, status);
                    if failures.count() == threshold && threshold < count {
                        let percent = options.fail_percent;
                        failures.stop(format!(
                            "no further one was called after {threshold} had failed, for `broadcast.fail.percent` is {percent}"
                        ));
                        break;
                    }
                }
            }
        }
        match last {
            Some(reply) if failures.count() == 0 => Ok(reply),
            last => Err(failures.into_status_beside(last.is_some())),
        }
    }
}

async fn attempt(node: Node, invocation: Invocation) -> (Node, Duration, RpcResult) {
    attempt::let_others_run().await;
    let started = Instant::now();
    if invocation
        .deadline
        .is_some_and(|deadline| deadline <= started)
    {
        let late =
            Status::deadline_exceeded("the call's deadline passed before this provider's turn");
        return (node, Duration::ZERO, Err(late.not_processed()));
    }
    let result = attempt::call(&node, invocation).await;
    (node, started.elapsed(), result)
}

fn streams(invocation: &Invocation, count: usize) -> Status {
    Status::unimplemented(format!(
        "calling {} of {}: `broadcast` sends one request to each of {count} providers and takes one answer of each, and \
         this method has a stream; give it another `cluster`",
        invocation.method.name(),
        invocation.service
    ))
    .not_processed()
}

dubbo_core::extension!(dyn Cluster, "broadcast", |_cx| Ok(Arc::new(Broadcast)));

const ALL: usize = 100;

const FAIL_PERCENT: Key<i64> = Key {
    name: "broadcast.fail.percent",
    default: || 100,
};

const PARALLELISM: Key<usize> = Key {
    name: "broadcast.parallelism",
    default: || 1,
};
