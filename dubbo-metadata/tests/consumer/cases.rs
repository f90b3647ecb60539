//! What went wrong elsewhere, by the numbers of the cases.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use dubbo_metadata::cache::Cache;
use tokio::time::{Instant, sleep};

use crate::fakes::{World, addresses, at, info, instances};

#[tokio::test(start_paused = true)]
async fn case_71_two_revisions_of_one_application_stand_beside_each_other() {
    let world = World::new();
    world.report.map("a.B", "app");
    let one = at("app", "10.0.0.1", 1, &[("dubbo.metadata.revision", "r1")]);
    let two = at("app", "10.0.0.1", 2, &[("dubbo.metadata.revision", "r2")]);
    world.registry.list("app", vec![one, two.clone()]);
    world.instances.serve(info("app", "r1", &["a.B:tri"]));
    world
        .instances
        .serve(info("app", "r2", &["a.B:tri", "a.C:tri"]));
    let mut following = world.follow("a.B").await;
    assert_eq!(following.addresses(), ["10.0.0.1:1", "10.0.0.1:2"]);
    world.registry.list("app", vec![two]);
    assert_eq!(addresses(&following.next().await), ["10.0.0.1:2"]);
    following.stays_quiet(Duration::from_mins(1)).await;
}

#[tokio::test(start_paused = true)]
async fn case_73_a_provider_that_went_during_the_start_is_gone() {
    let world = World::new();
    world.report.map("a.B", "app");
    let both = instances("app", "r1", 1, 2);
    world.registry.list("app", both.clone());
    world.instances.serve(info("app", "r1", &["a.B:tri"]));
    world.instances.set_delay(Duration::from_secs(1));
    let (mut following, ()) = tokio::join!(world.follow("a.B"), async {
        sleep(Duration::from_millis(500)).await;
        world.registry.list("app", both[1..].to_vec());
    });
    assert_eq!(following.addresses(), ["10.1.0.1:20000"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_96_many_writers_and_readers_see_whole_lists_only() {
    const WRITERS: u32 = 8;
    const PUSHES: u32 = 100;
    let world = Arc::new(World::new());
    world.report.map("a.B", "app");
    world.instances.serve(info("app", "r1", &["a.B:tri"]));
    // Each list has a generation, and as many instances as that says.
    let generation = Arc::new(AtomicU32::new(0));
    let push = |world: &World, generation: u32| {
        let count = usize::try_from(generation % 50 + 1).expect("small");
        let mut list = instances("app", "r1", 1, count);
        for instance in &mut list {
            instance
                .metadata
                .insert("generation", generation.to_string());
        }
        world.registry.list("app", list);
    };
    push(&world, 0);

    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let world = Arc::clone(&world);
        readers.spawn(async move {
            let mut following = world.follow("a.B").await;
            let mut update = following.0.current();
            let mut epoch = 0;
            loop {
                assert!(update.epoch > epoch, "{} after {epoch}", update.epoch);
                epoch = update.epoch;
                let providers = update.state.expect("providers").providers;
                let seen: BTreeSet<_> = providers.iter().map(|p| p.param("generation")).collect();
                assert_eq!(seen.len(), 1, "one list at a time: {seen:?}");
                let seen = seen.first().copied().flatten().expect("a generation");
                if seen == "last" {
                    return;
                }
                let generation: usize = seen.parse().expect("a number");
                assert_eq!(providers.len(), generation % 50 + 1);
                update = following.0.changed().await.expect("it goes on");
            }
        });
    }
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..WRITERS {
        let (world, generation) = (Arc::clone(&world), Arc::clone(&generation));
        writers.spawn(async move {
            for _ in 0..PUSHES {
                push(&world, generation.fetch_add(1, Ordering::Relaxed) + 1);
                tokio::task::yield_now().await;
            }
        });
    }
    while let Some(writer) = writers.join_next().await {
        writer.expect("no panic");
    }
    let said = [("dubbo.metadata.revision", "r1"), ("generation", "last")];
    world
        .registry
        .list("app", vec![at("app", "10.0.0.1", 1, &said)]);
    while let Some(reader) = readers.join_next().await {
        reader.expect("no panic");
    }
    assert_eq!(world.instances.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn case_130_coming_and_going_a_thousand_times_leaves_nothing_behind() {
    let world = World::with(|options| options.cache = Cache::in_memory(10_000));
    world.report.map("a.B", "app");
    let mut following = world.follow("a.B").await;
    let mut after_first = None;
    for cycle in 0..1_000 {
        // Each start has a revision of its own, as those of dubbo-go have.
        let revision = format!("r{cycle}");
        world.instances.serve(info("app", &revision, &["a.B:tri"]));
        world
            .registry
            .list("app", instances("app", &revision, 1, 3));
        following.until(3).await;
        world.registry.list("app", Vec::new());
        following.until(0).await;
        let stats = world.consumer.stats();
        let counts = (
            stats.applications,
            stats.instances,
            stats.revisions,
            stats.tasks,
        );
        assert_eq!(counts, *after_first.get_or_insert(counts), "cycle {cycle}");
        assert!(stats.kept_bytes <= 10_000, "{}", stats.kept_bytes);
    }
    assert_eq!(world.registry.watches(), 1);
    drop(following);

    for _ in 0..1_000 {
        drop(world.follow("a.B").await);
    }
    sleep(Duration::from_millis(1)).await;
    let stats = world.consumer.stats();
    assert_eq!((stats.applications, stats.tasks), (0, 0));
    assert_eq!((world.registry.watches(), world.report.watches()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn case_134_a_refresh_with_many_revisions_is_parallel_and_one_swap() {
    let world = World::new();
    world.report.map("a.B", "app");
    let list = |round: &str| {
        let revisions = (0..200).map(|n| format!("{round}{n}"));
        revisions
            .enumerate()
            .flat_map(|(n, revision)| {
                world.instances.serve(info("app", &revision, &["a.B:tri"]));
                let net = u8::try_from(n).expect("small");
                instances("app", &revision, net, 10)
            })
            .collect::<Vec<_>>()
    };
    world.instances.set_delay(Duration::from_millis(50));
    world.registry.list("app", list("x"));
    let start = Instant::now();
    let mut following = world.follow("a.B").await;
    assert_eq!(following.addresses().len(), 2_000);
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(world.instances.calls().len(), 200);
    assert_eq!(world.instances.most_at_once(), 8);

    // All restart at once, elsewhere and as something else; nobody is gone before the others are there.
    let mut next = list("y");
    for instance in &mut next {
        instance.weight = 50;
    }
    world.registry.list("app", next);
    let start = Instant::now();
    let update = following.next().await;
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{:?}",
        start.elapsed()
    );
    let providers = update.state.expect("providers").providers;
    assert_eq!(providers.len(), 2_000);
    assert!(
        providers
            .iter()
            .all(|url| url.param("weight") == Some("50"))
    );
    following.stays_quiet(Duration::from_mins(1)).await;
    assert_eq!(world.instances.calls().len(), 400);
}
