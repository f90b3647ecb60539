//! The live keys of references.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dubbo::Status;
use examples::greet::GreeterClient;
use tokio::time::Instant;

use super::rig::{
    File, Traffic, answering, becomes, greet, named, provide, remaining, replace, says, url_of,
};

#[tokio::test]
async fn the_nearest_timeout_counts_whichever_comes_and_goes() {
    let provider = provide(answering(|request| Ok(remaining(request)))).await;
    let url = url_of(&provider);
    let yaml = |consumer: &str, reference: &str| {
        format!(
            "dubbo: {{consumer: {{{consumer} references: {{GreeterClient: {{url: '{url}', {reference}}}}}}}}}"
        )
    };
    let file = File::new(&yaml("request-timeout: 60s,", ""));
    let instance = file.build();
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    assert_eq!(greet(&greeter).await.expect("answers"), "60");
    let traffic = Traffic::start(&greeter);
    for (consumer, reference, want) in [
        ("request-timeout: 50s,", "", "50"),
        ("request-timeout: 50s,", "timeout: 40s", "40"),
        (
            "request-timeout: 50s,",
            "timeout: 40s, methods: [{name: Greet, timeout: 30s}]",
            "30",
        ),
        ("", "timeout: 40s", "40"),
        ("", "timeout: 0", "for ever"),
        ("", "", "3"),
        ("request-timeout: 60s,", "", "60"),
    ] {
        file.write(&yaml(consumer, reference));
        says(&greeter, want).await;
    }
    traffic.was_all_well().await;
}

#[tokio::test]
async fn a_timeout_that_was_set_from_the_beginning_can_go() {
    let provider = provide(answering(|request| Ok(remaining(request)))).await;
    let url = url_of(&provider);
    let yaml = |options: &str| {
        format!(
            "dubbo: {{consumer: {{references: {{GreeterClient: {{url: '{url}', {options}}}}}}}}}"
        )
    };
    let file = File::new(&yaml("timeout: 40s"));
    let instance = file.build();
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    assert_eq!(greet(&greeter).await.expect("answers"), "40");
    file.write(&yaml(""));
    says(&greeter, "3").await;
    let later: GreeterClient = instance.refer().await.expect("refers");
    assert_eq!(
        greet(&later).await.expect("answers"),
        "3",
        "made from then on"
    );
}

#[tokio::test]
async fn how_often_a_call_is_tried_changes_with_retries_cluster_parameters_and_policies() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&attempts);
    let service = answering(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Err(Status::unavailable("never up"))
    });
    let provider = provide(service).await;
    let url = url_of(&provider);
    let yaml = |sections: &str, options: &str| {
        format!(
            "dubbo: {{{sections} consumer: {{references: {{GreeterClient: {{url: '{url}', {options}}}}}}}}}"
        )
    };
    let file = File::new(&yaml("", ""));
    let instance = file.build();
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    let tries = || async {
        attempts.store(0, Ordering::Relaxed);
        greet(&greeter).await.expect_err("never up");
        attempts.load(Ordering::Relaxed)
    };
    assert_eq!(tries().await, 3);
    let policy =
        "retry: {policies: {all: {max-attempts: 4, idempotency: assume, backoff: {kind: none}}}},";
    for (sections, options, want) in [
        ("", "retries: 1", 2),
        ("", "retries: 1, methods: [{name: Greet, retries: 4}]", 5),
        ("", "cluster: failfast", 1),
        ("", "params: {methods.Greet.retries: '0'}", 1),
        (policy, "", 4),
        ("", "", 3),
    ] {
        file.write(&yaml(sections, options));
        becomes(options, || async { tries().await == want }).await;
    }
}

#[tokio::test]
async fn who_is_called_changes_with_load_balance_stickiness_tags_and_rules() {
    let (plain, gray) = (provide(named("plain")).await, provide(named("gray")).await);
    let other = provide(named("other")).await;
    let urls = format!(
        "{}/?application=users&region=sh;{}/?application=users&dubbo.tag=gray&region=hz;{}/?application=users&region=bj",
        url_of(&plain),
        url_of(&gray),
        url_of(&other),
    );
    let yaml = |sections: &str, options: &str| {
        format!(
            "dubbo: {{application: {{name: shop}}, {sections} consumer: {{references: {{GreeterClient: {{url: '{urls}', {options}}}}}}}}}"
        )
    };
    let file = File::new(&yaml("", "loadbalance: roundrobin"));
    let rules = file.folder.path("rules");
    std::fs::create_dir(&rules).expect("room");
    let rule = "configVersion: v3.0\nenabled: true\nconditions: ['method=Greet => region=hz']";
    replace(&rules.join("greet.Greeter::.condition-router.yaml"), rule);
    let instance = file.build();
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    let seen = || async {
        let mut seen = Vec::new();
        for _ in 0..6 {
            seen.push(greet(&greeter).await.expect("answers"));
        }
        seen
    };
    let who = || async {
        let names: BTreeSet<String> = seen().await.into_iter().collect();
        names.into_iter().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(who().await, "other plain");
    let traffic = Traffic::start(&greeter);
    let router = "router: [{scope: service, key: greet.Greeter, conditions: ['method=Greet => region=bj']}],";
    let folder = format!("rules: {{path: '{}'}},", rules.display());
    for (sections, options, want) in [
        ("", "loadbalance: roundrobin, tag: gray", "gray"),
        ("", "loadbalance: roundrobin, tag: red", "other plain"),
        (router, "loadbalance: roundrobin", "other"),
        ("", "loadbalance: roundrobin", "other plain"),
        (&folder, "loadbalance: roundrobin, tag: gray", "gray"),
    ] {
        file.write(&yaml(sections, options));
        becomes(want, || async { who().await == want }).await;
    }
    traffic.was_all_well().await;
}

#[tokio::test]
async fn the_next_provider_is_chosen_as_the_file_says_now() {
    let (one, two) = (provide(named("one")).await, provide(named("two")).await);
    let urls = format!("{};{}", url_of(&one), url_of(&two));
    let yaml = |options: &str| {
        format!(
            "dubbo: {{consumer: {{references: {{GreeterClient: {{url: '{urls}', {options}}}}}}}}}"
        )
    };
    let file = File::new(&yaml("loadbalance: roundrobin, sticky: true"));
    let instance = file.build();
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    let changes = || async {
        let mut seen = Vec::new();
        for _ in 0..16 {
            seen.push(greet(&greeter).await.expect("answers"));
        }
        seen.windows(2).filter(|pair| pair[0] != pair[1]).count()
    };
    assert_eq!(changes().await, 0);
    file.write(&yaml("loadbalance: roundrobin"));
    becomes("one after the other", || async { changes().await == 15 }).await;
    file.write(&yaml("loadbalance: random"));
    becomes("by chance", || async { (1..15).contains(&changes().await) }).await;
    file.write(&yaml(
        "loadbalance: random, methods: [{name: Greet, loadbalance: roundrobin}]",
    ));
    becomes("one after the other again", || async {
        changes().await == 15
    })
    .await;
}

#[tokio::test]
async fn whether_a_reference_has_to_have_a_provider_is_read_when_it_is_made() {
    let yaml = |consumer: &str, options: &str| {
        format!(
            "dubbo: {{registries: {{m: {{protocol: memory, timeout: 1s}}}}, consumer: {{{consumer} references: \
             {{GreeterClient: {{{options}}}}}}}}}"
        )
    };
    let file = File::new(&yaml("max-wait-time-for-service-discovery: 100ms,", ""));
    let instance = file.build();
    // Whoever is referred to has the file be looked at.
    instance
        .refer::<GreeterClient>()
        .await
        .expect_err("nobody provides it");
    file.write(&yaml("check: false,", ""));
    becomes("no provider is needed", || async {
        instance.refer::<GreeterClient>().await.is_ok()
    })
    .await;
    file.write(&yaml(
        "check: false, max-wait-time-for-service-discovery: 200ms,",
        "check: true",
    ));
    becomes("one is needed, and not waited for", || async {
        let begun = Instant::now();
        let made = instance.refer::<GreeterClient>().await;
        made.is_err() && begun.elapsed() < Duration::from_secs(1)
    })
    .await;
}
