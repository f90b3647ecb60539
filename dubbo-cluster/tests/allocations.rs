//! What choosing a provider costs: nothing on the heap, for up to 16 of them.
//!
//! One test alone, because the counter sees every thread of the process.

use std::{alloc::System, collections::HashMap, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use dubbo_cluster::{
    cluster::Failover,
    directory::StaticDirectory,
    loadbalance::{Clock, Random, RoundRobin},
    router::RouterChain,
};
use dubbo_core::{
    cluster::{Cluster, ClusterConfig, Directory, LoadBalance, MethodConfig},
    invocation::{Body, Invocation, Reply, RpcResult},
    invoker::Invoker,
    payload::{Codec, Payload},
    service::{CallKind, MethodDescriptor, ServiceDescriptor, ServiceKey},
    url::Url,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

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
        StaticDirectory::refer(consumer, &urls, RouterChain::default(), |url| {
            let invoker: Arc<dyn Invoker> = Arc::new(Echo(url));
            std::future::ready(Ok(invoker))
        })
        .await
        .expect("refers"),
    );
    let policies: [(&str, Arc<dyn LoadBalance>); 2] = [
        ("random", Arc::new(Random::new())),
        ("roundrobin", Arc::new(RoundRobin::new(Clock::system()))),
    ];
    for (name, policy) in policies {
        let call = invocation();
        let listing = fewest(|| {
            let candidates = directory.list(&call).expect("16");
            policy.select(&candidates, &call).expect("one");
        });
        assert_eq!(listing, 0, "{name}: list and select");

        let method = MethodConfig {
            timeout: None,
            retries: 2,
            sticky: true,
            load_balance: policy,
        };
        let config =
            ClusterConfig::new(ServiceKey::new("a.B"), &descriptor, method, &HashMap::new());
        let cluster = Failover.join(Arc::clone(&directory), Arc::new(config));
        let mut least = usize::MAX;
        for _ in 0..ROUNDS {
            let call = invocation();
            let region = Region::new(COUNTING);
            let reply = cluster.invoke(call).await;
            least = least.min(region.change().allocations);
            reply.expect("answers");
        }
        assert_eq!(
            least, 2,
            "{name}: the futures of the cluster and of the node"
        );
    }
}

/// The fewest allocations of some rounds of `work`: the test's own threads may add to the others.
fn fewest(mut work: impl FnMut()) -> usize {
    let mut least = usize::MAX;
    for _ in 0..ROUNDS {
        let region = Region::new(COUNTING);
        work();
        least = least.min(region.change().allocations);
    }
    least
}

const ROUNDS: usize = 20;
