//! Where metadata comes from: instances and reports.

use std::{sync::Arc, time::Duration};

use dubbo_core::discovery::ServiceInstance;

use crate::fakes::{Answer, FakeReport, World, at, info, instances};

const PARAMS: (&str, &str) = (
    "dubbo.metadata-service.url-params",
    r#"{"port":"50051","protocol":"tri","version":"1.0.0"}"#,
);

fn remote(more: &[(&str, &str)]) -> Vec<ServiceInstance> {
    let mut said = vec![
        ("dubbo.metadata.revision", "r1"),
        ("dubbo.metadata.storage-type", "remote"),
    ];
    said.extend(more);
    vec![at("app", "10.0.0.1", 20000, &said)]
}

#[tokio::test(start_paused = true)]
async fn metadata_a16_a_report_that_has_nothing_is_followed_by_a_call_where_one_can_be_made() {
    let world = World::new();
    world.report.map("a.B", "app");
    world.registry.list("app", remote(&[PARAMS]));
    world.instances.serve(info("app", "r1", &["a.B:tri"]));
    let mut following = world.follow("a.B").await;
    assert_eq!(following.addresses().len(), 1);
    assert_eq!(
        (world.report.app_reads(), world.instances.calls().len()),
        (1, 1)
    );

    let world = World::new();
    world.report.map("a.B", "app");
    world.registry.list("app", remote(&[]));
    let mut following = world.follow("a.B").await;
    let error = following.error().1.join("; ");
    assert!(
        error.contains("metadata report zk1: it has none of this revision"),
        "{error}"
    );
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(
        (4..=6).contains(&world.report.app_reads()),
        "{}",
        world.report.app_reads()
    );
    assert_eq!(world.instances.calls().len(), 0);

    world
        .report
        .put("app", "r1", info("app", "r1", &["a.B:tri"]).to_json());
    following.until(1).await;
}

#[tokio::test(start_paused = true)]
async fn a_report_that_has_it_makes_calls_needless() {
    let world = World::new();
    world.report.map("a.B", "app");
    world.registry.list("app", remote(&[PARAMS]));
    world
        .report
        .put("app", "r1", info("app", "r1", &["a.B:tri"]).to_json());
    let mut following = world.follow("a.B").await;
    assert_eq!(following.addresses().len(), 1);
    assert_eq!(
        (world.report.app_reads(), world.instances.calls().len()),
        (1, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_report_holds_is_checked_like_any_answer() {
    for (content, want) in [
        (
            "{",
            "what is stored there cannot be used: metadata cannot be read",
        ),
        (
            r#"{"app":"app","revision":"r0"}"#,
            "it answered with revision \"r0\"",
        ),
        (
            r#"{"app":"other","revision":"r1"}"#,
            "it is the application other",
        ),
    ] {
        let world = World::new();
        world.report.map("a.B", "app");
        world.registry.list("app", remote(&[]));
        world.report.put("app", "r1", content);
        let error = world.follow("a.B").await.error().1.join("; ");
        assert!(error.contains(want), "{content}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_says_which_report_holds_its_metadata() {
    let other = Arc::new(FakeReport::new());
    let world = World::with(|options| {
        options
            .reports
            .push(("zk2".to_owned(), Arc::clone(&other) as _));
    });
    world.report.map("a.B", "app");
    world
        .registry
        .list("app", remote(&[("dubbo.metadata.cluster", "zk2")]));
    other.put("app", "r1", info("app", "r1", &["a.B:tri"]).to_json());
    let mut following = world.follow("a.B").await;
    assert_eq!(following.addresses().len(), 1);
    assert_eq!((world.report.app_reads(), other.app_reads()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_report_that_is_called_otherwise_here_is_the_registrys_own() {
    let other = Arc::new(FakeReport::new());
    let world = World::with(|options| {
        options
            .reports
            .insert(0, ("zk2".to_owned(), Arc::clone(&other) as _));
    });
    world.report.map("a.B", "app");
    world
        .registry
        .list("app", remote(&[("dubbo.metadata.cluster", "theirs")]));
    world
        .report
        .put("app", "r1", info("app", "r1", &["a.B:tri"]).to_json());
    let mut following = world.follow("a.B").await;
    assert_eq!(following.addresses().len(), 1);
    assert_eq!((world.report.app_reads(), other.app_reads()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_report_that_is_not_there_is_said_with_those_that_are() {
    let world = World::with(|options| {
        let (_, report) = options.reports.remove(0);
        options.reports = vec![
            ("n1".to_owned(), Arc::clone(&report)),
            ("n2".to_owned(), report),
        ];
    });
    world.report.map("a.B", "app");
    world.registry.list("app", remote(&[]));
    let error = world.follow("a.B").await.error().1.join("; ");
    let want = "there is no metadata report `zk1` and none called `default`; there are n1, n2";
    assert!(error.contains(want), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_report_helps_out_when_no_instance_answers() {
    let world = World::new();
    world.report.map("a.B", "app");
    world.registry.list("app", instances("app", "r1", 1, 1));
    world.instances.answer("app/r1", Answer::Refused);
    world
        .report
        .put("app", "r1", info("app", "r1", &["a.B:tri"]).to_json());
    let mut following = world.follow("a.B").await;
    assert_eq!(following.addresses().len(), 1);
    assert_eq!(
        (world.report.app_reads(), world.instances.calls().len()),
        (1, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_asking_is_a_failure_like_any_other() {
    let world = World::new();
    world.report.map("a.B", "app");
    world.registry.list("app", instances("app", "r1", 1, 1));
    world.instances.answer("app/r1", Answer::Panic);
    let mut following = world.follow("a.B").await;
    let error = following.error().1.join("; ");
    assert!(
        error.contains("10.1.0.0:20000: a panic while asking it"),
        "{error}"
    );
    world.instances.serve(info("app", "r1", &["a.B:tri"]));
    following.until(1).await;
}
