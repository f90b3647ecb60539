//! Where virtual services send calls.

use super::super::tests::{Rig, call, call_with, providers};
use crate::testing::invocation_of;

const KEY: &str = "users.MESHAPPRULE";

const SUBSETS: &str = "
apiVersion: service.dubbo.apache.org/v1alpha1
kind: DestinationRule
metadata: {name: users}
spec:
  host: users
  trafficPolicy:
    loadBalancer: {simple: ROUND_ROBIN}
  subsets:
    - name: v1
      labels: {v: '1'}
    - name: v2
      labels: {v: '2', zone: x}
    - name: nobody
      labels: {v: '9'}
";

const NODES: [&str; 3] = ["v=1", "v=2&zone=x", "v=2"];

/// The documents with these routes.
fn routes(dubbo: &str) -> String {
    format!(
        "---\nkind: VirtualService\nmetadata: {{name: users.standard}}\nspec:\n  hosts: [users]\n  dubbo: {dubbo}\n---{SUBSETS}"
    )
}

fn rig(consumer: &str, dubbo: &str) -> Rig {
    Rig::of(consumer).say(KEY, &routes(dubbo))
}

#[test]
fn cluster_t32_subsets_have_exact_shares() {
    let rig = rig(
        "",
        "[{routedetail: [{route: [{destination: {subset: v1}, weight: 20}, {destination: {subset: v2}, weight: 80}]}]}]",
    );
    let (list, router) = (providers(&NODES), rig.router("mesh"));
    router.listed(list.list());
    let call = call(&[]);
    let mut first = 0_u32;
    for _ in 0..100_000 {
        let mut candidates = list.clone();
        router.route(&mut candidates, &rig.consumer, &call);
        first += u32::from(crate::testing::ports(&candidates) == [1]);
    }
    assert!(first.abs_diff(20_000) <= 506, "{first}");
}

#[test]
fn cluster_t32_somebody_stands_in_for_a_subset_without_providers() {
    for (route, want) in [
        ("[{destination: {subset: v1}}]", &[1][..]),
        (
            "[{destination: {subset: nobody, fallback: {subset: v2}}}]",
            &[2],
        ),
        (
            "[{destination: {subset: nobody, fallback: {destination: {subset: v2}}}}]",
            &[2],
        ),
        (
            "[{destination: {subset: nobody, fallback: {subset: nobody, fallback: {subset: v1}}}}]",
            &[1],
        ),
        (
            "[{destination: {subset: nobody}, weight: 1000000}, {destination: {subset: v2}}]",
            &[2],
        ),
        ("[{destination: {subset: nobody}}]", &[1, 2, 3]),
        ("[{destination: {subset: unheard}}]", &[1, 2, 3]),
        ("[{destination: {host: users}}]", &[1, 2, 3]),
        ("[]", &[1, 2, 3]),
    ] {
        let rig = rig("", &format!("[{{routedetail: [{{route: {route}}}]}}]"));
        assert_eq!(rig.route("mesh", &NODES, &call(&[])), want, "{route}");
    }
}

#[test]
fn the_first_route_and_the_first_detail_whose_matches_all_hold_count() {
    let v1 = "route: [{destination: {subset: v1}}]";
    let v2 = "route: [{destination: {subset: v2}}]";
    for (dubbo, want) in [
        (
            format!("[{{services: [{{exact: a.C}}], routedetail: [{{{v1}}}]}}]"),
            &[1, 2, 3][..],
        ),
        (
            format!(
                "[{{services: [{{exact: a.C}}], routedetail: [{{{v1}}}]}}, {{routedetail: [{{{v2}}}]}}]"
            ),
            &[2],
        ),
        (
            format!("[{{services: [{{regex: 'a[.].'}}], routedetail: [{{{v1}}}, {{{v2}}}]}}]"),
            &[1],
        ),
        (
            format!(
                "[{{routedetail: [{{match: [{{sourceLabels: {{z: '1'}}}}, {{sourceLabels: {{y: '1'}}}}], {v1}}}, {{{v2}}}]}}]"
            ),
            &[2],
        ),
        (
            format!(
                "[{{routedetail: [{{match: [{{sourceLabels: {{z: '1'}}}}], {v1}}}, {{{v2}}}]}}]"
            ),
            &[1],
        ),
        (
            format!("[{{routedetail: []}}, {{routedetail: [{{{v2}}}]}}]"),
            &[1, 2, 3],
        ),
    ] {
        let rig = rig("z=1", &dubbo);
        assert_eq!(rig.route("mesh", &NODES, &call(&[])), want, "{dubbo}");
    }
}

#[test]
fn calls_are_matched_by_method_arguments_and_attachments() {
    let first = || invocation_of("First");
    for (test, call, is_for) in [
        ("method: {name_match: {exact: First}}", first(), true),
        ("method: {name_match: {prefix: Sec}}", first(), false),
        ("method: {argc: 1}", first(), true),
        ("method: {argc: 2}", first(), false),
        ("method: {argp: [{empty: ''}]}", first(), true),
        ("method: {argp: [{exact: int}]}", first(), false),
        ("method: {argp: []}", first(), false),
        (
            "method: {args: [{index: 0, str_value: {oneof: [{exact: a}, {exact: u}]}}]}",
            call_with(&["u"]),
            true,
        ),
        (
            "method: {args: [{index: 0, str_value: {oneof: [{exact: a}]}}]}",
            call_with(&["u"]),
            false,
        ),
        (
            "method: {args: [{index: 1, str_value: {oneof: [{noempty: ''}]}}]}",
            call_with(&["u"]),
            false,
        ),
        (
            "method: {args: [{index: 0, num_value: {oneof: [{exact: 7}]}}]}",
            call_with(&["7.0"]),
            true,
        ),
        (
            "method: {args: [{index: 0, num_value: {oneof: [{range: {start: 1, end: 7}}]}}]}",
            call_with(&["7"]),
            false,
        ),
        (
            "method: {args: [{index: 0, num_value: {oneof: [{range: {start: 7}}]}}]}",
            call_with(&["7"]),
            true,
        ),
        (
            "method: {args: [{index: 0, num_value: {oneof: [{mod: 10, exact: 6}]}}]}",
            call_with(&["26"]),
            true,
        ),
        (
            "method: {args: [{index: 0, num_value: {oneof: [{exact: 7}]}}]}",
            call_with(&["x"]),
            false,
        ),
        (
            "method: {args: [{index: 0, bool_value: {exact: true}}]}",
            call_with(&["true"]),
            true,
        ),
        (
            "method: {args: [{index: 0, bool_value: {exact: false}}]}",
            call_with(&["true"]),
            false,
        ),
        (
            "attachments: {dubboContext: {user: {exact: u1}}}",
            call(&[("user", "u1")]),
            true,
        ),
        (
            "attachments: {dubboContext: {user: {exact: u1}}}",
            call(&[]),
            false,
        ),
        (
            "attachments: {dubboContext: {user: {empty: ''}}}",
            call(&[]),
            true,
        ),
        (
            "attachments: {tracingContext: {user: {empty: ''}}}",
            call(&[]),
            false,
        ),
        ("sourceLabels: {zone: x}", first(), true),
        ("sourceLabels: {zone: y}", first(), false),
    ] {
        let dubbo = format!(
            "[{{routedetail: [{{match: [{{{test}}}], route: [{{destination: {{subset: v1}}}}]}}]}}]"
        );
        let left = rig("zone=x", &dubbo).route("mesh", &NODES, &call);
        assert_eq!(left == [1], is_for, "{test}: {left:?}");
    }
}

#[test]
fn documents_for_other_routers_are_left_alone() {
    let dubbo = "[{routedetail: [{route: [{destination: {subset: v1}}]}]}]";
    for (name, want) in [
        ("users", &[1][..]),
        ("users.standard", &[1]),
        ("users.gray", &[1, 2, 3]),
    ] {
        let rule = routes(dubbo).replace("users.standard", name);
        let rig = Rig::of("").say(KEY, &rule);
        assert_eq!(rig.route("mesh", &NODES, &call(&[])), want, "{name}");
    }
}

#[test]
fn what_decided_is_told() {
    for (dubbo, want) in [
        (
            "[{name: r, routedetail: [{name: d, route: [{destination: {subset: v1}}]}]}]",
            "`r/d` goes to the subset `v1` -> 1",
        ),
        (
            "[{name: r, routedetail: [{route: [{destination: {subset: nobody}}]}]}]",
            "`r` goes to nobody who is there, so all are kept -> 3",
        ),
        (
            "[{name: r, routedetail: []}]",
            "route `r` is not for this call -> 3",
        ),
        ("[]", "no route is for this service -> 3"),
    ] {
        let told = rig("", dubbo).explain("mesh", &NODES, &call(&[]));
        assert_eq!(told, Some(format!("{KEY} (code): {want}")));
    }
}

#[test]
fn what_is_wrong_with_a_document_is_told_with_its_place_in_the_text() {
    let service = "kind: VirtualService\nmetadata: {name: a}\n";
    for (text, want) in [
        (
            "kind: VirtualService".to_owned(),
            "k:1:1: metadata: a document needs `metadata.name`",
        ),
        (
            format!("{service}---\nkind: Service\nmetadata: {{name: a}}"),
            "k:4:7: kind: expected `DestinationRule`",
        ),
        (
            format!("{service}---\nmetadata: {{name: a}}"),
            "k:4:1: kind: a document is",
        ),
        (
            format!("{service}spec:\n  dubbo: [{{services: [{{regex: '('}}]}}]"),
            "k:4:31: spec.dubbo[0].services[0].regex: expected a regular expression",
        ),
        (
            format!(
                "{service}spec: {{dubbo: [{{routedetail: [{{match: [{{method: {{args: [{{}}]}}}}]}}]}}]}}"
            ),
            "method.args[0].index: needs the position",
        ),
        ("a: [".to_owned(), "k:"),
    ] {
        let error = super::Rule::parse("k", &text).expect_err(&text).to_string();
        assert!(error.contains(want), "{text}: {error}");
    }
    let both = super::Rule::parse("k", "kind: x\n---\nkind: y")
        .expect_err("two")
        .to_string();
    assert!(both.contains("k:1:1") && both.contains("k:3:1"), "{both}");
}
