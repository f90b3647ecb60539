//! What belongs to one client, to one service, and to one instance.

use std::sync::Arc;

use dubbo::{
    config::{ReferenceConfig, ServiceConfig},
    spi::registry::Registry,
};
use dubbo_registry::memory::MemoryRegistry;
use examples::greet::GreeterClient;

use super::rig::{greet, load, named, provide, url_of};

#[tokio::test]
async fn config_a20_what_one_reference_is_told_stays_with_it() {
    let provider = provide("", named("direct")).await;
    let consumer = load("dubbo: {consumer: {check: false}}")
        .build()
        .expect("valid");
    let options = ReferenceConfig::new().url([url_of(&provider)]).retries(0);
    let first: GreeterClient = consumer.refer_with(options).await.expect("refers");
    assert_eq!(greet(&first).await.expect("answers"), "direct");
    let error = consumer
        .refer::<GreeterClient>()
        .await
        .expect_err("it has no address");
    assert!(error.to_string().contains("url"), "{error}");
}

#[tokio::test]
async fn config_a20_two_versions_of_one_handler_are_both_reachable() {
    let yaml = "dubbo: {protocols: {tri: {ip: 127.0.0.1, port: 0}}}";
    let service = |version: &str| ServiceConfig::new().version(version);
    let provider = load(yaml)
        .provide_with(named("the first"), service("1"))
        .provide_with(named("the second"), service("2"))
        .build()
        .expect("they are two");
    provider.start().await.expect("starts");
    let exported = provider.exported();
    assert_eq!(exported.len(), 2);
    let url = format!("tri://{}", exported[0].address());
    let consumer = load("dubbo: {}").build().expect("valid");
    for (version, want) in [("1", "the first"), ("2", "the second")] {
        let options = ReferenceConfig::new().url([&url]).version(version);
        let greeter: GreeterClient = consumer.refer_with(options).await.expect("refers");
        assert_eq!(greet(&greeter).await.expect("answers"), want);
    }
}

#[tokio::test]
async fn config_a20_the_defaults_of_a_provider_are_in_the_urls_of_its_services() {
    let registry = MemoryRegistry::new("memory://shared".parse().expect("a URL"));
    let plugin = registry.clone();
    let yaml = "dubbo: {registries: {r: {protocol: shared, address: 'h:1', registry-type: interface}}, \
                protocols: {tri: {ip: 127.0.0.1, port: 0}}, provider: {loadbalance: roundrobin}}";
    let provider = load(yaml)
        .extension::<dyn Registry>("shared", move |_| Ok(Arc::new(plugin.clone())))
        .provide(named("x"))
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    assert_eq!(
        provider.exported()[0].param("loadbalance"),
        Some("roundrobin")
    );
    let consumer = "consumer://127.0.0.1/greet.Greeter".parse().expect("a URL");
    let found = registry.lookup(&consumer).await.expect("is open");
    assert_eq!(found.providers[0].param("loadbalance"), Some("roundrobin"));
}
