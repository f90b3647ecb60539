//! Where rules come from, and what an application begins with.

use std::{fs, sync::Arc, time::Duration};

use dubbo_core::cluster::Directory;
use tokio::time::{Instant, sleep};

use super::estate::{Estate, Rules, calls, options, settle};
use crate::migration::{Controller, LocalFile, MigrationStep::*, Path, Terms};

#[tokio::test(start_paused = true)]
async fn metadata_a25_a_local_file_waits_a_minute_for_a_rule_from_elsewhere() {
    let path = std::env::temp_dir().join(format!("dubbo-migration-{}.yaml", std::process::id()));
    fs::write(&path, "{step: FORCE_INTERFACE, force: true}").expect("written");
    for remote in [None, Some("proportion: 1")] {
        let (estate, rules) = (Estate::of(10, 10), Rules::none());
        let mut options = options(&[&rules]);
        options.file = Some(LocalFile {
            path: path.clone(),
            wait: Duration::from_mins(1),
        });
        let controller = Controller::new(options);
        let directory = estate.follow(&controller, "a.B").await.expect("followed");
        if let Some(rule) = remote {
            rules.say(rule).await;
        }
        sleep(Duration::from_secs(59)).await;
        assert_eq!(directory.status().step, ApplicationFirst);
        sleep(Duration::from_secs(2)).await;
        let file = path.display().to_string();
        if remote.is_some() {
            assert_eq!(directory.status().step, ApplicationFirst);
            assert_eq!(controller.status().rule.as_deref(), Some("test://rules"));
            rules.delete().await;
        }
        // Reading goes on in a thread, which a paused clock does not wait for.
        let mut rule = controller.rules();
        let named = |source: Option<&Arc<str>>| source.is_some_and(|source| **source == *file);
        let read = rule.wait_for(|current| named(current.source.as_ref()));
        drop(read.await.expect("the controller is there"));
        settle().await;
        assert_eq!(directory.status().step, ForceInterface);
    }
    fs::remove_file(&path).expect("removed");
}

#[tokio::test(start_paused = true)]
async fn a_reference_begins_with_what_the_rule_says_and_waits_for_it_for_a_while() {
    let (estate, rules) = (Estate::of(1, 10), Rules::none());
    rules.say("step: FORCE_APPLICATION").await;
    let controller = Controller::new(options(&[&rules]));
    let directory = estate.follow(&controller, "a.B").await.expect("followed");
    let status = directory.status();
    assert_eq!(
        status.step, ForceApplication,
        "nothing is compared at the start"
    );
    assert_eq!(
        (status.last_change.origin, status.last_change.success),
        (None, true)
    );
    assert_eq!(estate.interface().opened(), 0);

    let silent = Rules::silent();
    let controller = Controller::new(options(&[&silent]));
    let began = Instant::now();
    let directory = estate.follow(&controller, "a.B").await.expect("followed");
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    assert_eq!(directory.status().step, ApplicationFirst);
}

#[tokio::test(start_paused = true)]
async fn the_reference_and_the_configuration_say_what_no_rule_does() {
    let estate = Estate::of(10, 10);
    let mut options = options(&[]);
    options.configured = Terms {
        step: Some(InterfaceFirst),
        proportion: Some(100),
        ..Terms::default()
    };
    let controller = Controller::new(options);
    let directory = estate.follow(&controller, "a.B").await.expect("followed");
    let status = directory.status();
    assert_eq!(
        (status.step, status.said_by.as_str()),
        (InterfaceFirst, "the configuration")
    );
    assert_eq!(calls(&directory, 10), (0, 10));
    estate.interface().list(0);
    settle().await;
    assert_eq!(calls(&directory, 10), (10, 0));

    let own = "a.B?migration.step=APPLICATION_FIRST&migration.promotion=0";
    let directory = estate.follow(&controller, own).await.expect("followed");
    estate.interface().list(10);
    settle().await;
    assert_eq!(directory.status().said_by, "the reference");
    assert_eq!(calls(&directory, 10), (0, 10));
    controller.set_rule("proportion: 100").expect("a rule");
    settle().await;
    assert_eq!(calls(&directory, 10), (10, 0));
    assert_eq!(controller.status().rule.as_deref(), Some("a call"));

    let wrong = estate.follow(&controller, "a.B?migration.step=NEVER").await;
    let error = wrong.expect_err("refused").to_string();
    assert_eq!(
        error,
        "`migration.step` is `NEVER`, and it takes FORCE_INTERFACE, INTERFACE_FIRST, APPLICATION_FIRST or FORCE_APPLICATION"
    );
}

#[tokio::test(start_paused = true)]
async fn callers_stay_where_their_attachment_puts_them() {
    let estate = Estate::of(10, 10);
    let controller = Controller::new(options(&[]));
    controller.set_rule("proportion: 50").expect("a rule");
    let consumer = "a.B?migration.sticky-key=user";
    let directory = estate
        .follow(&controller, consumer)
        .await
        .expect("followed");
    let mut by_application = 0;
    for user in 0..200 {
        let mut call = crate::testing::invocation();
        call.attachments.insert("user", format!("user-{user}"));
        let before = directory.status().application_calls;
        for _ in 0..20 {
            directory.list(&call).expect("somebody is there");
        }
        let granted = directory.status().application_calls - before;
        assert!(
            [0, 20].contains(&granted),
            "{granted} of 20 calls of one user"
        );
        by_application += granted / 20;
    }
    assert!(
        (80..120).contains(&by_application),
        "{by_application} of 200 users"
    );
}

#[tokio::test(start_paused = true)]
async fn a_path_that_cannot_be_followed_fails_a_start_and_is_tried_again_later() {
    let (estate, rules) = (Estate::of(10, 10), Rules::none());
    let controller = Controller::new(options(&[&rules]));
    estate.application().refuse_once("no such service");
    let failed = estate.follow(&controller, "a.B").await;
    let error = failed.expect_err("refused").to_string();
    assert!(error.contains("no such service"), "{error}");
    settle().await;
    assert!(!estate.interface().is_followed() && estate.interface().all_closed());

    rules.say("step: FORCE_INTERFACE").await;
    let directory = estate.follow(&controller, "a.B").await.expect("followed");
    estate.application().refuse_once("not now");
    rules.say("step: FORCE_APPLICATION").await;
    assert_eq!(directory.status().step, ForceInterface);
    assert!(
        directory.status().last_change.success,
        "nothing was compared, nothing was refused"
    );
    sleep(Duration::from_secs(5)).await;
    settle().await;
    assert_eq!(directory.status().step, ForceApplication);
    assert_eq!(calls(&directory, 10), (10, 0));
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_a_registry_is_no_empty_list() {
    let estate = Estate::of(10, 10);
    let controller = Controller::new(options(&[]));
    let directory = estate.follow(&controller, "a.B").await.expect("followed");
    estate.application().fail("it is down");
    sleep(Duration::from_mins(1)).await;
    let status = directory.status();
    assert_eq!(
        (status.preferred, status.application_addresses),
        (Path::Application, Some(10))
    );
    assert_eq!(calls(&directory, 10), (10, 0));
}

#[tokio::test(start_paused = true)]
async fn closing_ends_both_paths_and_dropping_does_so_too() {
    for close in [true, false] {
        let estate = Estate::of(10, 10);
        let controller = Controller::new(options(&[]));
        let directory = estate.follow(&controller, "a.B").await.expect("followed");
        if close {
            directory.close().await;
            assert!(estate.application().all_closed() && estate.interface().all_closed());
            let error = directory
                .list(&crate::testing::invocation())
                .expect_err("closed");
            assert!(
                error.message().contains("the reference is closed"),
                "{error}"
            );
        }
        drop(directory);
        settle().await;
        assert!(!estate.application().is_followed() && !estate.interface().is_followed());
        assert_eq!(controller.status().references, []);
        controller.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_rule_once_the_controller_is_closed() {
    let (estate, rules) = (Estate::of(1, 1), Rules::none());
    let controller = Controller::new(options(&[&rules]));
    controller.close().await;
    let following = estate.follow(&controller, "a.B");
    let following = tokio::time::timeout(Duration::from_mins(1), following).await;
    let directory = following.expect("at once").expect("followed");
    directory.close().await;
}
