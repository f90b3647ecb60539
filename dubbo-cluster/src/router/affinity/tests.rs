//! Who is near.

use super::super::tests::{Rig, call};

const SERVICE: &str = "a.B::.affinity-router";

#[test]
fn cluster_t32_those_who_are_near_are_kept_if_they_are_enough() {
    let near = |count: usize| -> Vec<&str> {
        (0..10)
            .map(|at| if at < count { "region=hz" } else { "region=sh" })
            .collect()
    };
    for (consumer, count, rule, want) in [
        ("region=hz", 3, "affinityAware: {key: region, ratio: 30}", 3),
        (
            "region=hz",
            3,
            "affinityAware: {key: region, ratio: 31}",
            10,
        ),
        ("region=hz", 0, "affinityAware: {key: region, ratio: 0}", 10),
        ("region=hz", 1, "affinityAware: {key: region}", 1),
        (
            "region=hz",
            1,
            "affinityAware: {key: region, ratio: -1}",
            10,
        ),
        (
            "region=hz",
            10,
            "affinityAware: {key: region, ratio: 101}",
            10,
        ),
        (
            "region=hz",
            9,
            "affinityAware: {key: region, ratio: 100}",
            10,
        ),
        ("", 3, "affinityAware: {key: region, ratio: 0}", 10),
        (
            "region=hz",
            3,
            "enabled: false\naffinityAware: {key: region, ratio: 0}",
            10,
        ),
    ] {
        let rule = format!("configVersion: v3.1\nscope: service\nkey: a.B\n{rule}");
        let rig = Rig::of(consumer).say(SERVICE, &rule);
        let left = rig.route("affinity", &near(count), &call(&[]));
        assert_eq!(left.len(), want, "{consumer} {count} {rule}");
    }
}

#[test]
fn service_providers_and_consumer_have_rules_of_their_own() {
    let nodes = ["a=1&b=1&c=1", "a=1&b=1&c=0", "a=1&b=0&c=1", "a=0&b=1&c=1"];
    let rule = |key| format!("affinityAware: {{key: {key}, ratio: 1}}");
    let mut rig = Rig::of("a=1&b=1&c=1");
    for (key, parameter, want) in [
        (SERVICE, "a", &[1, 2, 3][..]),
        ("users.affinity-router", "b", &[1, 2]),
        ("shop.affinity-router", "c", &[1]),
    ] {
        rig = rig.say(key, &rule(parameter));
        assert_eq!(rig.route("affinity", &nodes, &call(&[])), want, "{key}");
    }
    for key in [SERVICE, "users.affinity-router", "shop.affinity-router"] {
        rig.book.put(key, None);
    }
    assert!(rig.router("affinity").is_idle());
}

#[test]
fn what_decided_is_told() {
    let rig = Rig::of("region=hz").say(SERVICE, "affinityAware: {key: region, ratio: 50}");
    let told = rig.explain("affinity", &["region=hz", "region=sh"], &call(&[]));
    let want = format!("{SERVICE} (code): 1 of 2 have `region=hz`, and 50 % are enough -> 1");
    assert_eq!(told, Some(want));
    let error = super::Rule::parse("k", "affinityAware: {ratio: 1}").expect_err("no key");
    assert_eq!(
        error.to_string(),
        "k:1:1: affinityAware.key: needs the parameter that is compared"
    );
}
