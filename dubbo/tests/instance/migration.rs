//! From interfaces to applications and back: rules, keys, and that no call is lost on the way.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use dubbo::{
    Instance, InstanceBuilder,
    migration::{MigrationStep, Path, ReferenceStatus},
    spi::config_center::ConfigCenter,
};
use dubbo_cluster::migration::GROUP;
use dubbo_test::{logs::Logs, soon};
use examples::greet::GreeterClient;

use super::{
    applications::{Shared, TRIPLE, provider},
    rig::greet,
};

const BOTH: &str = "registries: {r: {address: 'shared://here', registry-type: all}}";

/// A consumer of the application `boss`, for which the registry is a config center, too.
fn consuming(shared: &Shared, sections: &str) -> Instance {
    let sections = if sections.contains("application:") {
        sections.to_owned()
    } else {
        format!("application: {{name: boss}}, {sections}")
    };
    with_center(shared, shared.load(&sections))
        .build()
        .expect("valid")
}

fn with_center(shared: &Shared, builder: InstanceBuilder) -> InstanceBuilder {
    let registry = shared.0.clone();
    builder.extension::<dyn ConfigCenter>("shared", move |_| Ok(registry.center()))
}

async fn publish(shared: &Shared, rule: &str) {
    let published = shared
        .0
        .center()
        .publish("boss.migration", GROUP, rule)
        .await;
    published.expect("the registry is there");
}

fn reference(instance: &Instance) -> ReferenceStatus {
    let status = instance.migration_status();
    let [reference] = status.references.as_slice() else {
        panic!("one reference: {status:?}");
    };
    reference.clone()
}

async fn until(what: &str, instance: &Instance, is_so: impl Fn(&ReferenceStatus) -> bool) {
    soon(what, async {
        while !is_so(&reference(instance)) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metadata_a25_a_rule_moves_a_reference_under_load_and_no_call_is_lost() {
    let shared = Shared::new();
    let providers = [
        provider(&shared, &format!("{TRIPLE}, {BOTH}")).await,
        provider(&shared, &format!("{TRIPLE}, {BOTH}")).await,
    ];
    let consumer = consuming(
        &shared,
        &format!("{BOTH}, consumer: {{references: {{GreeterClient: {{retries: 0}}}}}}"),
    );
    let greeter = consumer.refer::<GreeterClient>().await.expect("found");
    let (done, made) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let (greeter, done, made) = (greeter.clone(), Arc::clone(&done), Arc::clone(&made));
            tokio::spawn(async move {
                while !done.load(Ordering::Relaxed) {
                    greet(&greeter, "").await.expect("no call is lost");
                    made.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let steps = [
        ("FORCE_INTERFACE", Path::Interface),
        ("APPLICATION_FIRST", Path::Application),
        ("FORCE_APPLICATION", Path::Application),
        ("INTERFACE_FIRST", Path::Interface),
        ("FORCE_APPLICATION", Path::Application),
    ];
    for (step, path) in steps.iter().cycle().take(25) {
        publish(
            &shared,
            &format!("{{key: boss, step: {step}, threshold: 1.0}}"),
        )
        .await;
        let wanted: MigrationStep = step.parse().expect("a step");
        until("the step is taken", &consumer, |status| {
            status.step == wanted && status.preferred == *path
        })
        .await;
        let calls = |status: &ReferenceStatus| match path {
            Path::Application => status.application_calls,
            Path::Interface => status.interface_calls,
        };
        let before = calls(&reference(&consumer));
        until("calls go that way", &consumer, |status| {
            assert!(!callers.iter().any(tokio::task::JoinHandle::is_finished));
            calls(status) > before + 20
        })
        .await;
    }
    done.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await.expect("no call failed");
    }
    let status = reference(&consumer);
    let made = made.load(Ordering::Relaxed);
    assert_eq!(status.application_calls + status.interface_calls, made);
    assert_eq!(status.application_addresses, Some(2));
    drop(providers);
}

#[tokio::test]
async fn metadata_a25_an_empty_rule_and_one_that_is_none() {
    let shared = Shared::new();
    let _provider = provider(&shared, &format!("{TRIPLE}, {BOTH}")).await;
    publish(&shared, "step: FORCE_INTERFACE").await;
    let consumer = consuming(&shared, BOTH);
    let _greeter = consumer.refer::<GreeterClient>().await.expect("found");
    let status = consumer.migration_status();
    assert_eq!(status.application, "boss");
    assert_eq!(status.rule.as_deref(), Some("shared://here"));
    let first = reference(&consumer);
    assert_eq!(
        first.step,
        MigrationStep::ForceInterface,
        "it was asked for first"
    );
    assert_eq!(first.application_addresses, None);

    publish(&shared, "step: [").await;
    soon("it is refused", async {
        while consumer.migration_status().refused.is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(reference(&consumer).step, MigrationStep::ForceInterface);
    publish(&shared, "").await;
    until("the defaults are back", &consumer, |status| {
        status.step == MigrationStep::ApplicationFirst && status.said_by == "the default"
    })
    .await;
}

#[tokio::test]
async fn the_program_sets_a_rule_where_there_is_something_to_migrate() {
    let shared = Shared::new();
    let _provider = provider(&shared, &format!("{TRIPLE}, {BOTH}")).await;
    let consumer = consuming(&shared, BOTH);
    let greeter = consumer.refer::<GreeterClient>().await.expect("found");
    let error = consumer
        .set_migration_rule("step: NEVER")
        .expect_err("no step");
    assert!(
        error
            .to_string()
            .starts_with("the migration rule cannot be read: a call:1:7: step: expected"),
        "{error}"
    );
    consumer
        .set_migration_rule("step: FORCE_INTERFACE")
        .expect("a rule");
    until("it counts", &consumer, |status| {
        status.step == MigrationStep::ForceInterface
    })
    .await;
    assert_eq!(consumer.migration_status().rule.as_deref(), Some("a call"));
    let before = reference(&consumer).interface_calls;
    greet(&greeter, "").await.expect("answers");
    assert_eq!(reference(&consumer).interface_calls, before + 1);

    for kind in ["service", "interface"] {
        let registries = BOTH.replace("all", kind);
        let alone = consuming(&shared, &registries);
        let _greeter = alone.refer::<GreeterClient>().await.expect("found");
        assert_eq!(alone.migration_status().references, []);
        let error = alone.set_migration_rule("step: FORCE_INTERFACE");
        let error = error.expect_err("nothing to migrate").to_string();
        assert!(error.contains("set `registry-type: all`"), "{error}");
    }
}

#[tokio::test]
async fn keys_say_how_references_migrate_until_a_rule_does() {
    let shared = Shared::new();
    let _provider = provider(&shared, &format!("{TRIPLE}, {BOTH}")).await;
    let of_reference = |params: &str| {
        format!("{BOTH}, consumer: {{references: {{GreeterClient: {{params: {{{params}}}}}}}}}")
    };
    for (sections, want) in [
        (BOTH.to_owned(), "APPLICATION_FIRST 0 100 the default"),
        (
            format!(
                "application: {{name: boss, migration: {{step: interface_first, threshold: 0.5, proportion: 30}}}}, {BOTH}"
            ),
            "INTERFACE_FIRST 0.5 30 the configuration",
        ),
        (
            format!(
                "application: {{name: boss, service-discovery: {{migration: FORCE_INTERFACE}}}}, {BOTH}"
            ),
            "FORCE_INTERFACE 0 100 the configuration",
        ),
        (
            of_reference(
                "migration.step: FORCE_APPLICATION, migration.threshold: '0.25', migration.promotion: 7",
            ),
            "FORCE_APPLICATION 0.25 7 the reference",
        ),
    ] {
        let consumer = consuming(&shared, &sections);
        let _greeter = consumer.refer::<GreeterClient>().await.expect("found");
        let status = reference(&consumer);
        let got = format!(
            "{} {} {} {}",
            status.step, status.threshold, status.proportion, status.said_by
        );
        assert_eq!(got, want, "{sections}");
    }
    let consumer = consuming(&shared, &of_reference("migration.promotion: most"));
    let error = consumer
        .refer::<GreeterClient>()
        .await
        .expect_err("refused");
    assert_eq!(
        error.to_string(),
        "cannot refer to greet.Greeter: `migration.promotion` is `most`, and it takes a whole number from 0 to 100"
    );
}

#[tokio::test]
async fn a_registry_that_is_no_config_center_is_not_asked_for_rules() {
    for (more, want) in [
        ("", MigrationStep::ForceInterface),
        (
            ", use-as-config-center: true",
            MigrationStep::ForceInterface,
        ),
        (
            ", use-as-config-center: false",
            MigrationStep::ApplicationFirst,
        ),
    ] {
        let shared = Shared::new();
        let _provider = provider(&shared, &format!("{TRIPLE}, {BOTH}")).await;
        publish(&shared, "step: FORCE_INTERFACE").await;
        let registries = BOTH.replace("registry-type: all", &format!("registry-type: all{more}"));
        let consumer = consuming(&shared, &registries);
        let _greeter = consumer.refer::<GreeterClient>().await.expect("found");
        assert_eq!(reference(&consumer).step, want, "{more}");
    }
}

#[tokio::test]
async fn metadata_a25_a_local_rule_counts_when_it_is_enabled_and_its_time_has_come() {
    let shared = Shared::new();
    let _provider = provider(&shared, &format!("{TRIPLE}, {BOTH}")).await;
    let path = format!("{}/dubbo-migration.yaml", env!("CARGO_TARGET_TMPDIR"));
    fs::write(&path, "{step: FORCE_INTERFACE, force: true}").expect("written");
    let sections = |enable: bool| {
        format!(
            "application: {{name: boss, migration: {{delay: 20ms}}}}, {BOTH}, \
             migration: {{file: '{path}'}}, migration-file: {{enable: {enable}}}"
        )
    };
    let enabled = consuming(&shared, &sections(true));
    let disabled = consuming(&shared, &sections(false));
    let _greeters = (
        enabled.refer::<GreeterClient>().await.expect("found"),
        disabled.refer::<GreeterClient>().await.expect("found"),
    );
    until("the file counts", &enabled, |status| {
        status.step == MigrationStep::ForceInterface
    })
    .await;
    assert_eq!(enabled.migration_status().rule.as_deref(), Some(&*path));
    assert_eq!(reference(&disabled).step, MigrationStep::ApplicationFirst);
}

#[tokio::test]
async fn what_is_registered_is_what_the_register_mode_says() {
    for (application, registry, migration, want) in [
        ("", "", "", [1, 0]),
        ("", "", "migration: {enabled: true}", [1, 1]),
        (
            "",
            ", registry-type: interface",
            "migration: {enabled: true}",
            [0, 1],
        ),
        ("", ", register-mode: ALL", "", [1, 1]),
        (
            "",
            ", register-mode: instance, registry-type: interface",
            "",
            [1, 0],
        ),
        (", register-mode: Interface", "", "", [0, 1]),
        (
            ", register-mode: interface",
            ", registry-type: all",
            "",
            [0, 1],
        ),
        (
            ", register-mode: interface",
            ", register-mode: all",
            "",
            [1, 1],
        ),
    ] {
        let shared = Shared::new();
        let sections = format!(
            "application: {{name: app{application}}}, {TRIPLE}, registries: {{r: {{address: 'shared://here'{registry}}}}}, \
             {migration}"
        );
        let (logs, _guard) = Logs::record();
        let provider = shared
            .load(&sections)
            .provide(super::rig::named("found"))
            .build()
            .expect("valid");
        provider.start().await.expect("starts");
        let registered = [
            shared.instances("app").await.len(),
            shared.urls().await.len(),
        ];
        assert_eq!(registered, want, "{sections}");
        let mode = match want {
            [1, 1] => "all",
            [1, 0] => "instance",
            _ => "interface",
        };
        let report = format!(r#"report={{"application":"app","status":"{mode}"}}"#);
        assert_eq!(logs.with(&report).len(), 1, "{sections}");
    }
}

#[tokio::test]
async fn both_ways_are_explained_with_the_choice() {
    let shared = Shared::new();
    let _provider = provider(&shared, &format!("{TRIPLE}, {BOTH}")).await;
    let consumer = consuming(&shared, BOTH);
    let asked = consumer
        .explain("greet.Greeter")
        .await
        .expect("a service key");
    let origins: Vec<_> = asked
        .roads
        .iter()
        .map(|road| road.origin.as_str())
        .collect();
    assert_eq!(
        origins,
        [
            "registry shared://here by application",
            "registry shared://here by interface"
        ]
    );
    assert!(asked.is_available());

    let _greeter = consumer.refer::<GreeterClient>().await.expect("found");
    let explained = consumer
        .explain("greet.Greeter")
        .await
        .expect("a service key");
    let text = explained.to_string();
    for part in [
        "greet.Greeter can be called\n",
        "migration: APPLICATION_FIRST, as the default says; calls go by application: by application 1 address, by \
         interface 1: 1.00 ≥ 0\n",
        "path: by interface\n",
        "path: by application\n",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("<- here"), "{text}");
}

#[tokio::test]
async fn whoever_is_registered_one_way_only_is_found_and_both_are_named_when_nobody_is() {
    let shared = Shared::new();
    let consumer = consuming(&shared, &format!("{BOTH}, consumer: {{check: false}}"));
    let greeter = consumer
        .refer::<GreeterClient>()
        .await
        .expect("not checked");
    let error = greet(&greeter, "").await.expect_err("nobody is there");
    for part in [
        "by application: ",
        "by interface: registry shared://here lists none",
    ] {
        assert!(error.message().contains(part), "{part} in {error}");
    }
    for kind in ["interface", "service"] {
        let registries = BOTH.replace("all", kind);
        let provider = provider(&shared, &format!("{TRIPLE}, {registries}")).await;
        soon("it is found", async {
            while greet(&greeter, "").await.is_err() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        provider.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn a_provider_sees_who_calls_by_which_way() {
    let shared = Shared::new();
    let on = "migration: {readiness: true}";
    let provider = provider(&shared, &format!("{TRIPLE}, {BOTH}, {on}")).await;
    let alone = |kind: &str| BOTH.replace("all", kind);
    let force =
        "consumer: {references: {GreeterClient: {params: {migration.step: FORCE_INTERFACE}}}}";
    for (application, sections, calls) in [
        ("first", format!("{BOTH}, {on}"), 1),
        ("forced", format!("{BOTH}, {on}, {force}"), 2),
        ("modern", format!("{}, {on}", alone("service")), 3),
        ("old", format!("{}, {on}", alone("interface")), 4),
        ("silent", BOTH.to_owned(), 5),
    ] {
        let consumer = consuming(
            &shared,
            &format!("application: {{name: {application}}}, {sections}"),
        );
        let greeter = consumer.refer::<GreeterClient>().await.expect("found");
        for _ in 0..calls {
            greet(&greeter, "").await.expect("answers");
        }
    }
    let seen = provider.migration_readiness().expect("it is on");
    let seen: Vec<_> = seen
        .iter()
        .map(|seen| {
            let kinds = [seen.by_application, seen.by_interface, seen.unsaid];
            for kind in kinds {
                assert_eq!(kind.calls > 0, kind.last.is_some());
            }
            let counts = kinds.map(|kind| kind.calls);
            format!("{} {} {counts:?}", seen.service, seen.application)
        })
        .collect();
    assert_eq!(
        seen,
        [
            "greet.Greeter  [0, 0, 5]",
            "greet.Greeter first [1, 0, 0]",
            "greet.Greeter forced [0, 2, 0]",
            "greet.Greeter modern [3, 0, 0]",
            "greet.Greeter old [0, 4, 0]",
        ]
    );

    let without = consuming(&shared, BOTH);
    let error = without
        .migration_readiness()
        .expect_err("it is off")
        .to_string();
    assert!(
        error.contains("set `dubbo.migration.readiness: true`"),
        "{error}"
    );
}
