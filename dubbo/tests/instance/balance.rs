//! Which provider takes a call.

use std::{collections::BTreeMap, sync::Arc};

use dubbo::{
    Instance, Invocation,
    config::ServiceConfig,
    spi::{
        cluster::{Candidates, LoadBalance},
        registry::Registry,
    },
};
use examples::greet::GreeterClient;

use super::{
    probe::Probe,
    rig::{consume, greet, load, named, provide, reference, url_of},
};

const NAMES: [&str; 3] = ["a", "b", "c"];

/// Three providers, and their URLs as one text.
async fn three() -> (Vec<Instance>, String) {
    let mut providers = Vec::new();
    for name in NAMES {
        providers.push(provide("", named(name)).await);
    }
    let urls: Vec<_> = providers.iter().map(url_of).collect();
    (providers, urls.join(";"))
}

/// Who answers so many calls, in order.
async fn answers(greeter: &GreeterClient, calls: usize) -> Vec<String> {
    let mut names = Vec::new();
    for _ in 0..calls {
        names.push(greet(greeter, "").await.expect("answers"));
    }
    names
}

/// How many calls each of them answered.
fn shares(names: &[String]) -> BTreeMap<&str, usize> {
    let mut shares = BTreeMap::new();
    for name in names {
        *shares.entry(name.as_str()).or_default() += 1;
    }
    shares
}

#[tokio::test]
async fn the_load_balance_that_is_named_decides() {
    let (_providers, urls) = three().await;
    let turns = consume(&urls, "loadbalance: RoundRobin").await;
    let names = answers(&turns, 30).await;
    assert_eq!(shares(&names), BTreeMap::from(NAMES.map(|name| (name, 10))));
    assert!(
        names.chunks(3).all(|turn| turn == &names[..3]),
        "always the same turn: {names:?}"
    );

    for options in ["", "loadbalance: random"] {
        let random = consume(&urls, options).await;
        let names = answers(&random, 300).await;
        let shares = shares(&names);
        // One in three, with room for the unluckiest of a billion runs.
        assert!(
            NAMES.iter().all(|name| (40..160).contains(&shares[name])),
            "{options}: {shares:?}"
        );
        assert!(names.chunks(3).any(|turn| turn != &names[..3]), "no turns");
    }
}

#[tokio::test]
async fn a_method_may_have_another_load_balance_and_a_program_its_own() {
    struct Last;
    impl LoadBalance for Last {
        fn select(&self, candidates: &Candidates, _: &Invocation) -> Option<usize> {
            candidates.len().checked_sub(1)
        }
    }
    let (_providers, urls) = three().await;
    for (options, want) in [
        ("loadbalance: last", "ccc"),
        (
            "loadbalance: roundrobin, methods: [{name: Greet, loadbalance: last}]",
            "ccc",
        ),
        (
            "loadbalance: last, methods: [{name: Greet, loadbalance: roundrobin}]",
            "abc",
        ),
    ] {
        let instance = load(&reference(&urls, options))
            .extension::<dyn LoadBalance>("last", |_| Ok(Arc::new(Last)))
            .build()
            .expect("valid");
        let greeter: GreeterClient = instance.refer().await.expect("refers");
        let mut names = answers(&greeter, 3).await;
        names.sort();
        assert_eq!(names.concat(), want, "{options}");
    }
}

#[tokio::test]
async fn sticky_calls_stay_with_their_provider_until_it_is_gone() {
    let (providers, urls) = three().await;
    for options in [
        "loadbalance: roundrobin, sticky: true",
        "loadbalance: roundrobin, methods: [{name: Greet, sticky: true}]",
    ] {
        let consumer = consume(&urls, options).await;
        let names = answers(&consumer, 9).await;
        assert_eq!(shares(&names).len(), 1, "{options}: {names:?}");
    }
    let options = "loadbalance: roundrobin, sticky: true, methods: [{name: Greet, sticky: false}]";
    let consumer = consume(&urls, options).await;
    assert_eq!(shares(&answers(&consumer, 9).await).len(), 3, "{options}");

    let consumer = consume(&urls, "loadbalance: roundrobin, sticky: true").await;
    let first = answers(&consumer, 1).await.remove(0);
    let at = NAMES
        .iter()
        .position(|name| *name == first)
        .expect("one of them");
    providers[at].shutdown(std::time::Duration::ZERO).await;
    let others = answers(&consumer, 6).await;
    assert!(
        !others.contains(&first) && shares(&others).len() == 1,
        "{first}, then {others:?}"
    );
}

#[tokio::test]
async fn a_provider_takes_the_share_that_its_weight_and_its_warm_up_say() {
    for (first, second, want) in [
        (r"weight: 1, warmup: 0", r"weight: 3, warmup: 0", [5, 15]),
        (r"warmup: 0", r"weight: 300, warmup: 0s", [5, 15]),
        (
            r"weight: 9, warmup: 0",
            r"weight: 100, warmup: 10h",
            [18, 2],
        ),
    ] {
        let probe = Probe::new();
        let mut providers = Vec::new();
        for (name, options) in [("a", first), ("b", second)] {
            let yaml = format!(
                "dubbo: {{registries: {{r: {{protocol: probe, address: h}}}}, \
                 protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, \
                 provider: {{services: {{greet.Greeter: {{{options}}}}}}}}}"
            );
            let instance = load(&yaml)
                .extension::<dyn Registry>("probe", probe.plugin())
                .provide_with(named(name), ServiceConfig::new())
                .build()
                .expect("valid");
            instance.start().await.expect("starts");
            providers.push(instance);
        }
        let yaml = "dubbo: {registries: {r: {protocol: probe, address: h}}, \
                    consumer: {references: {greet.Greeter: {loadbalance: roundrobin}}}}";
        let consumer = load(yaml)
            .extension::<dyn Registry>("probe", probe.plugin())
            .build()
            .expect("valid");
        let greeter: GreeterClient = consumer.refer().await.expect("refers");
        let names = answers(&greeter, 20).await;
        let [a, b] = ["a", "b"].map(|name| shares(&names).get(name).copied().unwrap_or_default());
        assert_eq!([a, b], want, "{first} and {second}");
    }
}
