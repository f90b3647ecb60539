//! What providers say of their weight, from the registry to those who choose.

use std::sync::Arc;

use async_trait::async_trait;
use dubbo_cluster::{directory::DynamicDirectory, router::RouterChain};
use dubbo_core::{
    cluster::Directory as _,
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    registry::Registry as _,
    status::Status,
    url::Url,
};
use dubbo_registry::memory::MemoryRegistry;
use dubbo_test::soon;

/// T21: dubbo-go writes `weight=0` when nobody has set one, Java writes nothing; both are to get calls.
#[tokio::test]
async fn registry_t21_a_weight_that_nobody_set_is_100() {
    let registry = MemoryRegistry::new(Url::new("memory", "weights"));
    for (port, weight) in [(1, "&weight=0"), (2, ""), (3, "&weight=7")] {
        let text = format!("tri://h:{port}/a.B?interface=a.B{weight}");
        let provider: Url = text.parse().expect("valid");
        registry.register(&provider).await.expect("registers");
    }
    let consumer: Url = "consumer://c/a.B".parse().expect("valid");
    let subscription = registry.subscribe(&consumer).await.expect("subscribes");
    let directory = DynamicDirectory::follow(
        consumer,
        registry.url(),
        subscription,
        RouterChain::default(),
        |url| std::future::ready(Ok(Arc::new(Provider(url)) as Arc<dyn Invoker>)),
    )
    .await;
    let weights = || {
        let nodes = directory.nodes();
        let of = |node: &dubbo_core::cluster::Node| (node.invoker.url().port(), node.weight.base);
        let mut weights: Vec<_> = nodes.iter().map(of).collect();
        weights.sort();
        weights
    };
    soon("three providers", async {
        while weights().len() < 3 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(weights(), [(Some(1), 100), (Some(2), 100), (Some(3), 7)]);
}

struct Provider(Url);

#[async_trait]
impl Invoker for Provider {
    fn url(&self) -> &Url {
        &self.0
    }

    async fn invoke(&self, _invocation: Invocation) -> RpcResult {
        Err(Status::unavailable("nobody calls it"))
    }
}
