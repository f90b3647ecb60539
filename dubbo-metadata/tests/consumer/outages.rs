//! What happens while the registry is away, and what is left behind by those who go.

use std::time::Duration;

use dubbo_core::registry::RegistryError;
use dubbo_metadata::{cache::Cache, model::MetadataInfo};
use tokio::time::Instant;

use crate::fakes::{World, addresses, info, instances};

#[tokio::test(start_paused = true)]
async fn metadata_a15_an_outage_of_the_registry_changes_no_list_and_fetches_nothing() {
    let world = World::new();
    world.report.map("a.B", "app");
    let list = instances("app", "r1", 1, 100);
    world.registry.list("app", list.clone());
    world.instances.serve(info("app", "r1", &["a.B:tri"]));
    let mut following = world.follow("a.B").await;
    let before = following.0.current().state.expect("providers").providers;
    assert_eq!(before.len(), 100);

    for _ in 0..60 {
        world.registry.fail("app", "session expired");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    // Told once, as what it is: nobody knows.
    let update = following.next().await;
    let error = update.state.expect_err("an error, not a list");
    assert_eq!(error.reason, "session expired");
    following.stays_quiet(Duration::from_secs(1)).await;

    world.registry.list("app", list);
    let update = following.next().await;
    let after = update.state.expect("providers").providers;
    assert!(before.is_same(&after), "the same list");
    following.stays_quiet(Duration::from_mins(1)).await;
    assert_eq!(world.instances.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_is_away_from_the_start_is_pending() {
    let world = World::new();
    world.report.map("a.B", "app");
    world.registry.fail("app", "connection refused");
    let mut following = world.follow("a.B").await;
    let (error, steps) = following.error();
    assert_eq!(
        error,
        "find a.B at zookeeper://10.0.0.100:2181: the instances of app are not known yet: list at \
         zookeeper://10.0.0.100:2181: connection refused"
    );
    assert_eq!(
        steps,
        [
            "mapping: a.B is provided by app (metadata report zk1) -> 1",
            "instances: those of app are not known yet; the registry fails: list at zookeeper://10.0.0.100:2181: \
             connection refused -> 0"
        ]
    );
    world.instances.serve(info("app", "r1", &["a.B:tri"]));
    world.registry.list("app", instances("app", "r1", 1, 1));
    following.until(1).await;
}

#[tokio::test(start_paused = true)]
async fn new_metadata_is_used_while_the_registry_is_away() {
    let world = World::new();
    world.report.map("a.B", "app");
    let mut list = instances("app", "r1", 1, 1);
    list.extend(instances("app", "r2", 2, 1));
    world.registry.list("app", list);
    world.instances.serve(info("app", "r1", &["a.B:tri"]));
    let mut following = world.follow("a.B").await;
    assert_eq!(following.addresses().len(), 1);
    world.registry.fail("app", "connection refused");
    assert!(following.next().await.state.is_err());
    world.instances.serve(info("app", "r2", &["a.B:tri"]));
    assert_eq!(addresses(&following.next().await).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_clears_unless_that_is_switched_off() {
    for (protected, want) in [(false, 0), (true, 2)] {
        let world = World::with(|options| options.empty_protection = protected);
        world.report.map("a.B", "app");
        world.registry.list("app", instances("app", "r1", 1, 2));
        world.instances.serve(info("app", "r1", &["a.B:tri"]));
        let mut following = world.follow("a.B").await;
        world.registry.list("app", Vec::new());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(following.addresses().len(), want, "protected: {protected}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_followed_is_let_go_with_the_last_subscription() {
    let world = World::new();
    world.report.map("a.B", "app");
    world.registry.list("app", instances("app", "r1", 1, 2));
    world.instances.serve(info("app", "r1", &["a.B:tri"]));
    let one = world.follow("a.B?group=*").await;
    let other = world.follow("a.B").await;
    assert_eq!((world.registry.watches(), world.report.watches()), (1, 1));

    drop(one);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!((world.registry.watches(), world.report.watches()), (1, 1));
    assert_eq!(world.consumer.stats().applications, 1);
    drop(other);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!((world.registry.watches(), world.report.watches()), (0, 0));
    let stats = world.consumer.stats();
    assert_eq!((stats.applications, stats.tasks), (0, 0));

    // What it learnt stays.
    let mut again = world.follow("a.B").await;
    assert_eq!(again.addresses().len(), 2);
    assert_eq!(world.instances.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_closed_consumer_ends_everything_and_says_so() {
    let world = World::new();
    world.report.map("a.B", "app");
    world.registry.list("app", instances("app", "r1", 1, 2));
    world.instances.serve(info("app", "r1", &["a.B:tri"]));
    let mut following = world.follow("a.B").await;
    world.consumer.close().await;
    assert!(following.0.changed().await.is_none());
    assert_eq!((world.registry.watches(), world.report.watches()), (0, 0));
    assert_eq!(world.consumer.stats().tasks, 0);
    let url = "consumer://10.0.0.9/a.B".parse().expect("valid");
    let error = world.consumer.subscribe(&url).await.expect_err("closed");
    assert_eq!(
        error.to_string(),
        "subscribe to a.B at zookeeper://10.0.0.100:2181: it is closed"
    );
}

#[tokio::test(start_paused = true)]
async fn what_nobody_needs_is_forgotten_when_there_is_no_room_the_oldest_first() {
    let one = info("app", "r0", &["a.B:tri"]);
    let world = World::with(|options| options.cache = Cache::in_memory(700));
    world.report.map("a.B", "app");
    let come_and_go = async |revision: &str| {
        world.instances.serve(MetadataInfo {
            revision: revision.to_owned(),
            ..one.clone()
        });
        world.registry.list("app", instances("app", revision, 1, 1));
        drop(world.follow("a.B").await);
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    for revision in ["r1", "r2", "r3", "r1", "r4", "r1"] {
        come_and_go(revision).await;
        assert!(world.consumer.stats().kept_bytes <= 700);
    }
    // There is room for three of them, and r1 was needed again before r2 and r3 were.
    let asked: Vec<_> = world
        .instances
        .calls()
        .into_iter()
        .map(|call| call.revision)
        .collect();
    assert_eq!(asked, ["r1", "r2", "r3", "r4"]);
    come_and_go("r2").await;
    assert_eq!(world.instances.calls().len(), 5, "r2 was the oldest");
}

#[tokio::test(start_paused = true)]
async fn that_one_application_cannot_be_listed_hides_no_other() {
    let world = World::new();
    world.report.map("a.B", "A,B");
    for (app, net) in [("A", 1), ("B", 2)] {
        world.registry.list(app, instances(app, "r1", net, 1));
        world.instances.serve(info(app, "r1", &["a.B:tri"]));
    }
    let mut following = world.follow("a.B").await;
    world.registry.fail("B", "no such permission");
    assert_eq!(addresses(&following.next().await).len(), 2);
    assert_eq!(
        following.step("instances"),
        "instances: A has 1, B has 1; the registry fails: list at zookeeper://10.0.0.100:2181: no such permission -> 2"
    );
    world.registry.list("A", instances("A", "r1", 1, 5));
    assert_eq!(addresses(&following.next().await).len(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_report_that_is_away_from_the_start_is_pending() {
    let world = World::new();
    world.report.fail("a.B", "connection refused");
    let mut following = world.follow("a.B").await;
    let (error, steps) = following.error();
    assert_eq!(
        error,
        "find a.B at zookeeper://10.0.0.100:2181: who provides it is not known yet: metadata report zk1 fails: read at \
         zookeeper://10.0.0.100:2181: connection refused"
    );
    assert_eq!(
        steps,
        [
            "mapping: pending: metadata report zk1 has not said yet who provides a.B; metadata report zk1 fails: read at \
             zookeeper://10.0.0.100:2181: connection refused -> 0"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_application_that_the_registry_can_never_have_harms_no_other() {
    let world = World::new();
    world.report.map("a.B", "bad/name,good");
    world.registry.refuse("bad/name", true);
    world.instances.serve(info("good", "r1", &["a.B:tri"]));
    let (good, start) = (instances("good", "r1", 1, 1), Instant::now());
    let mut following = world.follow("a.B").await;
    assert!(following.addresses().is_empty(), "for certain");
    assert_eq!(start.elapsed(), Duration::ZERO);
    let left_out = "instances: \"bad/name\" is left out, because this registry cannot have it: follow the instances of \
                    \"bad/name\" at zookeeper://10.0.0.100:2181: no such name";
    for _ in 0..3 {
        assert_eq!(
            following.step("instances"),
            format!("{left_out}, good has none -> 0")
        );
        world.registry.list("good", good.clone());
        following.until(1).await;
        assert_eq!(
            following.step("instances"),
            format!("{left_out}, good has 1 -> 1")
        );
        following.stays_quiet(Duration::from_mins(10)).await;
        world.registry.list("good", Vec::new());
        following.until(0).await;
    }

    // An outage of all others is one of the registry.
    world.registry.list("good", good);
    following.until(1).await;
    world.registry.fail("good", "session expired");
    let error = following.next().await.state.expect_err("an outage");
    assert_eq!(error.reason, "session expired");

    // Nobody is left out for ever that the registry takes after all.
    world.instances.serve(info("bad/name", "r1", &["a.B:tri"]));
    world
        .registry
        .list("bad/name", instances("bad/name", "r1", 2, 1));
    world.registry.refuse("bad/name", false);
    following.until(2).await;
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_refuses_what_it_had_or_all_for_now_empties_no_list() {
    let world = World::new();
    world.report.map("a.B", "app");
    let refused = RegistryError::new("list", "zookeeper://10.0.0.100:2181", "wrong password");
    world.registry.fail_with("app", refused.refused());
    let mut following = world.follow("a.B").await;
    let (error, _) = following.error();
    assert!(error.ends_with("wrong password"), "{error}");

    world.registry.list("app", instances("app", "r1", 1, 2));
    world.instances.serve(info("app", "r1", &["a.B:tri"]));
    following.until(2).await;
    // The subscription ends, and there is no other.
    world.registry.refuse("app", true);
    world.registry.end("app");
    let error = following.next().await.state.expect_err("an outage");
    assert_eq!(error.reason, "no such name");
    following.stays_quiet(Duration::from_mins(10)).await;
}
