use std::{sync::Arc, time::Duration};

use dubbo::{
    Instance, InstanceBuilder, Selection, Url,
    config::ServiceConfig,
    migration::Path,
    spi::{discovery::ServiceDiscovery, metadata::MetadataReport, registry::Registry},
};
use dubbo_registry::memory::MemoryRegistry;
use dubbo_test::soon;
use examples::greet::GreeterClient;
use tokio::time::Instant;

use super::{
    probe::{Behaviour, Probe},
    rig::{consume, desk, greet, load, named, url_of},
    support::{HASTY, QOS, TRIPLE, got, port, registered},
};

/// A registry that instances share, for interfaces and applications.
fn sharing(registry: &MemoryRegistry, sections: &str) -> InstanceBuilder {
    let (one, two, three) = (registry.clone(), registry.clone(), registry.clone());
    let registries = "registries: {r: {address: 'shared://here', registry-type: all}}";
    load(&format!("dubbo: {{{registries}, {sections}}}"))
        .extension::<dyn Registry>("shared", move |_| Ok(Arc::new(one.clone())))
        .extension::<dyn ServiceDiscovery>("shared", move |_| Ok(two.discovery()))
        .extension::<dyn MetadataReport>("shared", move |_| Ok(three.report()))
}

/// How many stand there by their interfaces, and how many instances of `shop`.
async fn there(registry: &MemoryRegistry) -> (usize, usize) {
    let everyone = "consumer://h/*?group=*&version=*".parse().expect("a URL");
    let interfaces = registry.lookup(&everyone).await.expect("is open");
    let instances = registry
        .discovery()
        .snapshot("shop")
        .await
        .expect("is open");
    (interfaces.providers.len(), instances.len())
}

fn ways(moved: &[dubbo::Presence]) -> Vec<(String, Path, bool)> {
    let ways = moved
        .iter()
        .map(|one| (one.service.to_string(), one.path, one.online));
    ways.collect()
}

#[tokio::test]
async fn services_leave_registries_and_come_back_while_calls_go_on() {
    let registry = MemoryRegistry::new(Url::new("shared", "here"));
    let (service, mut calls) = desk();
    let provider = sharing(&registry, &format!("{TRIPLE}, {QOS}, {HASTY}"))
        .provide(service)
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let consumer = sharing(&registry, "consumer: {check: false, request-timeout: 1m}")
        .build()
        .expect("valid");
    let greeter: GreeterClient = consumer.refer().await.expect("refers");
    let caller = greeter.clone();
    let in_flight = tokio::spawn(async move { greet(&caller, "").await });
    let waiting = calls.next().await;
    let service = "greet.Greeter".to_owned();

    assert_eq!(there(&registry).await, (1, 1));
    let by = |path, online| vec![(service.clone(), path, online)];
    let apps = Selection::all().by(Path::Application);
    let moved = provider.offline(&apps).await.expect("moves");
    assert_eq!(ways(&moved), by(Path::Application, false));
    assert_eq!(there(&registry).await, (1, 0));
    assert_eq!(
        got(port(&provider), "/offlineInterface").await,
        (200, "OK".to_owned())
    );
    assert_eq!(there(&registry).await, (0, 0));
    let (_, listed) = got(port(&provider), "/ls").await;
    assert!(listed.contains("r-A(N)/r-I(N)"), "{listed}");
    soon("a consumer that knows", async {
        let knows_some = async || {
            let references = consumer.status().await.references;
            let mut sources = references.iter().flat_map(|reference| &reference.sources);
            sources.any(|source| !source.providers.is_empty())
        };
        while knows_some().await {
            tokio::task::yield_now().await;
        }
    })
    .await;
    greet(&greeter, "").await.expect_err("there is nobody");

    // Who knows the address is served, and so are the calls of before.
    let late = consume(&url_of(&provider), "timeout: 1m").await;
    let late = tokio::spawn(async move { greet(&late, "").await });
    calls.next().await.answer("late");
    assert_eq!(late.await.expect("no panic").expect("served"), "late");
    waiting.answer("before");
    assert_eq!(
        in_flight.await.expect("no panic").expect("served"),
        "before"
    );

    let all = provider.online(&Selection::all()).await.expect("moves");
    assert_eq!(all.len(), 2);
    assert!(
        all.iter().all(|one| one.online && one.registry == "r"),
        "{all:?}"
    );
    assert_eq!(there(&registry).await, (1, 1));
    let again = tokio::spawn(async move {
        loop {
            if let Ok(answer) = greet(&greeter, "").await {
                return answer;
            }
            tokio::task::yield_now().await;
        }
    });
    soon("a call", calls.next()).await.answer("again");
    assert_eq!(soon("an answer", again).await.expect("no panic"), "again");
    provider.shutdown(Duration::ZERO).await;
    assert_eq!(there(&registry).await, (0, 0));
}

#[tokio::test]
async fn one_of_two_services_leaves_the_application_and_the_other_stays() {
    let registry = MemoryRegistry::new(Url::new("shared", "here"));
    let provider = sharing(&registry, &format!("{TRIPLE}, {QOS}, {HASTY}"))
        .provide_with(named("a"), ServiceConfig::new().version("1"))
        .provide_with(named("b"), ServiceConfig::new().version("2"))
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let revision = async || {
        let instances = registry
            .discovery()
            .snapshot("shop")
            .await
            .expect("is open");
        let revision = instances
            .first()
            .and_then(|one| one.metadata.get("dubbo.metadata.revision"));
        revision.map(str::to_owned)
    };
    let before = revision().await.expect("registered");
    let one = Selection::all()
        .services("greet.Greeter:1")
        .expect("a pattern");
    provider.offline(&one).await.expect("moves");
    assert_eq!(there(&registry).await, (1, 1));
    let without = revision().await.expect("the other one is there");
    assert_ne!(without, before);
    // Again is no change.
    provider.offline(&one).await.expect("moves");
    assert_eq!(revision().await, Some(without));
    provider.online(&one).await.expect("moves");
    assert_eq!(revision().await, Some(before));
    assert_eq!(there(&registry).await, (2, 1));
    let nobody = Selection::all().at("elsewhere");
    assert_eq!(provider.offline(&nobody).await.expect("nothing to do"), []);
    provider.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_registry_that_refuses_is_told_of_and_what_it_refuses_stays_offline() {
    let probe = Probe::new();
    let provider = registered(&probe, &format!("{QOS}, {HASTY}"))
        .provide(named("x"))
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    provider.offline(&Selection::all()).await.expect("moves");
    probe.behave(|_, _| Behaviour::Refuse);
    let (status, why) = got(port(&provider), "/online").await;
    assert_eq!(status, 500);
    assert!(
        why.contains("probe://here") && why.contains("in a mood"),
        "{why}"
    );
    let (_, listed) = got(port(&provider), "/ls").await;
    assert!(listed.contains("r-I(N)"), "{listed}");
    probe.behave(|_, _| Behaviour::Work);
    assert_eq!(
        got(port(&provider), "/online").await,
        (200, "OK".to_owned())
    );
    assert_eq!(probe.providers().await.len(), 1);
    provider.shutdown(Duration::ZERO).await;
    let refused = provider
        .online(&Selection::all())
        .await
        .expect_err("it has ended");
    assert!(refused.to_string().contains("shut down"), "{refused}");
}

/// `cases.md` 120: who has heard of it late is served in the window that is left for that.
#[tokio::test]
async fn calls_that_come_late_after_going_offline_are_served_until_the_window_is_over() {
    let probe = Probe::new();
    let shutdown = "shutdown: {consumer-update-wait-time: 300ms, step-timeout: 2s, offline-request-window-timeout: 10ms}";
    let provider = registered(&probe, &format!("{QOS}, {shutdown}"))
        .provide(named("x"))
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let late = consume(&url_of(&provider), "retries: 0").await;
    provider.offline(&Selection::all()).await.expect("moves");
    let began = Instant::now();
    let ending = tokio::spawn({
        let provider: Instance = provider.clone();
        async move { provider.shutdown(Duration::from_secs(10)).await }
    });
    for _ in 0..20 {
        assert_eq!(greet(&late, "").await.expect("served"), "x");
    }
    soon("the end", ending).await.expect("no panic");
    assert!(
        began.elapsed() >= Duration::from_millis(300),
        "consumers had their time"
    );
}
