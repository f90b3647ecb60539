//! A report that loses what was published gets it again, as long as the application is registered.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use dubbo_metadata::{model::MetadataInfo, provider::Provider};
use tokio::time::sleep;

use crate::fakes::{World, bar, greet, other, serve_metadata};

#[tokio::test(start_paused = true)]
async fn whatever_is_lost_or_spoilt_is_published_again_and_the_registry_hears_nothing_of_it() {
    let other_revision = br#"{"app":"demo-provider","revision":"another","services":{}}"#;
    for (what, left) in [
        ("all data", None),
        ("the content", Some(&b""[..])),
        ("half of it", Some(&b"{\"app\":\"demo-pro"[..])),
        ("what it stands under", Some(&other_revision[..])),
    ] {
        let (world, provider) = started().await;
        // However long it was there.
        for hours in [0, 1, 10] {
            sleep(Duration::from_hours(hours)).await;
            let before = world.calls();
            lose(&world, left);
            sleep(Duration::from_secs(61)).await;
            let calls = world.calls();
            assert_eq!(calls.len(), before.len() + 1, "{what} after {hours} h");
            assert!(
                calls[before.len()].ends_with(" published 222f"),
                "{calls:?}"
            );
            assert!(is_stored(&world, &provider), "{what} after {hours} h");
        }
        assert_eq!(world.registry_calls().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_there_is_looked_for_now_and_then_and_not_published_again() {
    let (world, _provider) = started().await;
    sleep(Duration::from_hours(1)).await;
    let reads = world.report.reads.load(Ordering::Relaxed);
    assert!(
        (60..=120).contains(&reads),
        "once or twice a minute: {reads}"
    );
    assert_eq!(world.calls().len(), 2);

    let world = World::new();
    let _local = world.started().await;
    sleep(Duration::from_hours(1)).await;
    assert_eq!(world.report.reads.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_report_out_of_reach_has_lost_nothing_and_is_looked_into_when_it_is_back() {
    let (world, provider) = started().await;
    world.report.unreadable.store(true, Ordering::Relaxed);
    sleep(Duration::from_hours(1)).await;
    assert_eq!(world.calls().len(), 2, "nothing is known to be lost");
    lose(&world, None);
    world.report.unreadable.store(false, Ordering::Relaxed);
    sleep(Duration::from_secs(5)).await;
    assert!(is_stored(&world, &provider));
    assert_eq!(world.calls().len(), 3);
    assert_eq!(world.registry_calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_lost_and_cannot_be_published_is_asked_of_the_metadata_service_meanwhile() {
    let (world, provider) = started().await;
    lose(&world, None);
    world.report.fails(usize::MAX);
    sleep(Duration::from_mins(2)).await;
    let calls = world.registry_calls();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(calls[1].ends_with("update 10.0.0.1:50051 222f local"));
    world.report.fails(0);
    sleep(Duration::from_secs(31)).await;
    let calls = world.registry_calls();
    assert!(calls[2].ends_with("update 10.0.0.1:50051 222f remote"));
    assert!(is_stored(&world, &provider));
}

#[tokio::test(start_paused = true)]
async fn once_it_is_unregistered_or_dropped_nothing_is_published_any_more() {
    for unregisters in [true, false] {
        let (world, provider) = started().await;
        sleep(Duration::from_mins(10)).await;
        let kept = unregisters.then(|| Arc::clone(&provider));
        if unregisters {
            provider.unregister().await.expect("gone");
        }
        drop(provider);
        // What ends with a drop ends at its next turn.
        sleep(Duration::from_millis(1)).await;
        lose(&world, None);
        let (calls, reads) = (world.calls(), world.report.reads.load(Ordering::Relaxed));
        sleep(Duration::from_hours(1)).await;
        assert_eq!(world.calls(), calls);
        assert_eq!(world.report.reads.load(Ordering::Relaxed), reads);

        if let Some(provider) = kept {
            provider.register().await.expect("registered");
            assert!(
                is_stored(&world, &provider),
                "nobody hears of it before it can be read"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_look_does_not_shorten_the_quiet_time_of_a_change() {
    let (world, provider) = started().await;
    // A look follows each update in 30 to 60 s, and some of them come while a change has not settled yet.
    for round in 0..120 {
        sleep(Duration::from_secs(28 + round % 30)).await;
        let before = world.registry_calls().len();
        let start = world.start.elapsed();
        provider
            .export(&other(&format!("x.One{round}")))
            .expect("valid");
        sleep(Duration::from_millis(900)).await;
        provider
            .export(&other(&format!("x.Two{round}")))
            .expect("valid");
        sleep(Duration::from_millis(1_100)).await;
        let calls = world.registry_calls();
        assert_eq!(calls.len(), before + 1, "{calls:?}");
        let at = (start + Duration::from_millis(1_900)).as_millis();
        assert!(
            calls[before].starts_with(&format!("{at} ms update ")),
            "{calls:?}"
        );
    }
}

async fn started() -> (World, Arc<Provider>) {
    let world = World::new();
    let provider = world.remote();
    provider.export(&greet("")).expect("valid");
    provider.export(&bar("")).expect("valid");
    serve_metadata(&provider);
    provider.register().await.expect("registered");
    (world, provider)
}

/// What is left of each document.
fn lose(world: &World, left: Option<&'static [u8]>) {
    let mut stored = world.report.stored.lock();
    match left {
        None => stored.clear(),
        Some(left) => stored
            .values_mut()
            .for_each(|json| *json = Bytes::from_static(left)),
    }
}

fn is_stored(world: &World, provider: &Provider) -> bool {
    let current = provider.history().current();
    let stored = world
        .report
        .stored
        .lock()
        .get(current[0].revision())
        .cloned();
    // Beside what is served it says when it was written.
    let info = stored.and_then(|json| MetadataInfo::from_json(&json).ok());
    info.is_some_and(|info| {
        let info = MetadataInfo {
            last_updated_ms: None,
            ..info
        };
        info == *current[0].info
    })
}
