use std::{sync::Arc, time::Duration};

use dubbo::Instance;
use dubbo_test::soon;
use parking_lot::Mutex;

use super::{
    probe::{Behaviour, Probe},
    rig::{consume, greet, named, url_of},
    support::{HASTY, QOS, registered},
};

#[tokio::test]
async fn hooks_run_when_it_is_ready_when_the_end_begins_and_when_all_is_over() {
    let probe = Probe::new();
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let note = {
        let log = Arc::clone(&log);
        move |text: String| log.lock().push(text)
    };
    let (ready, stopping, stopped) = (note.clone(), note.clone(), note.clone());
    let providers = probe.clone();
    let instance = registered(&probe, &format!("{QOS}, {HASTY}"))
        .provide(named("x"))
        .on_ready(move |_| {
            let (ready, providers) = (ready.clone(), providers.clone());
            async move {
                ready(format!(
                    "ready, registered {}",
                    providers.providers().await.len()
                ));
            }
        })
        .on_ready(async |_| panic!("a bug"))
        .on_ready({
            let ready = note.clone();
            move |instance: Instance| {
                ready(format!("at {} addresses", instance.exported().len()));
                async {}
            }
        })
        .on_stopping(move |instance: Instance| {
            let stopping = stopping.clone();
            async move {
                let consumer = consume(&url_of(&instance), "retries: 0").await;
                let answer = greet(&consumer, "").await.expect("still served");
                stopping(format!("stopping, {answer}"));
            }
        })
        .on_stopped(move |instance: Instance| {
            stopped(format!(
                "stopped, at {} addresses",
                instance.exported().len()
            ));
            async {}
        })
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    assert_eq!(*log.lock(), ["ready, registered 1", "at 1 addresses"]);
    soon("the end", instance.shutdown(Duration::from_secs(20))).await;
    assert_eq!(log.lock()[2..], ["stopping, x", "stopped, at 0 addresses"]);
}

#[tokio::test]
async fn a_hook_that_hangs_is_given_up_when_the_time_is_over() {
    let probe = Probe::new();
    let instance = registered(&probe, &format!("{QOS}, {HASTY}"))
        .provide(named("x"))
        .on_stopping(async |_| std::future::pending().await)
        .on_stopped(async |_| std::future::pending().await)
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    soon("the end", instance.shutdown(Duration::from_millis(50))).await;
    assert!(
        probe.providers().await.is_empty(),
        "it has left the registry all the same"
    );
}

#[tokio::test]
async fn after_a_start_that_fails_only_the_hooks_of_the_end_run() {
    let probe = Probe::new();
    probe.behave(|asked, _| match asked {
        "register" => Behaviour::Refuse,
        _ => Behaviour::Work,
    });
    let log: Arc<Mutex<Vec<&str>>> = Arc::default();
    let note = |text: &'static str| {
        let log = Arc::clone(&log);
        move |_: Instance| {
            log.lock().push(text);
            async {}
        }
    };
    let instance = registered(&probe, &format!("{QOS}, {HASTY}"))
        .provide(named("x"))
        .on_ready(note("ready"))
        .on_stopping(note("stopping"))
        .on_stopped(note("stopped"))
        .build()
        .expect("valid");
    instance.start().await.expect_err("refused");
    assert_eq!(*log.lock(), ["stopping", "stopped"]);
}
