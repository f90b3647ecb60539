//! Which URLs rules change, and how.

use std::sync::Arc;

use dubbo_core::{service::ServiceKey, url::Url};

use super::*;
use crate::rules::{RuleBook, key::Subject};

const LOCAL: &str = "10.0.0.9";

fn service() -> ServiceKey {
    "g/org.x.Greet:1.0".parse().expect("a service key")
}

fn url(text: &str) -> Url {
    text.parse().expect(text)
}

/// The reference of application `app`.
fn consumer(app: &str) -> Url {
    url(&format!(
        "consumer://{LOCAL}/org.x.Greet?application={app}&group=g&interface=org.x.Greet&side=consumer&version=1.0&env=gray"
    ))
}

/// What that reference makes of the provider at `address`.
fn called(address: &str) -> Url {
    url(&format!(
        "tri://{address}/org.x.Greet?application=a&group=g&interface=org.x.Greet&side=consumer&version=1.0&env=gray"
    ))
}

/// A service that is exported at `address`.
fn exported(address: &str) -> Url {
    url(&format!(
        "tri://{address}/org.x.Greet?application=p&group=g&interface=org.x.Greet&side=provider&version=1.0"
    ))
}

fn of_service(rule: &str) -> Configurators {
    Configurators::parse(Subject::Service(&service()), rule).expect(rule)
}

fn of_application(rule: &str) -> Configurators {
    Configurators::parse(Subject::Application("a"), rule).expect(rule)
}

fn over(layers: impl IntoIterator<Item = Configurators>) -> Overrides {
    let layers: Vec<_> = layers.into_iter().map(Arc::new).collect();
    Overrides::of_rules(layers)
}

/// Whether `rule` sets `timeout=1` of `url`.
fn meets(rule: &Configurators, url: &Url) -> bool {
    over([rule.clone()]).apply(url, LOCAL).param("timeout") == Some("1")
}

fn version_3(side: &str, clauses: &str) -> String {
    format!(
        "configVersion: v3.0\nconfigs:\n- side: {side}\n  parameters: {{timeout: 1}}\n  {clauses}\n"
    )
}

#[test]
fn cluster_t34_the_services_rule_comes_after_that_of_the_application_and_goes_alone() {
    let timeout = |rule: &str, subject: Subject<'_>, millis: u32| {
        let text = format!(
            "configVersion: v3.0\nscope: {rule}\nconfigs:\n- {{side: consumer, parameters: {{timeout: {millis}}}}}\n"
        );
        Configurators::parse(subject, &text).expect("a rule")
    };
    let service = service();
    let rules = |of_service: bool| {
        let mut layers = vec![timeout("application", Subject::Application("a"), 2000)];
        if of_service {
            layers.push(timeout("service", Subject::Service(&service), 3000));
        }
        over(layers).apply(&consumer("a"), LOCAL)
    };
    assert_eq!(rules(true).param("timeout"), Some("3000"));
    assert_eq!(rules(false).param("timeout"), Some("2000"));
}

#[test]
fn cluster_t34_a_rule_is_for_the_applications_that_it_names() {
    for (applications, a, b) in [
        ("[a]", true, false),
        ("['*']", true, true),
        ("[b, c]", false, true),
    ] {
        let rule = of_service(&version_3(
            "consumer",
            &format!("applications: {applications}"),
        ));
        assert_eq!(meets(&rule, &consumer("a")), a, "{applications}");
        assert_eq!(meets(&rule, &consumer("b")), b, "{applications}");
    }
}

#[test]
fn cluster_t34_each_clause_that_is_there_has_to_match_and_no_other() {
    let provider = called("10.20.3.4:20880");
    for (clauses, general, one, other) in [
        ("match: {app: {oneof: [{prefix: a}]}}", true, true, true),
        (
            "match: {app: {oneof: [{exact: x}, {exact: y}]}}",
            false,
            false,
            false,
        ),
        ("match: {address: {exact: 10.0.0.9}}", true, true, true),
        ("match: {address: {cird: 10.0.0.0/8}}", true, true, true),
        (
            "match: {address: {cidr: 10.20.0.0/16}}",
            false,
            false,
            false,
        ),
        ("match: {address: {wildcard: '10.0.*'}}", true, true, true),
        ("match: {address: {wildcard: '*'}}", true, true, true),
        (
            "match: {providerAddress: {cird: 10.20.0.0/16}}",
            false,
            true,
            false,
        ),
        (
            "match: {providerAddress: {wildcard: '10.20.*'}}",
            false,
            true,
            false,
        ),
        (
            "match: {providerAddress: {wildcard: '*:20880'}}",
            false,
            true,
            true,
        ),
        (
            "match: {providerAddress: {exact: '10.20.3.4:20880'}}",
            false,
            true,
            false,
        ),
        (
            "match: {providerAddress: {exact: '10.20.3.4:1'}}",
            false,
            false,
            false,
        ),
        (
            "match: {service: {oneof: [{exact: 'g/org.x.Greet:1.0'}]}}",
            true,
            true,
            true,
        ),
        (
            "match: {service: {oneof: [{wildcard: '*org.x.Other:1.0'}]}}",
            false,
            false,
            false,
        ),
        (
            "match: {param: [{key: env, value: {exact: gray}}]}",
            true,
            true,
            true,
        ),
        (
            "match: {param: [{key: env, value: {exact: blue}}]}",
            false,
            false,
            false,
        ),
        (
            "match: {param: [{key: zone, value: {empty: ''}}]}",
            true,
            true,
            true,
        ),
        ("providerAddresses: ['10.20.3.4:20880']", false, true, false),
        ("providerAddresses: [10.20.3.4]", false, true, false),
        ("providerAddresses: ['0.0.0.0']", true, true, true),
        ("providerAddresses: ['0.0.0.0:20880']", false, true, true),
        ("providerAddresses: ['0.0.0.0:1']", false, false, false),
        ("addresses: [10.0.0.9]", true, true, true),
        ("addresses: [10.0.0.8]", false, false, false),
        ("addresses: ['0.0.0.0']", true, true, true),
    ] {
        let rule = of_service(&version_3("consumer", clauses));
        assert_eq!(meets(&rule, &consumer("a")), general, "{clauses}");
        assert_eq!(meets(&rule, &provider), one, "{clauses}");
        assert_eq!(meets(&rule, &called("10.30.3.4:20880")), other, "{clauses}");
        assert!(!meets(&rule, &exported("10.20.3.4:20880")), "{clauses}");
    }
}

#[test]
fn a_providers_rule_is_for_the_addresses_that_it_names() {
    for (clauses, want) in [
        ("enabled: true", true),
        ("addresses: ['10.20.3.4']", true),
        ("addresses: ['10.20.3.4:20880']", true),
        ("addresses: ['10.20.3.4:20881']", false),
        ("addresses: ['10.0.0.9']", false),
        ("match: {address: {cidr: 10.20.0.0/16}}", true),
        ("match: {address: {exact: '10.20.3.4:20880'}}", true),
        ("match: {address: {exact: 10.0.0.9}}", false),
    ] {
        let rule = of_service(&version_3("provider", clauses));
        assert_eq!(
            meets(&rule, &exported("10.20.3.4:20880")),
            want,
            "{clauses}"
        );
        assert!(!meets(&rule, &consumer("a")), "{clauses}");
        assert!(!meets(&rule, &called("10.20.3.4:20880")), "{clauses}");
    }
}

#[test]
fn cluster_t34_what_nobody_switches_off_is_on() {
    for (rule, item, want) in [
        ("", "", true),
        ("enabled: true\n", "", true),
        ("enabled: false\n", "", false),
        ("", "enabled: false", true),
        ("", "type: general\n  enabled: false", true),
        ("", "type: own\n  enabled: false", false),
        ("enabled: false\n", "type: own", true),
    ] {
        let text = format!("{rule}{}", version_3("consumer", item));
        assert_eq!(
            meets(&of_service(&text), &consumer("a")),
            want,
            "{rule} {item}"
        );
    }
}

#[test]
fn an_applications_rule_is_for_the_services_that_it_names() {
    for (services, want) in [
        ("['*']", true),
        ("['g/org.x.Greet:1.0']", true),
        ("[org.x.Greet]", false),
        ("[org.x.Other, 'g/org.x.Greet:1.0']", true),
    ] {
        let rule = of_application(&version_3("consumer", &format!("services: {services}")));
        assert_eq!(meets(&rule, &consumer("a")), want, "{services}");
    }
}

#[test]
fn what_a_rule_says_of_its_key_and_scope_has_to_fit_where_it_is_kept() {
    for (head, want) in [
        ("scope: service", true),
        ("scope: application", false),
        ("key: org.x.Greet", true),
        ("key: 'g/org.x.Greet:1.0'", true),
        ("key: 'org.x.Greet:1.0:g'", true),
        ("key: 'org.x.Greet:1.0:'", true),
        ("key: 'org.x.Greet:2.0:g'", false),
        ("key: 'h/org.x.Greet:1.0'", false),
        ("key: org.x.Other", false),
    ] {
        let text = format!("{head}\n{}", version_3("consumer", ""));
        assert_eq!(meets(&of_service(&text), &consumer("a")), want, "{head}");
    }
    for (head, want) in [
        ("key: a", true),
        ("key: b", false),
        ("scope: service", false),
    ] {
        let text = format!("{head}\n{}", version_3("consumer", ""));
        assert_eq!(
            meets(&of_application(&text), &consumer("a")),
            want,
            "{head}"
        );
    }
}

#[test]
fn what_a_rule_says_of_a_method_comes_before_what_the_configuration_says_of_it() {
    let text = "configs:\n- side: consumer\n  parameters: {get.timeout: 1, put.timeout: 2}\n";
    let before = consumer("a").with_param("methods.get.timeout", "9");
    let after = over([of_service(text)]).apply(&before, LOCAL);
    assert_eq!(after.param("methods.get.timeout"), Some("1"));
    assert_eq!(after.param("put.timeout"), Some("2"));
    assert_eq!(after.param("methods.put.timeout"), None);
}

#[test]
fn before_version_3_a_rule_names_parameters_with_a_tilde() {
    let text = |condition: &str| {
        format!(
            "configVersion: v2.7\nconfigs:\n- side: consumer\n  parameters: {{timeout: 1, '~env': {condition}}}\n"
        )
    };
    for (condition, want) in [("gray", true), ("blue", false), ("'*'", true)] {
        let rule = of_service(&text(condition));
        assert_eq!(meets(&rule, &consumer("a")), want, "{condition}");
        let changed = over([rule]).apply(&consumer("a"), LOCAL);
        assert_eq!(changed.param("~env"), None);
    }
}

#[test]
fn who_somebody_is_no_rule_changes() {
    let text = "configVersion: v3.0\nconfigs:\n- side: consumer\n  parameters: {timeout: 1, group: x, version: x, \
                application: x, side: provider, interface: x, check: x, category: x, enabled: x}\n";
    let before = consumer("a");
    let after = over([of_service(text)]).apply(&before, LOCAL);
    assert_eq!(after, before.with_param("timeout", "1"));
}

#[test]
fn cluster_t34_what_is_wrong_with_a_rule_is_told_with_its_place() {
    for (text, want) in [
        (
            "configs: [{side: consumer}]",
            "rule:1:11: configs[0].parameters: needs at least one",
        ),
        (
            "configs: [{side: consumer, parameters: {}}]",
            "parameters: needs at least one",
        ),
        (
            "configs: [{parameters: {timeout: 1}}]",
            "side: needs `consumer` or `provider`",
        ),
        (
            "configs:\n- side: both\n  parameters: {a: 1}",
            "rule:2:9: configs[0].side: expected `consumer` or `provider`",
        ),
        (
            "configVersion: v4",
            "rule:1:16: configVersion: expected `v2.7` or `v3.0`",
        ),
        (
            "configs:\n- {side: consumer, parameters: {a: [1]}}",
            "rule:2:36: configs[0].parameters.a: expected a text, found a list",
        ),
        ("configs: [", "rule:2:1"),
        ("just text", "rule:1:1: expected a map"),
        (
            "configVersion: v3.0\nconfigs:\n- side: consumer\n  parameters: {a: 1}\n  match: {address: {cidr: x/99}}",
            "rule:5:",
        ),
        (
            "configVersion: v3.0\nconfigs: [{side: consumer, parameters: {a: 1}, match: {app: {}}}]",
            "app: needs a list `oneof`",
        ),
        (
            "configs: [{side: consumer, parameters: {a: 1}, addresses: ['h:x']}]",
            "ends in no port",
        ),
        (
            "['override://0.0.0.0/*?timeout=1', 'route://h/x']",
            "rule:1:36: `route://h/x` is no override",
        ),
        ("['::']", "is no URL"),
        ("[[1]]", "expected a URL, found a list"),
    ] {
        let error = Configurators::parse(Subject::Service(&service()), text).expect_err(text);
        assert!(error.to_string().contains(want), "{want}: {error}");
    }
}

#[test]
fn unknown_keys_are_told_of_and_change_nothing() {
    let (logs, _logged) = dubbo_test::logs::Logs::record();
    let rule = of_service(&format!("sope: x\n{}", version_3("consumer", "")));
    assert!(meets(&rule, &consumer("a")));
    let lines = logs.with("is read, but");
    assert!(
        lines[0].contains("rule:1:1: sope: unknown key (did you mean `scope`?)"),
        "{}",
        lines[0]
    );
}

#[test]
fn urls_without_a_version_are_for_whom_their_address_says() {
    for (rule, general, one, provider) in [
        (
            "override://0.0.0.0/org.x.Greet?group=g&version=1.0&timeout=1",
            true,
            true,
            true,
        ),
        ("override://0.0.0.0/*?timeout=1", true, true, true),
        (
            "override://0.0.0.0/org.x.Greet?timeout=1",
            false,
            false,
            false,
        ),
        ("override://10.0.0.9/*?timeout=1", true, true, false),
        ("override://10.20.3.4/*?timeout=1", false, false, false),
        ("override://10.20.3.4:20880/*?timeout=1", false, true, true),
        ("override://0.0.0.0:20880/*?timeout=1", false, true, true),
        ("override://10.20.3.4:1/*?timeout=1", false, false, false),
        (
            "override://0.0.0.0/*?timeout=1&side=consumer",
            true,
            true,
            false,
        ),
        (
            "override://0.0.0.0/*?timeout=1&side=provider",
            false,
            false,
            true,
        ),
        (
            "override://0.0.0.0/*?timeout=1&application=a",
            true,
            true,
            false,
        ),
        (
            "override://0.0.0.0/*?timeout=1&application=*",
            true,
            true,
            true,
        ),
        (
            "override://0.0.0.0/*?timeout=1&~env=gray",
            true,
            true,
            false,
        ),
        (
            "override://0.0.0.0/*?timeout=1&enabled=false",
            false,
            false,
            false,
        ),
        (
            "override://0.0.0.0/*?timeout=1&configVersion=v2.7&side=consumer",
            true,
            true,
            false,
        ),
        (
            "override://0.0.0.0/*?timeout=1&configVersion=v2.7&side=provider",
            false,
            false,
            true,
        ),
        (
            "override://0.0.0.0/*?timeout=1&providerAddresses=10.20.3.4:20880",
            false,
            true,
            true,
        ),
    ] {
        for rule in [
            Configurators::of_urls(&[url(rule)]),
            of_service(&format!("['{rule}']")),
        ] {
            assert_eq!(meets(&rule, &consumer("a")), general, "{rule:?}");
            assert_eq!(meets(&rule, &called("10.20.3.4:20880")), one, "{rule:?}");
            assert_eq!(
                meets(&rule, &exported("10.20.3.4:20880")),
                provider,
                "{rule:?}"
            );
        }
    }
}

#[test]
fn cluster_t34_absent_fills_gaps_and_never_overwrites() {
    let rules = Configurators::of_urls(&[url("absent://0.0.0.0/*?timeout=1&env=blue")]);
    let after = over([rules]).apply(&consumer("a"), LOCAL);
    assert_eq!(
        (after.param("timeout"), after.param("env")),
        (Some("1"), Some("gray"))
    );
}

#[test]
fn of_several_urls_the_one_at_an_address_counts_then_the_one_of_higher_priority() {
    let apply = |rules: &[&str]| {
        let urls: Vec<_> = rules.iter().map(|text| url(text)).collect();
        let after = over([Configurators::of_urls(&urls)]).apply(&consumer("a"), LOCAL);
        after.param("timeout").map(str::to_owned)
    };
    let (general, own) = (
        "override://0.0.0.0/*?timeout=1",
        "override://10.0.0.9/*?timeout=2",
    );
    assert_eq!(apply(&[own, general]).as_deref(), Some("2"));
    let (low, high) = (
        "override://0.0.0.0/*?timeout=3&priority=1",
        "override://0.0.0.0/*?timeout=4&priority=2",
    );
    assert_eq!(apply(&[high, low]).as_deref(), Some("4"));
    assert_eq!(apply(&[general, "empty://0.0.0.0/*"]), None);
    assert_eq!(
        apply(&["route://0.0.0.0/*?timeout=5", general]).as_deref(),
        Some("1")
    );
}

#[test]
fn the_registry_is_the_weakest_layer() {
    let live = LiveOverrides::new(vec![Arc::new(of_service(&version_3("consumer", "")))]);
    let mut changes = live.subscribe();
    changes.borrow_and_update();
    live.set_registry(Configurators::of_urls(&[url(
        "override://0.0.0.0/*?timeout=9&retries=5",
    )]));
    assert!(changes.has_changed().expect("it is there"));
    let after = live.current().apply(&consumer("a"), LOCAL);
    assert_eq!(
        (after.param("timeout"), after.param("retries")),
        (Some("1"), Some("5"))
    );
    changes.borrow_and_update();
    live.set_registry(Configurators::default());
    live.set_rules(Vec::new());
    assert!(changes.has_changed().expect("it is there"));
    assert!(live.current().is_empty());
    changes.borrow_and_update();
    live.set_registry(Configurators::default());
    assert!(
        !changes.has_changed().expect("it is there"),
        "nothing is another nothing"
    );
}

#[tokio::test(start_paused = true)]
async fn rules_are_followed_under_the_keys_of_consoles_and_of_dubbo_go() {
    let book = RuleBook::default();
    let mut rules = OverrideRules::follow(&book, "a", &service());
    let timeout = |rules: &OverrideRules| {
        let overrides = Overrides::of_rules(rules.current());
        let after = overrides.apply(&consumer("a"), LOCAL);
        after.param("timeout").map(str::to_owned)
    };
    for (key, millis) in [
        ("a.configurators", "1"),
        ("g*org.x.Greet:1.0.configurators", "2"),
        ("org.x.Greet:1.0:g.configurators", "3"),
    ] {
        let text = version_3("consumer", "").replace("timeout: 1", &format!("timeout: {millis}"));
        book.put(key, Some(&text));
        dubbo_test::soon(key, rules.changed()).await;
        assert_eq!(timeout(&rules).as_deref(), Some(millis), "{key}");
    }
}
