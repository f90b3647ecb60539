//! From interfaces to applications.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};

use crate::fakes::{Answer, FakeReport, World, addresses, info, instances};

fn two_apps(world: &World) {
    world.registry.list("A", instances("A", "r1", 1, 10));
    world.registry.list("B", instances("B", "r1", 2, 5));
    for app in ["A", "B"] {
        world
            .instances
            .serve(info(app, "r1", &["a.B:tri", "g/a.B:tri"]));
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_a23_a_mapping_that_comes_later_is_waited_for() {
    let world = World::new();
    two_apps(&world);
    let mut following = world.follow("a.B").await;
    assert!(following.addresses().is_empty());
    assert_eq!(
        following.step("mapping"),
        "mapping: pending: metadata report zk1 maps a.B to no application yet; it is watched and asked again -> 0"
    );
    sleep(Duration::from_secs(10)).await;
    following.stays_quiet(Duration::ZERO).await;

    let start = Instant::now();
    world.report.map("a.B", "A");
    following.until(10).await;
    assert!(
        start.elapsed() <= Duration::from_secs(1),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn metadata_a23_a_report_without_watches_is_asked_again() {
    let world = World::new();
    two_apps(&world);
    world.report.stop_watches();
    let mut following = world.follow("a.B").await;
    sleep(Duration::from_mins(10)).await;
    let start = Instant::now();
    world.report.map("a.B", "A");
    following.until(10).await;
    assert!(
        start.elapsed() <= Duration::from_secs(31),
        "{:?}",
        start.elapsed()
    );

    sleep(Duration::from_mins(10)).await;
    let asked = world.report.mapping_reads();
    sleep(Duration::from_mins(10)).await;
    let asked = world.report.mapping_reads() - asked;
    assert!(
        (40..=80).contains(&asked),
        "read, and tried to be watched, each 15 to 30 s: {asked}"
    );

    let start = Instant::now();
    world.report.map("a.B", "A,B");
    following.until(15).await;
    assert!(
        start.elapsed() <= Duration::from_secs(31),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn metadata_a23_provided_by_needs_no_mapping() {
    let world = World::new();
    two_apps(&world);
    let mut following = world.follow("a.B?provided-by=A,%20B").await;
    assert_eq!(following.addresses().len(), 15);
    assert_eq!(
        following.step("mapping"),
        "mapping: provided-by names A, B -> 2"
    );
    assert_eq!(world.report.mapping_reads(), 0);
}

#[tokio::test(start_paused = true)]
async fn metadata_a23_subscribed_services_stand_in_for_a_mapping() {
    let world = World::with(|options| options.subscribed_services = vec!["B".to_owned()]);
    two_apps(&world);
    let mut following = world.follow("a.B").await;
    assert_eq!(following.addresses().len(), 5);
    world.report.map("a.B", "A,B");
    following.until(15).await;
}

#[tokio::test(start_paused = true)]
async fn metadata_a23_what_was_known_before_counts_until_the_report_answers() {
    let world = World::new();
    world.registry.list("C", instances("C", "r1", 1, 10));
    world.registry.list("D", instances("D", "r1", 2, 5));
    for app in ["C", "D"] {
        world.instances.serve(info(app, "r1", &["a.B:tri"]));
    }
    world.report.map("a.B", "C");
    drop(world.follow("a.B").await);
    sleep(Duration::from_secs(1)).await;

    world.report.fail("a.B", "connection refused");
    let mut following = world.follow("a.B").await;
    assert_eq!(following.addresses().len(), 10);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(
        following.step("mapping"),
        "mapping: a.B was provided by C before; metadata report zk1 fails: read at zookeeper://10.0.0.100:2181: \
         connection refused -> 1"
    );
    world.report.map("a.B", "C,D");
    assert_eq!(addresses(&following.next().await).len(), 15);
    following.stays_quiet(Duration::from_mins(2)).await;
}

#[tokio::test(start_paused = true)]
async fn metadata_a24_added_applications_come_and_removed_ones_go_without_a_gap() {
    let world = World::new();
    two_apps(&world);
    world.report.map("a.B", "A");
    let mut following = world.follow("a.B").await;
    let mut other_group = world.follow("a.B?group=g").await;
    assert_eq!(following.addresses().len(), 10);

    world.report.map("a.B", "A,B");
    assert_eq!(following.until(15).await, 1, "no list in between");
    world.report.map("a.B", "B");
    sleep(Duration::from_mins(5)).await;
    assert_eq!(following.addresses().len(), 15, "A still serves it");
    assert_eq!(
        following.step("mapping"),
        "mapping: a.B is provided by B (metadata report zk1); still looked at, though not named any more: A -> 2"
    );
    world.registry.list("A", Vec::new());
    following.until(5).await;
    other_group.until(5).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(world.registry.watches(), 1, "A is let go");
    assert_eq!(world.report.watches(), 1, "one for both groups");

    drop(other_group);
    sleep(Duration::from_secs(1)).await;
    assert_eq!((world.registry.watches(), world.report.watches()), (1, 1));
    world.registry.list("B", instances("B", "r1", 2, 6));
    following.until(6).await;
    world.report.map("a.B", "A,B");
    world.registry.list("A", instances("A", "r1", 1, 1));
    following.until(7).await;
}

#[tokio::test(start_paused = true)]
async fn metadata_a24_interfaces_and_groups_share_one_watch_and_it_stays_for_the_last_of_them() {
    let world = World::new();
    world.registry.list("A", instances("A", "r1", 1, 10));
    let serves = ["a.B:tri", "g/a.B:tri", "a.C:tri"];
    world.instances.serve(info("A", "r1", &serves));
    for interface in ["a.B", "a.C"] {
        world.report.map(interface, "A");
    }
    let mut all = Vec::new();
    for query in ["a.B", "a.B?group=g", "a.B?group=g", "a.C"] {
        all.push(world.follow(query).await);
    }
    assert_eq!((world.registry.watches(), world.report.watches()), (1, 2));
    while let Some(mut last) = all.pop() {
        sleep(Duration::from_secs(1)).await;
        assert_eq!(world.registry.watches(), 1);
        let count = last.addresses().len() + 1;
        let list = instances("A", "r1", 1, count);
        world.registry.list("A", list);
        last.until(count).await;
    }
    sleep(Duration::from_secs(1)).await;
    assert_eq!((world.registry.watches(), world.report.watches()), (0, 0));
    assert_eq!(world.instances.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn metadata_a24_who_is_gone_and_not_mapped_is_let_go_after_a_minute() {
    let world = World::new();
    two_apps(&world);
    world.report.map("a.B", "A,B");
    let mut following = world.follow("a.B").await;
    world.report.map("a.B", "B");
    sleep(Duration::from_secs(1)).await;
    world.registry.list("A", Vec::new());
    following.until(5).await;
    sleep(Duration::from_secs(58)).await;
    assert_eq!(world.registry.watches(), 2);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(world.registry.watches(), 1);
    assert_eq!(following.addresses().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn an_application_that_is_mapped_again_within_a_minute_is_kept() {
    let world = World::new();
    two_apps(&world);
    world.report.map("a.B", "A,B");
    let mut following = world.follow("a.B").await;
    world.report.map("a.B", "B");
    world.registry.list("A", Vec::new());
    following.until(5).await;
    sleep(Duration::from_secs(50)).await;
    world.report.map("a.B", "A,B");
    sleep(Duration::from_secs(50)).await;
    assert_eq!(world.registry.watches(), 2);
    world.report.map("a.B", "B");
    sleep(Duration::from_secs(59)).await;
    assert_eq!(world.registry.watches(), 2);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(world.registry.watches(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_registrys_own_report_is_believed_before_others() {
    let other = Arc::new(FakeReport::new());
    let world = World::with(|options| {
        options
            .reports
            .insert(0, ("a-first".to_owned(), Arc::clone(&other) as _));
    });
    two_apps(&world);
    other.map("a.B", "B");
    let mut following = world.follow("a.B").await;
    assert_eq!(following.addresses().len(), 5, "the own one has nothing");
    world.report.map("a.B", "A,B");
    following.until(15).await;
    world.report.fail("a.B", "connection refused");
    following.next().await;
    assert_eq!(following.addresses().len(), 15, "what it said last counts");
}

#[tokio::test(start_paused = true)]
async fn names_that_are_garbage_are_nobodys() {
    let world = World::new();
    two_apps(&world);
    world
        .report
        .map("a.B", "\u{0},\u{1} \u{2},A\u{7}\n,\u{9b}x");
    let mut following = world.follow("a.B").await;
    assert!(following.addresses().is_empty());
    assert_eq!(
        following.step("mapping"),
        "mapping: pending: metadata report zk1 maps a.B to no application yet; it is watched and asked again; metadata \
         report zk1 has garbage in 4 of its names -> 0"
    );
    world.report.map("a.B", "\u{0},A, \u{b}B\u{b} ,\u{1}B");
    following.until(15).await;
    assert_eq!(
        following.step("mapping"),
        "mapping: a.B is provided by A, B (metadata report zk1); metadata report zk1 has garbage in 2 of its names -> 2"
    );
    assert_eq!(world.registry.watches(), 2);
}

#[tokio::test(start_paused = true)]
async fn without_a_report_it_says_what_to_configure() {
    let world = World::with(|options| options.reports.clear());
    let mut following = world.follow("a.B").await;
    assert_eq!(
        following.step("mapping"),
        "mapping: nobody says who provides a.B: there is no metadata report, and neither provided-by of the reference \
         nor subscribed-services of the registry names an application -> 0"
    );
}

#[tokio::test(start_paused = true)]
async fn a_new_application_appears_with_all_that_it_has() {
    let world = World::new();
    two_apps(&world);
    let mut list = instances("B", "r1", 2, 5);
    list.extend(instances("B", "r2", 3, 5));
    world.registry.list("B", list);
    world.instances.serve(info("B", "r2", &["a.B:tri"]));
    world.instances.slow("B/r2", Duration::from_secs(2));
    world.report.map("a.B", "A");
    let mut following = world.follow("a.B").await;
    world.report.map("a.B", "A,B");
    loop {
        match addresses(&following.next().await).len() {
            10 => {}
            20 => break,
            between => panic!("{between} providers in between"),
        }
    }

    // But it is not waited for without end.
    let mut list = instances("C", "r1", 4, 5);
    list.extend(instances("C", "r2", 5, 5));
    world.registry.list("C", list);
    world.instances.serve(info("C", "r1", &["a.B:tri"]));
    world.instances.answer("C/r2", Answer::Silence);
    let start = Instant::now();
    world.report.map("a.B", "A,B,C");
    following.until(25).await;
    let late = start.elapsed().as_secs_f64() - 3.0;
    assert!((0.0..0.6).contains(&late), "{late}");
}

#[tokio::test(start_paused = true)]
async fn an_application_that_is_still_looked_at_is_no_reason_for_an_empty_list() {
    let world = World::new();
    two_apps(&world);
    world.instances.slow("B/r1", Duration::from_secs(2));
    world.report.map("a.B", "A");
    let mut following = world.follow("a.B").await;
    world.report.map("a.B", "A,B");
    world.registry.list("A", Vec::new());
    let update = following.next().await;
    let error = update.state.expect_err("nobody knows of B yet");
    assert_eq!(error.reason, "the instances of B are not known yet");
    assert_eq!(
        error.steps.last().expect("steps").to_string(),
        "instances: A has none, those of B are not known yet -> 0"
    );
    following.until(5).await;
}
