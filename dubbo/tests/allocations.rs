//! What a call costs on the heap, from the client to the handler and back.
//!
//! One test alone, because the counter sees every thread of the process.

use std::sync::Arc;

use dubbo::{Filter, Instance, InstanceBuilder, Invocation, Next, RpcResult, config::LoadOptions};
use dubbo_test::alloc::{COUNTING, Cost, Counting, per_call};
use examples::{
    Polite,
    greet::{GreetRequest, GreeterClient, GreeterServer},
};
use tokio::runtime;

#[global_allocator]
static ALLOCATOR: &Counting = COUNTING;

/// Does nothing, in the usual way.
struct Pass;

#[async_trait::async_trait]
impl Filter for Pass {
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        next.run(invocation).await
    }
}

fn load(yaml: &str) -> InstanceBuilder {
    Instance::load_with(&LoadOptions::text("dubbo.yaml", yaml))
        .expect("it is YAML")
        .extension::<dyn Filter>("pass", |_| Ok(Arc::new(Pass)))
}

/// The cost of a call one after the other, and the instances that it goes through.
async fn cost(provider: &str, consumer: impl Fn(&str) -> String) -> Cost {
    let provider = load(provider)
        .provide(GreeterServer::new(Polite))
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let address = provider.exported()[0].address();
    let yaml = consumer(&address);
    let consumer = if yaml.is_empty() {
        provider.clone()
    } else {
        load(&yaml).build().expect("valid")
    };
    let greeter: GreeterClient = consumer.refer().await.expect("refers");
    per_call(WARM_UP, CALLS, async || {
        let request = GreetRequest {
            name: "Dubbo".to_owned(),
        };
        let response = greeter.greet(request).await.expect("answers");
        assert_eq!(response.message().greeting, "Hello, Dubbo!");
    })
    .await
}

async fn over_h2(filters: &str) -> Cost {
    let provider = format!(
        "dubbo: {{protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, provider: {{filter: [{filters}]}}}}"
    );
    cost(&provider, |address| {
        format!(
            "dubbo: {{consumer: {{filter: [{filters}], references: {{greet.Greeter: {{url: {address}}}}}}}}}"
        )
    })
    .await
}

async fn within_the_process() -> Cost {
    let yaml = "dubbo: {protocols: {tri: {name: injvm}}, consumer: {protocol: injvm}}";
    cost(yaml, |_| String::new()).await
}

#[test]
fn a_call_stays_within_its_budget() {
    let eight = ["pass"; 8].join(", ");
    let single = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let multi = runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    for (name, runtime) in [("one thread", single), ("several threads", multi)] {
        let bare = runtime.block_on(over_h2(""));
        let unfiltered = runtime.block_on(over_h2("-default"));
        let filtered = runtime.block_on(over_h2(&eight));
        let within = runtime.block_on(within_the_process());
        println!(
            "{name}: h2 {bare:?}, with 8 + 8 filters {filtered:?}, within the process {within:?}"
        );
        assert!(filtered.allocations <= 72, "{name}: {filtered:?}");
        assert!(filtered.bytes <= 24 << 10, "{name}: {filtered:?}");
        // Both figures are averages rounded up, and several threads wake each other now and then.
        assert!(
            filtered.allocations - bare.allocations <= 16 + 2,
            "a filter is one future: {bare:?}, {filtered:?}"
        );
        // What stands in every chain costs nothing, but for the name of an HTTP header that `context` takes out.
        assert!(
            bare.allocations <= unfiltered.allocations + 2,
            "{name}: {bare:?}, without what is built in {unfiltered:?}"
        );
        assert!(within.allocations <= 16, "{name}: {within:?}");
    }
}

const WARM_UP: usize = 200;
const CALLS: usize = 500;
