//! What rules of conditions leave of a list.

use dubbo_core::invocation::Invocation;

use super::super::tests::{Rig, call, call_with, generic_call};
use crate::testing::invocation_of;

const SERVICE: &str = "a.B::.condition-router";

/// What one condition for the service, which nobody escapes, leaves.
fn forced(consumer: &str, condition: &str, nodes: &[&str], call: &Invocation) -> Vec<u16> {
    let rule = format!("force: true\nconditions: ['{condition}']");
    let rig = Rig::of(consumer).say(SERVICE, &rule);
    rig.route("condition-service", nodes, call)
}

#[test]
fn cluster_t27_conditions_mean_what_the_grammar_says() {
    let condition = "method=Fir*,get & region!=hz => host=10.0.0.*";
    let nodes = ["10.0.0.1?", "10.0.1.1?"];
    let routed = |consumer, method| forced(consumer, condition, &nodes, &invocation_of(method));
    assert_eq!(routed("region=sh", "Second"), [1, 2], "another method");
    assert_eq!(routed("region=sh", "First"), [1]);
    assert_eq!(routed("region=hz", "First"), [1, 2], "another region");
    assert_eq!(
        routed("", "First"),
        [1, 2],
        "a region that is missing is not another one"
    );

    let nodes = ["a=1", "a=3", "a=4", "a=x", "", "a="];
    for (condition, want) in [
        ("=> false", &[][..]),
        ("=>", &[]),
        ("=> a=1~3", &[1, 2, 4, 6]),
        ("=> a=~3", &[1, 2, 4, 6]),
        ("=> a=3~", &[2, 3, 4, 6]),
        ("=> a!=1", &[2, 3, 4, 6]),
        ("=> a!=1 & a!=x", &[2, 3, 6]),
        ("=> a=1,3 & a!=3", &[1]),
        ("=> a", &[]),
        ("=> a=*", &[1, 2, 3, 4, 6]),
        ("a = = 1", &[1]),
        ("=> port=2,3", &[2, 3]),
        (
            "=> protocol=tri & path=a.* & host=10.*",
            &[1, 2, 3, 4, 5, 6],
        ),
        ("=> provider.a=1", &[1]),
    ] {
        assert_eq!(
            forced("", condition, &nodes, &call(&[])),
            want,
            "{condition}"
        );
    }
}

#[test]
fn a_dollar_stands_for_the_consumers_own_value() {
    let nodes = ["zone=hz", "zone=sh", "zone=", ""];
    for (consumer, condition, want) in [
        ("zone=hz", "=> zone=$zone", &[1][..]),
        ("zone=hz", "=> zone!=$zone", &[2, 3]),
        ("zone=*", "=> zone=$consumer.zone", &[1, 2, 3]),
        ("", "=> zone=$zone", &[3]),
        ("", "=> host=$host", &[]),
    ] {
        assert_eq!(
            forced(consumer, condition, &nodes, &call(&[])),
            want,
            "{consumer} {condition}"
        );
    }
}

#[test]
fn arguments_and_attachments_of_any_name_decide() {
    let nodes = ["", ""];
    for (condition, call, is_for) in [
        ("method=find =>", generic_call("find"), true),
        ("method=First =>", generic_call("find"), false),
        ("arguments[0]=u1,u2 =>", call_with(&["u2"]), true),
        ("arguments[0]=u* =>", call_with(&["v"]), false),
        ("arguments[1]=x =>", call_with(&["u"]), false),
        ("arguments[1]!=x =>", call_with(&["u"]), false),
        ("arguments[1]=1~9 =>", call_with(&["u", "9"]), true),
        ("arguments[1]=1~9 =>", call_with(&["u", "x"]), false),
        (
            "attachments[user-id.x]=7 =>",
            call(&[("user-id.x", "7")]),
            true,
        ),
        (
            "attachments[user-id.x]=7 =>",
            call(&[("user-id.x", "8")]),
            false,
        ),
        ("attachments[user-id.x]!=7 =>", call(&[]), false),
    ] {
        let left = forced("", condition, &nodes, &call);
        assert_eq!(left.is_empty(), is_for, "{condition}");
    }
}

#[test]
fn a_value_is_not_mangled_by_the_name_of_a_side_in_it() {
    let condition = "class=com.consumer.Foo => n=1";
    let left = forced(
        "class=com.consumer.Foo",
        condition,
        &["n=1", "n=2"],
        &call(&[]),
    );
    assert_eq!(left, [1]);
}

#[test]
fn cluster_t27_a_text_that_is_no_rule_leaves_the_last_good_one() {
    let rig = Rig::of("").say(SERVICE, "conditions: ['=> n=1']");
    let nodes = ["n=1", "n=2"];
    let router = rig.router("condition-service");
    for bad in ["a==b", ",x", "=x"] {
        let rule = format!("conditions:\n  - '=> n=2'\n  - '{bad} => n=2'");
        rig.book.put(SERVICE, Some(&rule));
        let mut candidates = super::super::tests::providers(&nodes);
        router.route(&mut candidates, &rig.consumer, &call(&[]));
        assert_eq!(crate::testing::ports(&candidates), [1], "{bad}");
        let error = super::Rule::parse("k", &rule).expect_err(bad).to_string();
        assert!(error.starts_with("k:3:5: conditions[1]: `"), "{error}");
    }
}

#[test]
fn cluster_t28_a_condition_that_leaves_nobody_is_skipped_and_the_others_stay() {
    let nodes = ["region=hz&env=prod", "region=sh&env=gray"];
    let conditions = "['=> region=hz', '=> env=gray']";
    for (consumer, rule, want) in [
        ("", format!("conditions: {conditions}"), &[1][..]),
        (
            "",
            format!("configVersion: v3.0\nforce: false\nenabled: true\nconditions: {conditions}"),
            &[1],
        ),
        ("", format!("force: true\nconditions: {conditions}"), &[]),
        (
            "",
            format!("enabled: false\nconditions: {conditions}"),
            &[1, 2],
        ),
        (
            "",
            "conditions: ['=> region=hz', '=> false']".to_owned(),
            &[],
        ),
        (
            "compat.go-condition-undo-all=true",
            format!("conditions: {conditions}"),
            &[1, 2],
        ),
        (
            "compat.go-condition-undo-all=true",
            "conditions: ['=> false']".to_owned(),
            &[1, 2],
        ),
        (
            "compat.go-condition-undo-all=true",
            "force: true\nconditions: ['=> false']".to_owned(),
            &[],
        ),
        (
            "",
            "# of old\n=> region=hz\n\n => env=prod".to_owned(),
            &[1],
        ),
        ("", "{\"conditions\": [\"=> region=hz\"]}".to_owned(), &[1]),
    ] {
        let rig = Rig::of(consumer).say(SERVICE, &rule);
        let left = rig.route("condition-service", &nodes, &call(&[]));
        assert_eq!(left, want, "{consumer} {rule}");
    }
}

/// How many of `calls` go to each provider.
fn shares(rig: &Rig, nodes: &[&str], calls: u32) -> Vec<u32> {
    let (providers, router) = (
        super::super::tests::providers(nodes),
        rig.router("condition-service"),
    );
    let call = call(&[]);
    let mut counts = vec![0; nodes.len()];
    for _ in 0..calls {
        let mut candidates = providers.clone();
        router.route(&mut candidates, &rig.consumer, &call);
        assert_eq!(candidates.len(), 1, "each part is one provider here");
        counts[candidates.places().next().expect("one")] += 1;
    }
    counts
}

fn split(parts: &[(&str, &str)]) -> Rig {
    let to = parts
        .iter()
        .map(|(part, weight)| format!("      - {{match: '{part}', {weight}}}\n"));
    let to: String = to.collect();
    let rule = format!("configVersion: v3.1\nconditions:\n  - from: {{match: ''}}\n    to:\n{to}");
    Rig::of("").say(SERVICE, &rule)
}

#[test]
fn cluster_t29_shares_of_parts_are_exact() {
    let nodes = ["n=1", "n=2"];
    let calls = 100_000;
    for (weights, nodes, want, most) in [
        (
            ["weight: 10", "weight: 90"],
            &nodes[..],
            [10_000, 90_000],
            380,
        ),
        (["weight: 1", "weight: 1"], &nodes, [50_000, 50_000], 633),
        (["weight: 0", "weight: -1"], &nodes, [50_000, 50_000], 633),
        (["weight: 100", "x: y"], &nodes, [50_000, 50_000], 633),
        (
            ["weight: 10", "weight: 90"],
            &["n=3", "n=2"],
            [0, 100_000],
            0,
        ),
    ] {
        let rig = split(&[("n=1", weights[0]), ("n=2", weights[1])]);
        let counts = shares(&rig, nodes, calls);
        for (got, want) in counts.iter().zip(want) {
            assert!(got.abs_diff(want) <= most, "{weights:?}: {counts:?}");
        }
    }

    let rig = split(&[
        ("n=1", "weight: 1"),
        ("n=2", "weight: 1"),
        ("n=3", "weight: 1"),
    ]);
    let counts = shares(&rig, &["n=1", "n=2", "n=3"], 99_999);
    let chi_squared: f64 = counts
        .iter()
        .map(|&got| (f64::from(got) - 33_333.0).powi(2) / 33_333.0)
        .sum();
    assert!(chi_squared < 13.82, "{counts:?}");
}

#[test]
fn parts_that_have_nobody_leave_all_or_nobody_and_blank_ones_are_everybody() {
    for (rule, want) in [
        ("conditions: [{to: [{match: n=9}]}]", &[1, 2][..]),
        ("force: true\nconditions: [{to: [{match: n=9}]}]", &[]),
        (
            "conditions: [{to: [{match: ''}]}, {from: {match: 'true'}, to: [{match: n=2}]}]",
            &[2],
        ),
        (
            "conditions: [{to: [{match: n=1}]}, {to: [{match: n=2}]}]",
            &[1],
        ),
        (
            "conditions: [{from: {match: zone=x}, to: [{match: n=1}]}]",
            &[1, 2],
        ),
    ] {
        let rig = Rig::of("").say(SERVICE, rule);
        let left = rig.route("condition-service", &["n=1", "n=2"], &call(&[]));
        assert_eq!(left, want, "{rule}");
    }
}

#[test]
fn cluster_t30_traffic_that_is_disabled_goes_nowhere_and_says_so() {
    let rule = "configVersion: v3.1\nforce: false\nconditions:\n  - from: {match: tag=tag1}\n";
    let (gray, other) = (
        Rig::of("tag=tag1").say(SERVICE, rule),
        Rig::of("").say(SERVICE, rule),
    );
    assert_eq!(
        other.route("condition-service", &["", ""], &call(&[])),
        [1, 2]
    );
    let (call, mut candidates) = (
        call(&[("a", "b")]),
        super::super::tests::providers(&["", ""]),
    );
    let chain = gray.chain();
    let emptied = chain.route(&mut candidates, &gray.consumer, &call);
    assert_eq!(
        emptied.expect_err("nobody").to_string(),
        "router `condition-service` left none of 2 for this call: a.B::.condition-router (code): traffic-disabled: from \
         `tag=tag1` goes to nobody -> 0"
    );
    let attachments: Vec<_> = call.attachments.iter().map(|(name, _)| name).collect();
    assert_eq!(attachments, ["a"]);
}

#[test]
fn rules_of_service_provider_and_consumer_have_slots_of_their_own() {
    let rig = Rig::of("")
        .say(SERVICE, "conditions: ['=> a!=1']")
        .say("users.condition-router", "conditions: ['=> b!=1']")
        .say("shop.condition-router", "conditions: ['=> c!=1']");
    let nodes = ["a=1&b=0&c=0", "a=0&b=1&c=0", "a=0&b=0&c=1", "a=0&b=0&c=0"];
    for (name, want) in [
        ("condition-service", &[2, 3, 4]),
        ("condition-provider-app", &[1, 3, 4]),
        ("condition-app", &[1, 2, 4]),
    ] {
        assert_eq!(rig.route(name, &nodes, &call(&[])), want, "{name}");
    }
    let mut candidates = super::super::tests::providers(&nodes);
    let chain = rig.chain();
    chain.listed(candidates.list());
    let routed = chain.route(&mut candidates, &rig.consumer, &call(&[]));
    assert_eq!(
        (routed, crate::testing::ports(&candidates)),
        (Ok(()), vec![4])
    );

    rig.book.put("users.condition-router", None);
    assert_eq!(
        rig.route("condition-provider-app", &nodes, &call(&[])),
        [1, 2, 3, 4]
    );
    assert!(rig.router("condition-provider-app").is_idle());
}

#[test]
fn the_rule_of_an_application_is_for_its_own_providers() {
    let rig = Rig::of("").say(
        "users.condition-router",
        "force: true\nconditions: ['=> n=1']",
    );
    let nodes = ["n=1", "n=2", "application=orders&n=2"];
    assert_eq!(
        rig.route("condition-provider-app", &nodes, &call(&[])),
        [1, 3]
    );
}

#[test]
fn what_decided_is_told_with_the_key_and_the_source_of_the_rule() {
    let nodes = ["region=hz", "region=sh"];
    for (rule, want) in [
        ("conditions: ['=> region=hz']", "`=> region=hz` -> 1"),
        (
            "conditions: ['zone=x => region=hz']",
            "no condition is for this call -> 2",
        ),
        (
            "enabled: false\nconditions: ['=> region=hz']",
            "it is switched off -> 2",
        ),
        (
            "conditions: ['=> region=bj']",
            "`=> region=bj` leaves nobody, and without force it does not count then -> 2",
        ),
        (
            "conditions: [{from: {match: ''}, to: [{match: region=hz, weight: 900}]}]",
            "from `` to `region=hz`, by 900 of 900 chances -> 1",
        ),
    ] {
        let rig = Rig::of("").say(SERVICE, rule);
        let told = rig.explain("condition-service", &nodes, &call(&[]));
        assert_eq!(
            told,
            Some(format!("a.B::.condition-router (code): {want}")),
            "{rule}"
        );
    }
    let told = Rig::of("").explain("condition-service", &nodes, &call(&[]));
    assert_eq!(told, None);
}

#[test]
fn what_is_wrong_with_a_rule_is_told_with_its_places() {
    for (rule, want) in [
        (
            "force: true",
            "k:1:1: conditions: a condition rule needs some",
        ),
        (
            "conditions: [{to: [{match: 'a==b'}]}]",
            "k:1:20: conditions[0].to[0].match: `==b`",
        ),
        (
            "conditions: [{from: {match: '=x'}}]",
            "k:1:14: conditions[0].from.match: `=x`",
        ),
        (
            "conditions: ['=> a=1', {to: []}]",
            "k:1:14: conditions[0]: expected a map",
        ),
        ("=> a=1\n  a=~ => b=1", "k:2:3: `~` is no range"),
        ("conditions: ['=> a=1'", "k:"),
        (
            "conditions: {a: b}",
            "conditions[0]: expected a text, found a map",
        ),
    ] {
        let error = super::Rule::parse("k", rule).expect_err(rule).to_string();
        assert!(error.contains(want), "{rule}: {error}");
    }
}

#[test]
fn case_113_the_rule_of_an_application_is_for_all_its_services() {
    let rig = Rig::of("").say("shop.condition-router", "conditions: ['=> n=2']");
    for interface in ["a.B", "a.C"] {
        let consumer = rig.consumer.with_path(interface);
        let router = rig
            .extensions
            .create::<dyn dubbo_core::cluster::Router>("condition-app", &consumer)
            .expect("is made");
        let mut candidates = super::super::tests::providers(&["n=1", "n=2"]);
        router.route(&mut candidates, &consumer, &call(&[]));
        assert_eq!(crate::testing::ports(&candidates), [2], "{interface}");
    }
}
