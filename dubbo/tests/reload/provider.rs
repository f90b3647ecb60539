//! The live keys of services, and of the end.

use std::{fs, sync::Arc, time::Duration};

use dubbo::{
    Code, Instance, Url,
    config::{Environment, LoadOptions},
    spi::registry::Registry,
};
use dubbo_registry::memory::MemoryRegistry;
use examples::greet::GreeterClient;
use tokio::time::Instant;

use super::rig::{File, Traffic, becomes, greet, named, url_of};

/// A provider of this file in a registry that the test knows, and its consumer.
struct Served {
    registry: MemoryRegistry,
    provider: Instance,
    greeter: GreeterClient,
}

impl Served {
    async fn start(file: &File) -> Self {
        let registry = MemoryRegistry::new(Url::new("shared", "here"));
        let shared = registry.clone();
        let provider = file
            .load()
            .extension::<dyn Registry>("shared", move |_| Ok(Arc::new(shared.clone())))
            .provide(named("served"))
            .build()
            .expect("valid");
        provider.start().await.expect("starts");
        let url = url_of(&provider);
        let yaml = format!(
            "dubbo: {{consumer: {{references: {{GreeterClient: {{url: '{url}', retries: 0}}}}}}}}"
        );
        let options = LoadOptions::text("consumer.yaml", yaml).environment(Environment::default());
        let consumer = Instance::load_with(&options).expect("it is YAML");
        let consumer = consumer.build().expect("valid");
        let greeter = consumer.refer().await.expect("refers");
        Self {
            registry,
            provider,
            greeter,
        }
    }

    async fn registered(&self) -> Vec<Url> {
        let everyone = "consumer://h/*?group=*&version=*".parse().expect("a URL");
        let found = self.registry.lookup(&everyone).await.expect("it is there");
        found.providers.to_vec()
    }
}

fn yaml(sections: &str) -> String {
    format!(
        "dubbo: {{protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, registries: {{r: {{address: 'shared://here', \
         registry-type: interface}}}}, {sections}}}"
    )
}

#[tokio::test]
async fn consumers_are_told_of_what_changes_without_a_gap_and_without_a_failed_call() {
    let file = File::new(&yaml("provider: {weight: 7}"));
    let served = Served::start(&file).await;
    let first = served.registered().await;
    assert_eq!(first[0].param("weight"), Some("7"));
    let traffic = Traffic::start(&served.greeter);
    for (sections, key, want) in [
        ("provider: {weight: 9}", "weight", Some("9")),
        (
            "provider: {weight: 9, services: {greet.Greeter: {weight: 8}}}",
            "weight",
            Some("8"),
        ),
        ("provider: {warmup: 30}", "warmup", Some("30000")),
        ("provider: {warmup: 30}", "weight", None),
        (
            "provider: {loadbalance: roundrobin}",
            "loadbalance",
            Some("roundrobin"),
        ),
        ("provider: {cluster: failfast}", "cluster", Some("failfast")),
        ("provider: {retries: 5}", "retries", Some("5")),
        ("provider: {tag: gray}", "dubbo.tag", Some("gray")),
        ("provider: {params: {zone: east}}", "zone", Some("east")),
        (
            "provider: {methods: [{name: Greet, timeout: 2s}]}",
            "methods.Greet.timeout",
            Some("2000"),
        ),
        ("provider: {weight: 7}", "methods.Greet.timeout", None),
    ] {
        file.write(&yaml(sections));
        becomes(sections, || async {
            let now = served.registered().await;
            assert!(!now.is_empty(), "there is no gap");
            now.len() == 1 && now[0].param(key) == want
        })
        .await;
    }
    assert_eq!(
        served.registered().await,
        first,
        "as it was, with the same timestamp"
    );
    traffic.was_all_well().await;
    served.provider.shutdown(Duration::ZERO).await;
    assert!(served.registered().await.is_empty());
}

#[tokio::test]
async fn limits_and_the_access_log_change_on_the_same_port_and_connection() {
    let file = File::new(&yaml(""));
    let served = Served::start(&file).await;
    let address = url_of(&served.provider);
    let log = file.folder.path("access.log");
    greet(&served.greeter).await.expect("is served");
    let refused = || async {
        let answer = greet(&served.greeter).await;
        answer.is_err_and(|status| status.code() == Code::ResourceExhausted)
    };
    let accepted = || async { greet(&served.greeter).await.is_ok() };
    let tps = "provider: {tps.limiter: default, tps.limit.rate: 1, tps.limit.interval: 600000}";
    let of_method = "provider: {tps.limiter: default, tps.limit.rate: 1000, tps.limit.interval: 600000, \
                     methods: [{name: Greet, tps.limit.rate: 1}]}";
    for limit in [tps, "provider: {execute.limit: 0}", of_method] {
        file.write(&yaml(limit));
        becomes(limit, refused).await;
        file.write(&yaml(""));
        becomes("no limit", accepted).await;
    }
    let logged = format!(
        "provider: {{accesslog: '{}', params: {{accesslog.allow-file: 'true'}}}}",
        log.display()
    );
    file.write(&yaml(&logged));
    becomes("the access log", || async {
        greet(&served.greeter).await.expect("is served");
        fs::read_to_string(&log).is_ok_and(|text| text.contains("greet.Greeter"))
    })
    .await;
    assert_eq!(url_of(&served.provider), address);
}

#[tokio::test]
async fn the_end_goes_by_what_the_file_says_then() {
    let shutdown = |duration: &str| {
        yaml(&format!(
            "shutdown: {{consumer-update-wait-time: {duration}, step-timeout: {duration}, \
             offline-request-window-timeout: {duration}, notify-timeout: {duration}}}, provider: {{weight: {}}}",
            duration.len()
        ))
    };
    let file = File::new(&shutdown("10m"));
    let served = Served::start(&file).await;
    greet(&served.greeter).await.expect("is served");
    file.write(&shutdown("10ms"));
    becomes("it is in force", || async {
        served.registered().await[0].param("weight") == Some("4")
    })
    .await;
    let begun = Instant::now();
    served.provider.shutdown(Duration::from_mins(10)).await;
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn what_code_sets_no_file_changes() {
    let file = File::new(&yaml("provider: {weight: 7}"));
    let registry = MemoryRegistry::new(Url::new("shared", "here"));
    let shared = registry.clone();
    let provider = file
        .load()
        .extension::<dyn Registry>("shared", move |_| Ok(Arc::new(shared.clone())))
        .provide_with(
            named("served"),
            dubbo::config::ServiceConfig::new().weight(5),
        )
        .build()
        .expect("valid");
    let (logs, _logging) = dubbo_test::logs::Logs::record();
    provider.start().await.expect("starts");
    file.write(&yaml("provider: {weight: 9, tag: gray}"));
    let everyone: Url = "consumer://h/*?group=*&version=*".parse().expect("a URL");
    becomes("the rest is changed", || async {
        let found = registry.lookup(&everyone).await.expect("it is there");
        found.providers.len() == 1 && found.providers[0].param("dubbo.tag") == Some("gray")
    })
    .await;
    let found = registry.lookup(&everyone).await.expect("it is there");
    assert_eq!(found.providers[0].param("weight"), Some("5"));
    assert!(!logs.with("dubbo.provider.tag").is_empty());
}
