//! Nothing is lost while a reference moves from one path to the other and back.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use dubbo_core::{
    cluster::{ClusterConfig, Directory, MethodConfig},
    service::ServiceKey,
    status::Status,
};
use tokio::time::sleep;

use super::estate::{Estate, Rules, options, settle};
use crate::{
    cluster::Failfast,
    loadbalance::Random,
    migration::{Controller, MigrationStep::*, Path},
    testing::{Answer, consumer, invocation, join, service},
};

fn cluster(directory: Arc<dyn Directory>) -> Arc<dyn dubbo_core::invoker::Invoker> {
    let method = MethodConfig {
        timeout: None,
        retries: Some(0),
        sticky: false,
        load_balance: Arc::new(Random::new()),
    };
    let key = ServiceKey::new("a.B");
    let config = ClusterConfig::new(key, &service(), consumer(), method, &HashMap::new());
    join(&Failfast, directory, Arc::new(config))
}

#[tokio::test(start_paused = true)]
async fn metadata_a25_no_call_is_lost_while_rules_come_and_go() {
    let (estate, rules) = (Estate::of(5, 5), Rules::none());
    for side in [estate.application(), estate.interface()] {
        side.answer(Answer::After(Duration::from_millis(400)));
    }
    let controller = Controller::new(options(&[&rules]));
    let directory = Arc::new(estate.follow(&controller, "a.B").await.expect("followed"));
    let cluster = cluster(Arc::clone(&directory) as _);
    let (done, made) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let callers: Vec<_> = (0..8)
        .map(|_| {
            let (cluster, done, made) =
                (Arc::clone(&cluster), Arc::clone(&done), Arc::clone(&made));
            tokio::spawn(async move {
                while !done.load(Ordering::Relaxed) {
                    cluster.invoke(invocation()).await.expect("no call is lost");
                    made.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for (rule, step) in [
        ("step: FORCE_APPLICATION", ForceApplication),
        ("step: FORCE_INTERFACE", ForceInterface),
        (
            "{step: APPLICATION_FIRST, proportion: 50}",
            ApplicationFirst,
        ),
        ("step: INTERFACE_FIRST", InterfaceFirst),
        ("{step: FORCE_APPLICATION, delay: 5}", ForceApplication),
        ("", ApplicationFirst),
    ]
    .iter()
    .cycle()
    .take(60)
    {
        rules.say(rule).await;
        // Sometimes long enough for a path to be destroyed, sometimes not.
        let pause = if rule.len() % 2 == 0 { 7 } else { 41 };
        sleep(Duration::from_secs(pause)).await;
        assert_eq!(directory.status().step, *step, "{rule}");
    }
    done.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await.expect("no call failed");
    }
    let status = directory.status();
    assert_eq!(
        status.application_calls + status.interface_calls,
        made.load(Ordering::Relaxed)
    );
    assert!(estate.interface().opened() > 5 && estate.application().opened() > 5);
    cluster.close().await;
}

#[tokio::test(start_paused = true)]
async fn no_call_is_lost_while_nobody_can_decide_on_a_rule() {
    let (estate, rules) = (Estate::of(5, 5), Rules::none());
    for side in [estate.application(), estate.interface()] {
        side.answer(Answer::After(Duration::from_millis(400)));
    }
    let huge = format!("interfaces: [{}]", "{step: SOON}, ".repeat(50_000));
    let said = [
        "step: FORCE_APPLICATION",
        "{step: FORCE_APPLICATION, force: true}",
        "step: FORCE_INTERFACE",
        "{step: FORCE_INTERFACE, force: true}",
        "step: APPLICATION_FIRST",
        "{step: INTERFACE_FIRST, proportion: 50}",
        "{step: FORCE_INTERFACE, delay: 1}",
        "step: [",
        "&a [*a]",
        "",
    ];
    let controller = Controller::new(options(&[&rules]));
    let directory = Arc::new(estate.follow(&controller, "a.B").await.expect("followed"));
    let cluster = cluster(Arc::clone(&directory) as _);
    let mut random = fastrand::Rng::with_seed(7);
    let mut callers = tokio::task::JoinSet::new();
    for flip in 0..2_000 {
        let rule = said[random.usize(..said.len())];
        rules.say(if flip % 500 == 0 { &huge } else { rule }).await;
        let cluster = Arc::clone(&cluster);
        callers.spawn(async move { cluster.invoke(invocation()).await.map(drop) });
        sleep(Duration::from_millis(9)).await;
    }
    while let Some(called) = callers.join_next().await {
        called.expect("no panic").expect("no call is lost");
    }
    // The last word counts, and what it does not need ends.
    rules.say("step: FORCE_APPLICATION").await;
    sleep(Duration::from_mins(1)).await;
    assert_eq!(directory.status().step, ForceApplication);
    assert!(estate.application().is_followed() && !estate.interface().is_followed());
    rules.say(&huge).await;
    assert_eq!(directory.status().step, ForceApplication);
    assert!(controller.status().refused.is_some());
    cluster.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_path_whose_calls_fail_is_left_and_tried_again_with_its_next_list() {
    let (estate, rules) = (Estate::of(5, 5), Rules::none());
    estate
        .application()
        .answer(Answer::Fail(Status::unavailable("broken")));
    let mut options = options(&[&rules]);
    options.comparators = "errors".parse().expect("known");
    let controller = Controller::new(options);
    let directory = Arc::new(estate.follow(&controller, "a.B").await.expect("followed"));
    let cluster = cluster(Arc::clone(&directory) as _);
    for _ in 0..100 {
        let _ = cluster.invoke(invocation()).await;
    }
    assert_eq!(directory.status().preferred, Path::Application);
    sleep(Duration::from_secs(12)).await;
    let status = directory.status();
    assert_eq!(status.preferred, Path::Interface);
    assert!(
        status.why.contains("100.0 % of 100 calls fail"),
        "{}",
        status.why
    );
    cluster
        .invoke(invocation())
        .await
        .expect("the other path works");

    estate.application().list(6);
    settle().await;
    assert_eq!(directory.status().preferred, Path::Application);
}
