//! What is registered can be read: publishing into a report goes first.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use dubbo_core::registry::RegistryErrorKind;
use dubbo_metadata::{instance::Storage, model::MetadataInfo, provider::Provider};
use tokio::time::sleep;

use crate::fakes::{World, bar, greet, serve_metadata};

#[tokio::test(start_paused = true)]
async fn metadata_a02_what_is_registered_can_be_read() {
    let world = World::new();
    let provider = world.remote();
    world.report.takes(Duration::from_millis(200));
    provider.export(&greet("")).expect("valid");
    provider.export(&bar("")).expect("valid");
    provider.register().await.expect("registered");
    assert_eq!(
        world.calls(),
        [
            "200 ms published 222f",
            "200 ms register 10.0.0.1:50051 222f remote"
        ]
    );
    let json = world.report.published.lock()[0].clone();
    let info = MetadataInfo::from_json(&json).expect("JSON");
    // When it was written stands in the report only.
    assert_eq!(info.last_updated_ms, Some(1_700_000_000_000));
    let info = MetadataInfo {
        last_updated_ms: None,
        ..info
    };
    let published = provider
        .history()
        .get(&info.revision)
        .expect("answered for");
    assert_eq!(info, *published.info);
}

#[tokio::test(start_paused = true)]
async fn metadata_a02_publishing_that_fails_is_tried_again_and_registering_waits_for_it() {
    let world = World::new();
    let provider = world.remote();
    world.report.fails(3);
    provider.export(&greet("")).expect("valid");
    provider.export(&bar("")).expect("valid");
    serve_metadata(&provider);
    provider.register().await.expect("registered");
    let calls = world.calls();
    assert_eq!(calls.len(), 5, "{calls:?}");
    assert!(
        calls[..3]
            .iter()
            .all(|call| call.ends_with("not published 222f"))
    );
    assert!(calls[3].ends_with("published 222f"));
    assert!(calls[4].ends_with("register 10.0.0.1:50051 222f remote"));
    // 100, 200 and 400 ms, each with half of it left to chance.
    let total = world.start.elapsed();
    let range = Duration::from_millis(350)..=Duration::from_millis(700);
    assert!(range.contains(&total), "{total:?}");
}

#[tokio::test(start_paused = true)]
async fn metadata_a02_the_metadata_service_takes_the_place_of_a_report_that_fails_for_long() {
    let world = World::new();
    let provider = world.remote();
    world.report.fails(usize::MAX);
    provider.export(&greet("")).expect("valid");
    provider.export(&bar("")).expect("valid");
    serve_metadata(&provider);
    provider.register().await.expect("registered");
    let calls = world.registry_calls();
    assert_eq!(calls, ["30000 ms register 10.0.0.1:50051 222f local"]);

    // It is upgraded in place once the report takes it.
    sleep(Duration::from_mins(5)).await;
    assert_eq!(world.registry_calls().len(), 1);
    world.report.fails(0);
    sleep(Duration::from_secs(31)).await;
    let calls = world.registry_calls();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(calls[1].ends_with("update 10.0.0.1:50051 222f remote"));
    sleep(Duration::from_hours(1)).await;
    assert_eq!(
        world.registry_calls().len(),
        2,
        "then nothing is left to do"
    );
}

#[tokio::test(start_paused = true)]
async fn a_report_that_refuses_is_not_asked_again_before_something_changes() {
    let world = World::new();
    let provider = world.remote();
    world.report.refuses.store(true, Ordering::Relaxed);
    serve_metadata(&provider);
    provider.export(&greet("")).expect("valid");
    provider.register().await.expect("registered");
    assert_eq!(
        world.calls(),
        [
            "0 ms not published 7b1a",
            "0 ms register 10.0.0.1:50051 7b1a local"
        ]
    );
    sleep(Duration::from_hours(1)).await;
    assert_eq!(world.calls().len(), 2);
    world.report.refuses.store(false, Ordering::Relaxed);
    provider.export(&bar("")).expect("valid");
    sleep(Duration::from_secs(2)).await;
    assert_eq!(
        world.calls()[2..],
        [
            "3601000 ms published 222f",
            "3601000 ms update 10.0.0.1:50051 222f remote"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn case_94_metadata_is_published_once_however_many_services_there_are() {
    let world = World::new();
    let provider = world.remote();
    for index in 0..50 {
        let url = format!("tri://10.0.0.1:50051/x.Y{index}?interface=x.Y{index}&methods=m");
        provider
            .export(&url.parse().expect("valid"))
            .expect("valid");
    }
    provider.register().await.expect("registered");
    let calls = world.calls();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(calls[0].starts_with("0 ms published") && calls[1].contains("register"));
}

#[tokio::test(start_paused = true)]
async fn case_94_a_failure_to_publish_leaves_nothing_registered() {
    let world = World::new();
    let provider = world.remote();
    world.report.fails(usize::MAX);
    provider.export(&greet("")).expect("valid");
    let error = provider.register().await.expect_err("not published");
    assert_eq!(world.start.elapsed(), Duration::from_secs(30));
    assert_eq!(
        error.to_string(),
        "publish metadata at fake://report: out of order"
    );
    assert_eq!(error.kind, RegistryErrorKind::Unavailable);
    assert_eq!(world.registry_calls(), [""; 0]);

    // It goes on until it is taken back.
    provider.unregister().await.expect("nothing to do");
    let tried = world.calls().len();
    sleep(Duration::from_hours(1)).await;
    assert_eq!(world.calls().len(), tried);
    world.report.fails(0);
    provider.register().await.expect("registered");
    assert!(world.registry_calls()[0].contains("register 10.0.0.1:50051 7b1a remote"));
}

#[tokio::test(start_paused = true)]
async fn a_report_that_does_not_answer_is_not_waited_for_for_ever() {
    let world = World::new();
    let provider = world.remote();
    world.report.takes(Duration::from_hours(1));
    provider.export(&greet("")).expect("valid");
    let error = provider.register().await.expect_err("no answer");
    assert_eq!(world.start.elapsed(), Duration::from_secs(30));
    assert!(error.to_string().contains("no answer in time"), "{error}");
}

#[test]
fn a_report_is_found_by_the_registry_or_named_default() {
    let world = World::new();
    for (ids, want) in [
        ("zk", true),
        ("other", true),
        ("other default", true),
        ("other zk", true),
        ("other another", false),
        ("", false),
    ] {
        let mut options = world.options("demo");
        options.storage = Storage::Remote;
        options.reports = ids
            .split_whitespace()
            .map(|id| (id.to_owned(), Arc::clone(&world.report) as _))
            .collect();
        let result = Provider::new(options);
        assert_eq!(result.is_ok(), want, "{ids}");
        if let Err(error) = result {
            let error = error.to_string();
            assert!(error.contains("`zk`"), "{error}");
            assert!(
                ids.split_whitespace().all(|id| error.contains(id)),
                "{error}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn consumers_are_told_which_of_several_reports_it_is() {
    let world = World::new();
    let mut options = world.options("demo-provider");
    options.storage = Storage::Remote;
    options.reports = ["other", "zk"]
        .map(|id| (id.to_owned(), Arc::clone(&world.report) as _))
        .into();
    let provider = Provider::new(options).expect("valid");
    provider.export(&greet("")).expect("valid");
    provider.register().await.expect("registered");
    let metadata = world.instance("10.0.0.1:50051").metadata;
    assert_eq!(&metadata["dubbo.metadata.cluster"], "zk");
}
