use std::{sync::Arc, time::Duration};

use dubbo_core::config_center::ConfigCenter;
use dubbo_test::center::Center;

use super::*;

/// Plugins, with this center as `test`.
fn with(center: &Center) -> Extensions {
    let mut extensions = linked();
    let center = center.clone();
    extensions.register::<dyn ConfigCenter>("test", move |_| Ok(Arc::new(center.clone())));
    extensions
}

fn center(key: &str, text: &str) -> Center {
    let center = Center::new("h:1");
    center.put(key, text);
    center
}

#[test]
fn the_document_of_the_center_is_stronger_than_the_files_and_weaker_than_the_environment() {
    let file = "
dubbo:
  config-center: {address: 'test://h:1', data-id: orders}
  application: {name: file, owner: ann}
  registries: {local: {protocol: memory, timeout: 1s, group: g}}
  consumer: {request-timeout: 1s, references: {R: {retries: 3, group: '${dubbo.custom.group}'}}}
  provider: {filter: [audit, echo]}
  shutdown: {timeout: 9s}
";
    let document = "
dubbo:
  application: {name: center, owner: }
  registries: {local: {timeout: 2s}}
  consumer: {request-timeout: 20s, references: {R: {retries: 0, timeout: 0}}}
  provider: {filter: echo}
  shutdown: {timeout: 8s}
  custom: {group: blue}
";
    let variables = [("DUBBO_SHUTDOWN_TIMEOUT", "7s")];
    let options = LoadOptions::text("t.yaml", file).environment(Environment::from_iter(variables));
    let loaded = load(&options, &with(&center("orders", document))).expect("both are valid");
    let config = loaded.config;
    assert_eq!(config.application.name.as_deref(), Some("center"));
    assert_eq!(
        config.application.owner.as_deref(),
        Some("ann"),
        "said nothing"
    );
    let local = &config.registries["local"];
    assert_eq!(local.timeout, Some(Duration::from_secs(2)));
    assert_eq!(local.group.as_deref(), Some("g"), "entries are merged");
    assert_eq!(
        config.consumer.request_timeout,
        Some(Duration::from_secs(20))
    );
    let reference = &config.consumer.references["R"];
    assert_eq!(reference.retries, Some(0), "zero is a value");
    assert_eq!(reference.timeout, Some(Duration::ZERO));
    assert_eq!(
        reference.group.as_deref(),
        Some("blue"),
        "placeholders work across layers"
    );
    assert_eq!(
        config.provider.defaults.filter,
        Some(vec!["echo".to_owned()])
    );
    assert_eq!(config.shutdown.timeout, Some(Duration::from_secs(7)));
}

#[test]
fn what_is_wrong_in_the_document_is_told_with_its_place_there() {
    let file = "dubbo: {config-center: {address: 'test://h:1', data-id: orders.toml, group: g}, consumer: {chek: 1}}";
    let document = "
[dubbo.consumer]
registry-ids = 'nowhere'
request-timeout = 'soon'
[dubbo.config-center]
address = 'x'
[dubbo.profiles]
active = 'prod'
";
    let center = Center::new("h:1");
    let publish = center.publish("orders.toml", "g", document);
    at_once(publish).expect("takes all");
    let want = "
t.yaml:1:92: dubbo.consumer.chek: unknown key (did you mean `check`?)
test://h:1/g/orders.toml:3:16: dubbo.consumer.registry-ids: no registry has the id `nowhere`; there are none
test://h:1/g/orders.toml:4:19: dubbo.consumer.request-timeout: expected a duration such as `3s` or `500ms`, or a number of milliseconds, found `soon`
warning: test://h:1/g/orders.toml:5:8: dubbo.config-center: has no effect in a document of a config center: it counts before that is read
warning: test://h:1/g/orders.toml:7:8: dubbo.profiles: has no effect in a document of a config center: it counts before that is read
";
    let report = outcome(&load(&LoadOptions::text("t.yaml", file), &with(&center)));
    assert_eq!(report, want.trim_start());

    center.put("broken", "dubbo: [");
    let file = file.replace("orders.toml, group: g", "broken");
    let report = outcome(&load(&LoadOptions::text("t.yaml", file), &with(&center)));
    assert!(
        report.starts_with("test://h:1/dubbo/broken:2:1: not valid YAML"),
        "{report}"
    );
}

#[test]
fn a_center_that_does_not_answer_is_an_error_unless_the_document_is_optional() {
    let (silent, failing, empty) = (Center::new("h:1"), Center::new("h:1"), Center::new("h:1"));
    silent.set_silent(true);
    failing.fail("orders", "connection refused");
    for (center, why) in [
        (&silent, "it cannot be read: no answer within 20ms"),
        (&failing, "it cannot be read: "),
        (&empty, "there is no such document"),
    ] {
        for (params, want) in [
            ("", "set `params.optional: \"true\"` to start without it\n"),
            (", params: {optional: 'true'}", "going on without it\n"),
        ] {
            let text = format!(
                "dubbo: {{config-center: {{address: 'test://h:1', data-id: orders, timeout: 20ms{params}}}}}"
            );
            let loaded = load(&LoadOptions::text("t.yaml", text), &with(center));
            let report = outcome(&loaded);
            let place = "t.yaml:1:57: dubbo.config-center.data-id: test://h:1/dubbo/orders: ";
            assert_eq!(loaded.is_ok(), !params.is_empty(), "{report}");
            assert!(report.contains(&format!("{place}{why}")), "{report}");
            assert!(report.ends_with(want), "{report}");
        }
    }
}

#[test]
fn sources_are_read_again_with_whatever_text_the_center_has_by_then() {
    let folder = layers::Folder::new(
        "reread",
        &[(
            "dubbo.yaml",
            "dubbo: {config-center: {address: 'test://h:1', data-id: orders}, profiles: {active: p}, \
             application: {name: file}, logger: {level: info}}",
        )],
    );
    let draft = read(&folder.options("dubbo.yaml")).expect("valid");
    let config = draft.config.clone();
    let center = center("orders", "dubbo: {logger: {level: warn}}");
    let draft = draft.read_center(&config, &with(&center)).expect("valid");
    assert_eq!(draft.config.logger.level, Some(LogLevel::Warn));
    let (sources, before) = (draft.sources(), draft.tree());
    let document = sources.center().expect("there is one");
    assert_eq!(document.to_string(), "test://h:1/dubbo/orders");
    assert_eq!((document.data_id(), document.group()), ("orders", "dubbo"));
    assert_eq!(document.text(), Some("dubbo: {logger: {level: warn}}"));
    let profile = folder.0.join("dubbo-p.yaml");
    assert_eq!(
        sources.files(),
        [folder.0.join("dubbo.yaml"), profile.clone()]
    );

    std::fs::write(profile, "dubbo: {application: {name: profile}}").expect("writable");
    let after = sources
        .reread(Some("dubbo: {logger: {level: debug}}"))
        .expect("valid");
    let told: Vec<_> = changes(before, after.tree())
        .iter()
        .map(|change| folder.clean(&change.to_string()))
        .collect();
    assert_eq!(
        told,
        [
            "dubbo.application.name: file -> profile (dubbo-p.yaml:1:29)",
            "dubbo.logger.level: warn -> debug (test://h:1/dubbo/orders:1:25)",
        ]
    );
    let without = sources.reread(None).expect("valid");
    assert_eq!(without.config.logger.level, Some(LogLevel::Info));
    let broken = sources.reread(Some("]")).expect_err("is no YAML");
    assert!(
        broken
            .to_string()
            .starts_with("test://h:1/dubbo/orders:1:1: "),
        "{broken}"
    );
}

#[test]
fn a_document_may_be_in_base64() {
    let file = "dubbo: {config-center: {address: 'test://h:1', data-id: orders, params: {base64: 'true'}}}";
    for (text, want) in [
        (
            "ZHViYm86IHthcHBsaWNhdGlvbjogIHtuYW1l\nOiBpbnNpZGV9fQ==\n",
            "",
        ),
        (
            "dubbo: {}",
            "test://h:1/dubbo/orders: not a text in Base64, which `params.base64` asks for: ",
        ),
        (
            "/w==",
            "test://h:1/dubbo/orders: not a text in Base64, which `params.base64` asks for: ",
        ),
    ] {
        let center = center("orders", text);
        let loaded = load(&LoadOptions::text("t.yaml", file), &with(&center));
        let report = outcome(&loaded);
        assert!(report.starts_with(want), "{report}");
        if let Ok(loaded) = loaded {
            assert_eq!(loaded.config.application.name.as_deref(), Some("inside"));
        }
    }
}

/// Waits for what does not wait.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(future)
}
