//! Where calls with tags go.

use super::super::tests::{Rig, call, providers};

const KEY: &str = "users.tag-router";

/// Who has the tag `gray` by itself, nobody's, `gray` by its address, and `blue` by its environment.
const NODES: [&str; 4] = ["dubbo.tag=gray", "", "", "env=blue"];

const RULE: &str = "
configVersion: v3.0
force: false
enabled: true
runtime: true
priority: 1
key: users
tags:
  - {name: gray, addresses: ['10.0.0.1:3']}
  - name: blue
    match: [{key: env, value: {exact: blue}}]
";

#[test]
fn cluster_t31_tags_of_rules_and_of_providers_decide() {
    let forced = RULE.replace("force: false", "force: true");
    let without_third = ["dubbo.tag=gray", "", "application=other", "env=blue"];
    for (rule, nodes, attachments, want) in [
        (RULE, NODES, &[("dubbo.tag", "gray")][..], &[3][..]),
        (RULE, NODES, &[("dubbo.tag", "blue")], &[4]),
        (&forced, NODES, &[("dubbo.tag", "gray")], &[3]),
        // Somebody of another application has nothing to do with the rule.
        (RULE, without_third, &[("dubbo.tag", "gray")], &[2, 3]),
        (&forced, without_third, &[("dubbo.tag", "gray")], &[]),
        (RULE, NODES, &[], &[2]),
        (RULE, NODES, &[("dubbo.tag", "x")], &[2]),
        (&forced, NODES, &[("dubbo.tag", "x")], &[2]),
        (
            RULE,
            NODES,
            &[("dubbo.tag", "x"), ("dubbo.force.tag", "true")],
            &[],
        ),
        (RULE, NODES, &[("dubbo.tag", "gray|east")], &[3]),
        (
            RULE,
            NODES,
            &[("dubbo.tag", "gray|east"), ("dubbo.force.tag", "true")],
            &[],
        ),
    ] {
        let rig = Rig::of("").say(KEY, rule);
        assert_eq!(
            rig.route("tag", &nodes, &call(attachments)),
            want,
            "{attachments:?} {rule}"
        );
    }
}

#[test]
fn cluster_t31_one_address_may_be_written_as_many() {
    for address in [
        "10.0.*.*:3",
        "0.0.0.0:3",
        "10.0.0.1:3",
        "10.0.0.1-9:3",
        "10.0.0.0/24:3",
    ] {
        let rule = format!("tags: [{{name: gray, addresses: ['{address}']}}]");
        let rig = Rig::of("").say(KEY, &rule);
        let left = rig.route("tag", &["", "", "", ""], &call(&[("dubbo.tag", "gray")]));
        assert_eq!(left, [3], "{address}");
        let left = rig.route("tag", &["", "", "", ""], &call(&[]));
        assert_eq!(left, [1, 2, 4], "{address}");
    }
}

#[test]
fn without_a_rule_the_tags_of_providers_decide() {
    let nodes = ["dubbo.tag=gray", "", "dubbo.tag="];
    for (consumer, attachments, want) in [
        ("", &[][..], &[2, 3][..]),
        ("", &[("dubbo.tag", "gray")], &[1]),
        ("", &[("dubbo.tag", "")], &[2, 3]),
        ("", &[("dubbo.tag", "red")], &[2, 3]),
        ("", &[("dubbo.tag", "gray|x")], &[2, 3]),
        ("dubbo.tag=gray", &[], &[1]),
        ("dubbo.tag=gray", &[("dubbo.tag", "red")], &[2, 3]),
        ("dubbo.tag=red&dubbo.force.tag=true", &[], &[]),
        (
            "dubbo.tag=red&dubbo.force.tag=true",
            &[("dubbo.force.tag", "false")],
            &[2, 3],
        ),
        ("dubbo.force.tag=true", &[], &[2, 3]),
    ] {
        let rig = Rig::of(consumer);
        let left = rig.route("tag", &nodes, &call(attachments));
        assert_eq!(left, want, "{consumer} {attachments:?}");
        let switched_off = rig.say(KEY, &RULE.replace("enabled: true", "enabled: false"));
        let left = switched_off.route("tag", &nodes, &call(attachments));
        assert_eq!(left, want, "switched off, {consumer} {attachments:?}");
    }
}

#[test]
fn case_111_a_call_by_force_goes_to_nobody_rather_than_to_somebody_without_its_tag() {
    let rig = Rig::of("");
    let forced = call(&[("dubbo.tag", "none"), ("dubbo.force.tag", "true")]);
    let (chain, mut candidates) = (rig.chain(), providers(&["", ""]));
    chain.listed(candidates.list());
    let emptied = chain.route(&mut candidates, &rig.consumer, &forced);
    assert_eq!(
        emptied.expect_err("nobody").to_string(),
        "router `tag` left none of 2 for this call: the call has the tag `none`, by force -> 0"
    );
    assert_eq!(
        rig.route("tag", &["", ""], &call(&[("dubbo.tag", "none")])),
        [1, 2]
    );
}

#[test]
fn case_110_what_routers_keep_is_what_all_of_them_keep() {
    let rule = "force: true\nconditions: ['=> port=1,5']";
    let rig = Rig::of("").say("a.B::.condition-router", rule);
    let gray = "dubbo.tag=gray";
    let mut candidates = providers(&["", "", "", "", gray, gray, gray]);
    let chain = rig.chain();
    chain.listed(candidates.list());
    let call = call(&[("dubbo.tag", "gray")]);
    let routed = chain.route(&mut candidates, &rig.consumer, &call);
    assert_eq!(
        (routed, crate::testing::ports(&candidates)),
        (Ok(()), vec![5])
    );
}

#[test]
fn a_tag_with_levels_is_the_longest_beginning_that_a_rule_knows() {
    let rule = "tags:
  - {name: a, addresses: ['10.0.0.1:1']}
  - {name: 'a|b', addresses: ['10.0.0.1:2']}
  - {name: 'a|b|c', addresses: []}
";
    let rig = Rig::of("").say(KEY, rule);
    for (tag, want) in [
        ("a", &[1][..]),
        ("a|x", &[1]),
        ("a|b", &[2]),
        ("a|b|c", &[2]),
        ("a|b|c|d", &[2]),
        ("ab", &[3]),
    ] {
        let left = rig.route("tag", &["", "", ""], &call(&[("dubbo.tag", tag)]));
        assert_eq!(left, want, "{tag}");
    }
}

#[test]
fn who_matches_and_who_is_listed_have_the_tag_together() {
    let rule = "tags:
  - name: gray
    addresses: ['10.0.0.1:1', '10.0.0.1:1']
    match: [{key: env, value: {prefix: g}}, {key: zone, value: {noempty: true}}]
  - name: gray
    addresses: ['10.0.0.1:4']
";
    let rig = Rig::of("").say(KEY, rule);
    let nodes = ["", "env=gray&zone=x", "env=gray", "", ""];
    let left = rig.route("tag", &nodes, &call(&[("dubbo.tag", "gray")]));
    assert_eq!(left, [1, 2, 4]);
    assert_eq!(rig.route("tag", &nodes, &call(&[])), [3, 5]);
}

#[test]
fn a_rule_that_goes_leaves_the_tags_of_providers() {
    let rig = Rig::of("").say(KEY, RULE);
    let router = rig.router("tag");
    let list = providers(&NODES);
    router.listed(list.list());
    let gray = call(&[("dubbo.tag", "gray")]);
    for (rule, want) in [(Some(RULE), 3), (None, 1), (Some(RULE), 3)] {
        rig.book.put(KEY, rule);
        let mut candidates = list.clone();
        router.route(&mut candidates, &rig.consumer, &gray);
        assert_eq!(crate::testing::ports(&candidates), [want]);
    }
    rig.book
        .put(KEY, Some("tags: [{name: gray, addresses: ['h:x']}]"));
    let mut candidates = list.clone();
    router.route(&mut candidates, &rig.consumer, &gray);
    assert_eq!(
        crate::testing::ports(&candidates),
        [3],
        "the last good one stays"
    );
}

#[test]
fn what_decided_is_told() {
    let rig = Rig::of("").say(KEY, RULE);
    for (attachments, want) in [
        (
            &[][..],
            "the call has no tag and goes to those without one -> 1",
        ),
        (
            &[("dubbo.tag", "gray|x")],
            "the call has the tag `gray|x`; a rule says who has `gray` -> 1",
        ),
        (
            &[("dubbo.tag", "red")],
            "the call has the tag `red`, which nobody here has: it goes to those without one -> 1",
        ),
    ] {
        let told = rig.explain("tag", &NODES, &call(attachments));
        assert_eq!(told, Some(format!("{KEY} (code): {want}")));
    }
    let told = Rig::of("").explain("tag", &["", ""], &call(&[]));
    assert_eq!(told, None, "nobody has a tag");
}

#[test]
fn what_is_wrong_with_a_rule_is_told_with_its_places() {
    for (rule, want) in [
        (
            "tags: [{addresses: ['h:1']}]",
            "k:1:8: tags[0].name: a tag needs a name",
        ),
        (
            "tags:\n  - name: a\n    addresses: ['h:1', 'h:x']",
            "k:3:24: tags[0].addresses[1]: `h:x` ends in no port",
        ),
        (
            "tags: [{name: a, match: [{key: k}]}]",
            "k:1:26: tags[0].match[0].value.exact: needs one of",
        ),
        (
            "tags: [{name: a, match: [{value: {exact: a}}]}]",
            "tags[0].match[0].key: needs the key",
        ),
        ("tags: a", "k:1:7: tags: expected a list"),
    ] {
        let error = super::Rule::parse("k", rule).expect_err(rule).to_string();
        assert!(error.contains(want), "{rule}: {error}");
    }
}

#[test]
fn ten_thousand_providers_and_as_many_addresses_are_looked_up() {
    let addresses: Vec<_> = (1..=10_000)
        .map(|port| format!("'10.0.0.1:{port}'"))
        .collect();
    let rule = format!(
        "tags: [{{name: gray, addresses: [{}]}}]",
        addresses.join(",")
    );
    let rig = Rig::of("").say(KEY, &rule);
    let (list, router) = (providers(&vec![""; 10_001]), rig.router("tag"));
    router.listed(list.list());
    for (call, want) in [(call(&[]), 1), (call(&[("dubbo.tag", "gray")]), 10_000)] {
        let mut candidates = list.clone();
        router.route(&mut candidates, &rig.consumer, &call);
        assert_eq!(candidates.len(), want);
    }
}
