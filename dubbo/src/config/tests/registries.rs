//! What is said of registries that are not as they look.

use super::*;

#[test]
fn parameters_that_nobody_reads_are_named() {
    let text = "\
dubbo:
  metadata-report: {protocol: memory, params: {report-definition: true, report-defintion: false}}
  registries:
    a:
      protocol: memory
      params:
        ttl: 5s
        tll: 5s
        group: g
        outage-grace: 10s
        subscribed-services: x
        metadata.gc.window: 9
        migration.step: FORCE_APPLICATION
";
    let want = "\
t.yaml:2:31: dubbo.metadata-report.protocol: no metadata report is called `memory`; none is linked
warning: t.yaml:8:14: dubbo.registries.a.params.tll: has no effect: no part of the registry `memory` reads it (did you mean `ttl`?)
warning: t.yaml:13:25: dubbo.registries.a.params.migration.step: has no effect: no part of the registry `memory` reads it
warning: t.yaml:2:91: dubbo.metadata-report.params.report-defintion: has no effect: no part of the registry `memory` reads it (did you mean `report-definition`?)
";
    assert_eq!(sorted(&report(text)), sorted(want));
}

/// They see the registry's URL.
#[test]
fn plugins_of_others_may_read_any_parameter() {
    let instances = "instance-filter: own, params: {of-the-filter: x}";
    let text = format!("dubbo: {{registries: {{a: {{protocol: memory, {instances}}}}}}}");
    let report = report(&text);
    assert!(
        report.contains("own") && !report.contains("of-the-filter"),
        "{report}"
    );
}

#[test]
fn a_registry_that_is_switched_off_without_a_word_is_told_of() {
    let text = "dubbo: {registries: {a: {protocol: memory, address: ''}, b: {protocol: memory, address: N/A}, c: {address: ' '}}}";
    let want = "\
warning: t.yaml:1:53: dubbo.registries.a.address: is empty, which switches the registry off; write `N/A` if that is meant
warning: t.yaml:1:108: dubbo.registries.c.address: is empty, which switches the registry off; write `N/A` if that is meant
";
    assert_eq!(report(text), want);
}

fn sorted(lines: &str) -> Vec<&str> {
    let mut lines: Vec<_> = lines.lines().collect();
    lines.sort_unstable();
    lines
}
