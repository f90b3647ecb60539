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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use async_trait::async_trait;
    use dubbo_core::{
        cluster::{Node, NodeWeight},
        invocation::Reply,
        status::Status,
        url::Url,
    };
    use parking_lot::Mutex;

    use super::*;
    use crate::testing::{Fixed, asking, invocation, join};

    /// A provider that answers or refuses with this text and says how much room it has.
    struct Limited {
        url: Url,
        refuses: Option<&'static str>,
        remaining: &'static str,
        asked: Mutex<Option<String>>,
    }

    #[async_trait]
    impl Invoker for Limited {
        fn url(&self) -> &Url {
            &self.url
        }

        async fn invoke(&self, invocation: Invocation) -> RpcResult {
            *self.asked.lock() = invocation.attachments.get(ENABLED).map(str::to_owned);
            let mut said = Attachments::new();
            if !self.remaining.is_empty() {
                said.insert(REMAINING, self.remaining);
            }
            if let Some(text) = self.refuses {
                return Err(Status::resource_exhausted(text).with_attachments(said));
            }
            let mut reply = Reply::new(invocation.body);
            reply.trailers = said;
            Ok(reply)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn providers_are_asked_for_their_room_and_believed() {
        for (refuses, remaining, want) in [
            (None, "17", Some(17)),
            (None, " 0 ", Some(0)),
            (None, "", None),
            (None, "many", None),
            (Some("no room"), "3", Some(3)),
            (
                Some("adaptive service interrupted: reach limitation"),
                "0",
                None,
            ),
        ] {
            let provider = Arc::new(Limited {
                url: crate::testing::url(1),
                refuses,
                remaining,
                asked: Mutex::default(),
            });
            let node = Node::new(Arc::clone(&provider) as _, NodeWeight::constant(1));
            let directory = Fixed::of(&[]);
            directory.set_nodes([node.clone()]);
            let config = asking(&[("cluster", "adaptiveService"), ("loadbalance", "p2c")]);
            let cluster = join(&AdaptiveService, directory, config);
            let result = cluster.invoke(invocation()).await;
            assert_eq!(result.is_err(), refuses.is_some());
            assert_eq!(provider.asked.lock().as_deref(), Some("1"));
            let state = node.state.method(&invocation().method);
            let said = || state.remaining(Instant::now());
            assert_eq!(said(), want, "{refuses:?} {remaining:?}");
            tokio::time::advance(Duration::from_secs(11)).await;
            assert_eq!(said(), None, "not for ever");
        }
    }

    #[test]
    fn another_load_balance_is_refused_where_it_is_said() {
        for (params, why) in [
            (&[("cluster", "adaptive"), ("loadbalance", "P2C")][..], ""),
            (
                &[("cluster", "AdaptiveService")],
                "the cluster `AdaptiveService` needs the load balance `p2c`, and `First` has `random`: set `loadbalance: p2c`",
            ),
            (
                &[
                    ("methods.Second.cluster", "adaptive"),
                    ("methods.Second.loadbalance", "roundrobin"),
                ],
                "the cluster `adaptive` needs the load balance `p2c`, and `Second` has `roundrobin`: set `loadbalance: p2c`",
            ),
            (
                &[
                    ("methods.Second.cluster", "adaptive"),
                    ("methods.Second.loadbalance", "p2c"),
                ],
                "",
            ),
        ] {
            let joined = AdaptiveService.join(Fixed::of(&[]), asking(params));
            let error = joined
                .err()
                .map_or_else(String::new, |error| error.to_string());
            assert_eq!(error, why, "{params:?}");
        }
    }
}
