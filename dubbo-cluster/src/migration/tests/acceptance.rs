//! `docs/spec/metadata.md` §9, test 25, step by step.

use std::{sync::Arc, time::Duration};

use dubbo_core::cluster::Directory;
use tokio::time::sleep;

use super::estate::{Estate, Rules, calls, options, settle};
use crate::{
    migration::{Controller, MigrationDirectory, MigrationStep::*, Path},
    testing::invocation,
};

const RULE: &str = "{key: c, step: APPLICATION_FIRST, threshold: 0.5, proportion: 60}";
const FORCED: &str = "{key: c, step: FORCE_APPLICATION, threshold: 1.0}";

/// The reference `DemoService:1.0.0` of the application `c`, in the estate and under the rule of the test.
async fn given(
    application: usize,
    interface: usize,
    rule: &str,
) -> (Arc<Estate>, Arc<Rules>, Arc<Controller>, MigrationDirectory) {
    let (estate, rules) = (Estate::of(application, interface), Rules::none());
    rules.say(rule).await;
    let controller = Controller::new(options(&[&rules]));
    let directory = estate
        .follow(&controller, "DemoService?version=1.0.0")
        .await;
    let directory = directory.expect("can be followed");
    (estate, rules, controller, directory)
}

#[tokio::test(start_paused = true)]
async fn metadata_a25_too_few_addresses_leave_all_calls_with_the_interface() {
    let (_estate, _rules, controller, directory) = given(4, 10, RULE).await;
    assert_eq!(calls(&directory, 10_000), (0, 10_000));
    let status = directory.status();
    assert_eq!(
        (status.step, status.preferred),
        (ApplicationFirst, Path::Interface)
    );
    assert_eq!(
        (status.application_addresses, status.interface_addresses),
        (Some(4), Some(10))
    );
    assert!(status.why.contains("0.40 < 0.5"), "{}", status.why);
    assert_eq!(status.said_by, "the rule");
    assert!(status.consumption().contains(r#""status":"interface""#));
    let all = controller.status();
    assert_eq!(
        (all.application.as_str(), all.rule.as_deref()),
        ("c", Some("test://rules"))
    );
    assert_eq!(all.references, [directory.status()]);
}

#[tokio::test(start_paused = true)]
async fn metadata_a25_enough_addresses_take_the_proportion_of_the_calls() {
    let (estate, _rules, _controller, directory) = given(4, 10, RULE).await;
    estate.application().list(5);
    settle().await;
    assert_eq!(directory.status().preferred, Path::Application);
    let (application, interface) = calls(&directory, 10_000);
    assert!(application.abs_diff(6_000) <= 200, "{application} of 10000");
    assert_eq!(application + interface, 10_000);

    estate.application().set_available(false);
    assert_eq!(
        calls(&directory, 1_000),
        (0, 1_000),
        "nobody of the application can be called"
    );
    estate.application().set_available(true);
    estate.interface().set_available(false);
    assert_eq!(
        calls(&directory, 1_000),
        (1_000, 0),
        "and the other way round"
    );
    estate.interface().list(0);
    settle().await;
    assert_eq!(calls(&directory, 1_000), (1_000, 0), "nor is anybody there");
}

#[tokio::test(start_paused = true)]
async fn metadata_a25_a_forced_step_is_refused_and_taken_by_itself_once_it_can_be() {
    let (estate, rules, _controller, directory) = given(5, 10, RULE).await;
    rules.say(FORCED).await;
    let status = directory.status();
    assert_eq!(
        (status.step, status.wanted),
        (ApplicationFirst, Some(ForceApplication))
    );
    assert!(
        status
            .refused
            .as_ref()
            .is_some_and(|why| why.contains("0.50 < 1"))
    );
    assert!(!status.last_change.success);
    for part in [
        r#""originStep":"APPLICATION_FIRST""#,
        r#""newStep":"FORCE_APPLICATION""#,
        r#""success":"false""#,
    ] {
        assert!(status.migration_step_status().contains(part));
    }
    let (application, _) = calls(&directory, 10_000);
    assert!(
        application.abs_diff(6_000) <= 200,
        "{application}: the rule before is in force"
    );

    estate.application().list(10);
    settle().await;
    let status = directory.status();
    assert_eq!((status.step, status.wanted), (ForceApplication, None));
    assert!(status.last_change.success);
    assert_eq!(calls(&directory, 1_000), (1_000, 0));
    assert_eq!(status.interface_addresses, None);

    // Drained for 30 s, then destroyed.
    sleep(Duration::from_secs(29)).await;
    assert!(estate.interface().is_followed() && !estate.interface().all_closed());
    sleep(Duration::from_secs(1)).await;
    settle().await;
    assert!(!estate.interface().is_followed() && estate.interface().all_closed());
    assert_eq!(estate.interface().opened(), 1);

    // And back, to a path that has to be made anew.
    rules.say(RULE).await;
    assert_eq!(estate.interface().opened(), 2);
    let (application, interface) = calls(&directory, 10_000);
    assert!(application.abs_diff(6_000) <= 200, "{application}");
    assert!(interface > 0 && estate.interface().is_followed());
}

#[tokio::test(start_paused = true)]
async fn metadata_a25_a_path_that_is_drained_is_taken_up_again() {
    let (estate, rules, _controller, directory) = given(10, 10, FORCED).await;
    assert_eq!(estate.interface().opened(), 0, "it was never needed");
    rules.say("step: FORCE_INTERFACE").await;
    assert_eq!(directory.status().step, ForceInterface);
    assert_eq!(
        (estate.application().opened(), estate.interface().opened()),
        (1, 1)
    );
    sleep(Duration::from_secs(20)).await;
    rules.say(FORCED).await;
    assert_eq!(directory.status().step, ForceApplication);
    assert_eq!(estate.application().opened(), 1);
    sleep(Duration::from_mins(1)).await;
    assert!(estate.application().is_followed() && !estate.application().all_closed());
    assert!(!estate.interface().is_followed());
    assert_eq!(calls(&directory, 10), (10, 0));
}

#[tokio::test(start_paused = true)]
async fn metadata_a25_an_entry_changes_its_reference_alone() {
    let (estate, rules, controller, demo) = given(10, 10, RULE).await;
    let other = estate
        .follow(&controller, "OtherService?version=1.0.0")
        .await;
    let other = other.expect("can be followed");
    let before = other.status();
    let entry = "interfaces: [{serviceKey: 'DemoService:1.0.0', step: FORCE_INTERFACE}]";
    rules
        .say(&format!("{{{}, {entry}}}", &RULE[1..RULE.len() - 1]))
        .await;
    let status = demo.status();
    assert_eq!(status.step, ForceInterface);
    assert_eq!(
        status.said_by,
        "the rule's entry for the interface DemoService:1.0.0"
    );
    assert_eq!(other.status(), before);
    assert_eq!(calls(&demo, 100), (0, 100));
}

#[tokio::test(start_paused = true)]
async fn metadata_a25_an_entry_for_an_application_follows_the_mapping() {
    let (estate, rules, _controller, directory) = given(10, 10, RULE).await;
    let entry = "{applications: [{serviceKey: legacy, step: FORCE_INTERFACE, threshold: 1}]}";
    rules.say(entry).await;
    assert_eq!(directory.status().step, ApplicationFirst);
    estate.map(&["legacy"]);
    estate.application().list(9);
    settle().await;
    let status = directory.status();
    assert_eq!(status.step, ForceInterface);
    assert_eq!(
        status.said_by,
        "the rule's entry for the application legacy"
    );
    // What providers say they belong to counts as well.
    rules
        .say("{applications: [{serviceKey: shop, step: INTERFACE_FIRST}]}")
        .await;
    assert_eq!(directory.status().step, InterfaceFirst);
}

#[tokio::test(start_paused = true)]
async fn metadata_a25_an_empty_rule_brings_the_defaults_back() {
    for empty in [Some(""), Some("# nothing yet"), None] {
        let (_estate, rules, controller, directory) = given(1, 10, RULE).await;
        assert_eq!(directory.status().preferred, Path::Interface);
        match empty {
            Some(text) => rules.say(text).await,
            None => rules.delete().await,
        }
        let status = directory.status();
        assert_eq!(
            (status.step, status.said_by.as_str()),
            (ApplicationFirst, "the default")
        );
        assert!(status.threshold.abs() < f64::EPSILON);
        assert_eq!(
            (status.proportion, status.preferred),
            (100, Path::Application)
        );
        assert_eq!(calls(&directory, 1_000), (1_000, 0));
        assert_eq!(controller.status().rule, None);
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_a25_what_is_no_rule_leaves_the_one_before() {
    let (_estate, rules, controller, directory) = given(5, 10, RULE).await;
    let before = directory.status();
    for text in ["step: [", "step: SOMETIMES", "proportion: 600", "- a list"] {
        rules.say(text).await;
        assert_eq!(directory.status(), before, "{text}");
        let refused = controller.status().refused.expect("it is told");
        assert!(refused.contains("test://rules:"), "{refused}");
        assert!(controller.set_rule(text).is_err());
        assert_eq!(directory.status(), before, "{text}");
    }
    rules.fail().await;
    assert_eq!(directory.status(), before, "an outage is no empty rule");
    rules.say(RULE).await;
    assert_eq!(controller.status().rule.as_deref(), Some("test://rules"));
}

#[tokio::test(start_paused = true)]
async fn metadata_a25_calls_say_what_both_paths_lack() {
    let (estate, rules, _controller, directory) = given(0, 0, RULE).await;
    let error = directory.list(&invocation()).expect_err("nobody is there");
    let registry = "registry memory://local lists none, and has listed none for";
    for part in [
        "no provider available for DemoService:1.0.0: ",
        &format!("by application: {registry}"),
        &format!("by interface: {registry}"),
    ] {
        assert!(error.message().contains(part), "{part} in {error}");
    }
    assert!(error.is_not_processed());
    let why = directory.why_unavailable().expect("nobody can be called");
    assert!(
        why.contains("by application: ") && why.contains("; by interface: "),
        "{why}"
    );
    assert!(!*directory.availability().borrow());

    rules.say("{step: FORCE_APPLICATION, force: true}").await;
    let error = directory.list(&invocation()).expect_err("nobody is there");
    assert!(
        error
            .message()
            .contains("(the rule says FORCE_APPLICATION, so there is no other way)"),
        "{error}"
    );
    assert!(!error.message().contains("by interface"), "{error}");

    estate.application().list(1);
    let mut available = directory.availability();
    available.wait_for(|up| *up).await.expect("watched");
    assert_eq!(directory.why_unavailable(), None);
    assert_eq!(directory.nodes().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn metadata_a25_the_choice_is_explained_with_both_paths() {
    let (estate, rules, _controller, directory) = given(4, 10, RULE).await;
    let text = |directory: &MigrationDirectory| {
        let steps = directory.explain(&invocation());
        let lines: Vec<_> = steps.iter().map(ToString::to_string).collect();
        lines.join("\n")
    };
    let explained = text(&directory);
    for part in [
        "migration: APPLICATION_FIRST, as the rule says; calls go by interface: by application 4 addresses, by \
         interface 10: 0.40 < 0.5\npath: by application\n",
        "available: all of 4 can be reached -> 4\npath: by interface\n",
    ] {
        assert!(explained.contains(part), "{part} in {explained}");
    }
    assert!(
        explained.ends_with("available: all of 10 can be reached -> 10"),
        "{explained}"
    );

    rules.say(FORCED).await;
    let explained = text(&directory);
    let part = "APPLICATION_FIRST, as the rule says, not yet FORCE_APPLICATION: it is refused: by application 4 addresses";
    assert!(explained.contains(part), "{part} in {explained}");

    estate.interface().list(0);
    settle().await;
    let explained = text(&directory);
    assert!(
        explained.starts_with("migration: FORCE_APPLICATION"),
        "{explained}"
    );
}
