//! `adaptiveService`: providers say how much room they have, and calls go where there is some.

use std::sync::Arc;

use dubbo_core::{
    attachments::Attachments,
    cluster::{Cluster, ClusterConfig, Directory},
    extension::BoxError,
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    url::Key,
};
use tokio::time::Instant;

use super::{
    attempt::Reference,
    joined::{Joined, Manner, choose, once},
};

/// Makes one attempt, asks the provider with it how much room it has left, and tells the load balance `p2c`, which the
/// methods of this cluster have to have.
///
/// `docs/spec/cluster.md` §2.10. A provider with an adaptive limit answers how many more calls of the method it would take;
/// `p2c` believes it for ten seconds. Of one that says nothing, nothing is known.
#[derive(Debug)]
pub struct AdaptiveService;

impl Cluster for AdaptiveService {
    fn join(
        &self,
        directory: Arc<dyn Directory>,
        config: Arc<ClusterConfig>,
    ) -> Result<Arc<dyn Invoker>, BoxError> {
        config.per_method(|method| check(&config, method))?;
        Ok(Joined::over(directory, config, Asking))
    }
}

/// Whether `method`, if it has this cluster, has the load balance that goes with it.
fn check(config: &ClusterConfig, method: &str) -> Result<(), BoxError> {
    let cluster = config.url.get_for(method, &CLUSTER)?;
    let is_ours = NAMES.iter().any(|name| cluster.eq_ignore_ascii_case(name));
    let balance = config.url.get_for(method, &LOAD_BALANCE)?;
    if !is_ours || balance.eq_ignore_ascii_case(P2C) {
        return Ok(());
    }
    let whose = match method {
        "" => "the reference".to_owned(),
        method => format!("`{method}`"),
    };
    Err(format!(
        "the cluster `{cluster}` needs the load balance `{P2C}`, and {whose} has `{balance}`: set `loadbalance: {P2C}`"
    )
    .into())
}

struct Asking;

impl Manner for Asking {
    const CLUSTER: &'static str = "adaptiveService";

    async fn call(&self, reference: &Reference, mut invocation: Invocation) -> RpcResult {
        let (node, candidates) = choose(reference, &mut invocation)?;
        let method = invocation.method.clone();
        invocation.attachments.insert(ENABLED, "1");
        let answer = once(reference, &node, candidates, invocation).await;
        let remaining = match &answer {
            Ok(reply) => remaining(&reply.headers).or_else(|| remaining(&reply.trailers)),
            // A limit that has been reached has been told before.
            Err(status) if status.message().starts_with(INTERRUPTED) => None,
            Err(status) => remaining(status.attachments()),
        };
        if let Some(remaining) = remaining {
            let state = node.state.method(&method);
            state.report_remaining(remaining, Instant::now());
        }
        answer
    }
}

/// How many more calls the provider would take.
fn remaining(attachments: &Attachments) -> Option<u64> {
    let text = attachments.get(REMAINING)?;
    let number = text.trim().parse().ok();
    if number.is_none() {
        tracing::debug!(value = text, "`{REMAINING}` is no number");
    }
    number
}

dubbo_core::extension!(dyn Cluster, "adaptiveService" | "adaptive", |_cx| Ok(
    Arc::new(AdaptiveService)
));

const NAMES: [&str; 2] = ["adaptiveService", "adaptive"];
const P2C: &str = "p2c";

/// What dubbo-go's limiter begins its refusals with.
const INTERRUPTED: &str = "adaptive service interrupted";

const ENABLED: &str = "adaptive-service.enabled";
const REMAINING: &str = "adaptive-service.remaining";

const CLUSTER: Key<String> = Key {
    name: "cluster",
    default: || "failover".to_owned(),
};

const LOAD_BALANCE: Key<String> = Key {
    name: "loadbalance",
    default: || "random".to_owned(),
};
