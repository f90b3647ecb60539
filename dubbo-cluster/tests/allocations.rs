//! What choosing a provider costs: nothing on the heap, for up to 16 of them.
//!
//! One test alone, because the counter sees every thread of the process.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use dubbo_cluster::{
    cluster::Failover,
    directory::StaticDirectory,
    loadbalance::Random,
    migration::{Controller, ControllerOptions, Meter, MigrationDirectory, Path, Road, Roads},
    resend::{PolicyDocument, Resend},
    router::RouterChain,
};
use dubbo_core::{
    cluster::{Cluster, ClusterConfig, Directory, LoadBalance, MethodConfig, Node},
    extension::Extensions,
    invocation::{Body, Invocation, Reply, RpcResult},
    invoker::Invoker,
    payload::{Codec, Payload},
    registry::RegistryError,
    service::{CallKind, MethodDescriptor, ServiceDescriptor, ServiceKey},
    url::Url,
};
use dubbo_test::alloc::{COUNTING, Counting, per_call};
use tokio::sync::watch;

#[global_allocator]
static ALLOCATOR: &Counting = COUNTING;

/// Gives the message back.
struct Echo(Url);

#[async_trait]
impl Invoker for Echo {
    fn url(&self) -> &Url {
        &self.0
    }

    async fn invoke(&self, invocation: Invocation) -> RpcResult {
        Ok(Reply::new(invocation.body))
    }
}

/// Two roads to the same providers.
struct Same(Arc<dyn Directory>);

#[async_trait]
impl Roads for Same {
    async fn open(&self, _: Path, _: Meter) -> Result<Road, RegistryError> {
        Ok(Road {
            directory: Arc::clone(&self.0),
            lists: watch::Sender::new(Some(1)).subscribe(),
        })
    }

    fn applications(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Half of the calls by each road.
async fn migrating(directory: &Arc<dyn Directory>) -> Arc<dyn Directory> {
    let controller = Controller::new(ControllerOptions::new("c", 7));
    controller.set_rule("proportion: 50").expect("a rule");
    let roads = Arc::new(Same(Arc::clone(directory)));
    let consumer = Url::new("consumer", "10.0.0.9").with_path("a.B");
    let registry = Url::new("memory", "local");
    let migrating = MigrationDirectory::follow(consumer, &registry, &controller, roads).await;
    Arc::new(migrating.expect("can be followed"))
}

#[tokio::test]
async fn choosing_among_16_allocates_nothing_and_failover_one_future() {
    let descriptor = Arc::new(ServiceDescriptor::new(
        "a.B",
        vec![MethodDescriptor::new("Get", CallKind::Unary)],
    ));
    let invocation = || {
        let body = Body::Unary(Payload::encoded(Codec::Protobuf, Bytes::new()));
        let method = descriptor.find("Get").expect("is there");
        Invocation::new(Arc::new(ServiceKey::new("a.B")), method, body)
    };
    let urls: Vec<Url> = (1..=16)
        .map(|port| {
            Url::new("tri", "10.0.0.1")
                .with_port(port)
                .with_param("timestamp", "1700000000000")
        })
        .collect();
    let consumer = Url::new("consumer", "10.0.0.9").with_path("a.B");
    let directory: Arc<dyn Directory> = Arc::new(
        StaticDirectory::refer(consumer.clone(), &urls, RouterChain::default(), |url| {
            let invoker: Arc<dyn Invoker> = Arc::new(Echo(url));
            std::future::ready(Ok(invoker))
        })
        .await
        .expect("refers"),
    );
    let migrating = migrating(&directory).await;
    let linked = Extensions::linked().expect("no duplicates");
    for name in linked.names::<dyn LoadBalance>() {
        let policy = linked
            .create::<dyn LoadBalance>(name, &consumer)
            .expect(name);
        let call = invocation();
        for (how, directory) in [("at once", &directory), ("while it migrates", &migrating)] {
            let choosing = per_call(WARM_UP, CALLS, async || {
                let candidates = directory.list(&call).expect("16");
                policy.select(&candidates, &call).expect("one");
            })
            .await;
            assert_eq!(choosing.allocations, 0, "{name}: list and select, {how}");
            let choosing = per_call(WARM_UP, CALLS, async || {
                let candidates = directory.list(&call).expect("16");
                let not_first = |node: &Node| node.url.port() != Some(1);
                let picked = policy.select_where(&candidates, &call, &not_first);
                picked.expect("one of 15");
            })
            .await;
            assert_eq!(
                choosing.allocations, 0,
                "{name}: select among 15 of 16, {how}"
            );
        }

        let method = MethodConfig {
            timeout: None,
            retries: Some(2),
            sticky: true,
            load_balance: policy,
        };
        let config = ClusterConfig::new(
            ServiceKey::new("a.B"),
            &descriptor,
            consumer.clone(),
            method,
            &HashMap::new(),
        );
        let cluster = Failover.join(Arc::clone(&directory), Arc::new(config));
        let cluster = cluster.expect("has no options");
        let mut calls: Vec<_> = (0..WARM_UP + CALLS).map(|_| invocation()).collect();
        let calling = per_call(WARM_UP, CALLS, async || {
            let call = calls.pop().expect("one for each");
            cluster.invoke(call).await.expect("answers");
        })
        .await;
        // The question that `adaptive` puts to providers is an attachment.
        let asking = usize::from(name == "adaptive");
        assert_eq!(
            calling.allocations,
            2 + asking,
            "{name}: the futures of the cluster and of the node"
        );
    }
    strict_calls(&directory, &descriptor, &consumer, invocation).await;
}

/// What a policy costs a call that works: the id of the call, the list that it stands in, and a copy of both for an attempt
/// that is not needed.
async fn strict_calls(
    directory: &Arc<dyn Directory>,
    descriptor: &Arc<ServiceDescriptor>,
    consumer: &Url,
    invocation: impl Fn() -> Invocation,
) {
    for (document, want) in [
        ("mode: compat", 2),
        ("budget: default", 2),
        ("mode: strict", 2 + 4),
        (
            "policies: { all: { breaker: default, ejection: default, recovery: default } }",
            2 + 4,
        ),
    ] {
        let extensions = Extensions::linked().expect("no duplicates");
        let document = PolicyDocument::parse("test", document).expect("no mistakes");
        extensions.shared::<Resend>().set_policies(document.clone());
        let method = MethodConfig {
            timeout: None,
            retries: Some(2),
            sticky: false,
            load_balance: Arc::new(Random::new()),
        };
        let key = ServiceKey::new("a.B");
        let none = HashMap::new();
        let config = ClusterConfig::new(key, descriptor, consumer.clone(), method, &none);
        let config = config.with_extensions(extensions);
        let cluster = Failover.join(Arc::clone(directory), Arc::new(config));
        let cluster = cluster.expect("has no options");
        let mut calls: Vec<_> = (0..WARM_UP + CALLS).map(|_| invocation()).collect();
        let calling = per_call(WARM_UP, CALLS, async || {
            let call = calls.pop().expect("one for each");
            cluster.invoke(call).await.expect("answers");
        })
        .await;
        assert_eq!(calling.allocations, want, "{document:?}");
    }
}

const WARM_UP: usize = 20;
const CALLS: usize = 100;
