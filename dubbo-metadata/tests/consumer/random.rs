//! Whatever happened before, the list is the one that somebody sees who comes now.

use std::{sync::Arc, time::Duration};

use dubbo_core::{discovery::ServiceInstance, url::Url};
use dubbo_metadata::consumer::{Consumer, ConsumerOptions};
use tokio::time::sleep;

use crate::fakes::{Following, World, at, info};

#[tokio::test(start_paused = true)]
async fn the_list_depends_on_what_there_is_and_not_on_what_there_was() {
    for seed in 0..50 {
        let mut random = fastrand::Rng::with_seed(seed);
        let world = World::new();
        world.report.map("a.B", "app0");
        let mut queries = ["a.B", "a.B?group=g&version=*", "a.B?group=*&protocol=dubbo"]
            .into_iter()
            .cycle();
        let query = queries.nth(random.usize(..3)).expect("endless");
        let mut following = world.follow(query).await;
        let mut lists: [Vec<ServiceInstance>; 2] = Default::default();
        for round in 0..10 {
            for _ in 0..random.usize(1..8) {
                change(&world, &mut lists, &mut random);
                sleep(Duration::from_millis(random.u64(..200))).await;
            }
            for (which, list) in lists.iter().enumerate() {
                world.registry.list(&format!("app{which}"), list.clone());
            }
            // Until retries and grace have passed.
            sleep(Duration::from_mins(3)).await;
            let seen = (listed(&mut following), fresh(&world, query).await);
            assert_eq!(seen.0, seen.1, "seed {seed}, round {round}");
        }
    }
}

/// As above, with more instances than a list changes at once, and with all that one can say that changes its URLs.
#[tokio::test(start_paused = true)]
async fn a_change_in_place_is_as_good_as_a_list_made_anew() {
    let mut told = 0;
    for seed in 0..40 {
        let mut random = fastrand::Rng::with_seed(seed);
        let world = World::new();
        world.report.map("a.B", "app0,app1");
        let query = ["a.B", "a.B?group=*&version=*"][random.usize(..2)];
        let mut lists: [Vec<ServiceInstance>; 2] = Default::default();
        for (which, list) in lists.iter_mut().enumerate() {
            let app = format!("app{which}");
            for (revision, services) in SERVED.iter().enumerate().take(4) {
                world
                    .instances
                    .serve(info(&app, &revision_of(revision), services));
            }
            for n in 0..random.usize(30..80) {
                let host = format!("10.{which}.0.{n}");
                let revision = revision_of(random.usize(..SERVED.len()));
                list.push(at(
                    &app,
                    &host,
                    20000,
                    &[("dubbo.metadata.revision", &revision)],
                ));
            }
            world.registry.change(&app, list);
        }
        let mut following = world.follow(query).await;
        for round in 0..12 {
            for _ in 0..random.usize(1..4) {
                let which = random.usize(..2);
                for _ in 0..random.usize(1..4) {
                    change_one(&mut lists[which], random.u8(..24), &mut random);
                }
                world.registry.change(&format!("app{which}"), &lists[which]);
                sleep(Duration::from_millis(random.u64(..200))).await;
            }
            if random.u8(..4) == 0 {
                // What failed so far is there from now on.
                let app = format!("app{}", random.u8(..2));
                world
                    .instances
                    .serve(info(&app, &revision_of(4), SERVED[4]));
            }
            // Until retries and grace have passed.
            sleep(Duration::from_mins(3)).await;
            let seen = (listed(&mut following), fresh(&world, query).await);
            assert_eq!(seen.0, seen.1, "seed {seed}, round {round}");
            told += seen.0.map_or(0, |urls| urls.len());
            // As long as the revisions stay, nothing has to be got.
            for _ in 0..3 {
                let which = random.usize(..2);
                change_one(&mut lists[which], random.u8(2..24), &mut random);
                world.registry.change(&format!("app{which}"), &lists[which]);
                sleep(Duration::from_secs(1)).await;
                let seen = (listed(&mut following), fresh(&world, query).await);
                assert_eq!(seen.0, seen.1, "seed {seed}, round {round}");
            }
        }
    }
    assert!(told > 10_000, "{told} providers are no test");
}

/// What the revisions serve; nobody knows the metadata of the last one.
const SERVED: [&[&str]; 5] = [
    &[],
    &["a.B:tri", "a.C:tri"],
    &["a.B:tri", "a.B:dubbo", "g/a.B:1:dubbo"],
    &["g/a.B:2:tri"],
    &["a.B:rest", "a.B:tri"],
];

/// The name of a revision: one of them is a weak one.
fn revision_of(number: usize) -> String {
    match number {
        3 => "12345".to_owned(),
        _ => format!("r{number}"),
    }
}

/// Has a list say one thing otherwise: which revision an instance has where `what` is below 2, else anything else.
fn change_one(list: &mut Vec<ServiceInstance>, what: u8, random: &mut fastrand::Rng) {
    let at = random.usize(..list.len());
    match what {
        0 => {
            let revision = revision_of(random.usize(..SERVED.len()));
            list[at]
                .metadata
                .insert("dubbo.metadata.revision", revision);
        }
        1 => drop(list[at].metadata.remove("dubbo.metadata.revision")),
        2 => list[at].enabled = !list[at].enabled,
        3 => {
            let twice = list[at].clone();
            list.insert(random.usize(..list.len()), twice);
        }
        4 if list.len() > 20 => drop(list.remove(at)),
        5 => random.shuffle(list),
        6 => list.swap(at, 0),
        7 => list[at].port = [0, 20000, 20001][random.usize(..3)],
        8..12 => {
            let endpoints = [
                r#"[{"port":1,"protocol":"dubbo"},{"port":2,"protocol":"tri"}]"#,
                r#"[{"port":2,"protocol":"tri"}]"#,
                r#"[{"port":3,"protocol":"rest"}]"#,
                "broken",
                "",
            ][random.usize(..5)];
            list[at].metadata.insert("dubbo.endpoints", endpoints);
        }
        12..15 => {
            let key = ["environment", "rack", "weight", "dubbo.tag", "timestamp"];
            let key = key[random.usize(..5)];
            let value = ["", "1", "20"][random.usize(..3)];
            list[at].metadata.insert(key, value);
        }
        _ => list[at].weight = random.u32(1..4) * 100,
    }
}

/// What somebody is told of `query` who comes now.
async fn fresh(world: &World, query: &str) -> Option<Vec<String>> {
    let mut options = ConsumerOptions::new(
        "zk1",
        Arc::clone(&world.registry) as _,
        Arc::clone(&world.instances) as _,
    );
    options.reports = vec![("zk1".to_owned(), Arc::clone(&world.report) as _)];
    let consumer = Consumer::new(options);
    let url: Url = format!("consumer://10.0.0.9/{query}").parse().expect(query);
    let fresh = consumer.subscribe(&url).await.expect("it can be followed");
    listed(&mut Following(fresh))
}

/// The providers; `None` when nobody knows.
fn listed(following: &mut Following) -> Option<Vec<String>> {
    let state = following.0.current().state.ok()?;
    Some(state.providers.iter().map(ToString::to_string).collect())
}

/// One thing that happens.
fn change(world: &World, lists: &mut [Vec<ServiceInstance>; 2], random: &mut fastrand::Rng) {
    let which = random.usize(..2);
    let (app, list) = (format!("app{which}"), &mut lists[which]);
    match random.u8(..7) {
        0 => world.report.map("a.B", "app0,app1"),
        1 if !list.is_empty() => {
            list.swap_remove(random.usize(..list.len()));
        }
        2 if !list.is_empty() => {
            let index = random.usize(..list.len());
            let revision = format!("r{}", random.u8(..4));
            list[index]
                .metadata
                .insert("dubbo.metadata.revision".to_owned(), revision);
        }
        3 if !list.is_empty() => {
            let index = random.usize(..list.len());
            list[index].weight = random.u32(1..3) * 100;
        }
        // Served once, it stays: what is known is not asked for again.
        4 => {
            let revision = random.u8(..4);
            let services: &[&str] = match revision {
                0 => &[],
                1 => &["a.B:tri", "a.C:tri"],
                2 => &["a.B:tri", "a.B:dubbo", "g/a.B:1:dubbo"],
                _ => &["g/a.B:2:tri"],
            };
            world
                .instances
                .serve(info(&app, &format!("r{revision}"), services));
        }
        5 => return world.registry.fail(&app, "away for a while"),
        _ => {
            let host = format!("10.{which}.0.{}", random.u8(..20));
            let revision = format!("r{}", random.u8(..4));
            list.retain(|instance| *instance.host != *host);
            list.push(at(
                &app,
                &host,
                1,
                &[("dubbo.metadata.revision", &revision)],
            ));
        }
    }
    for revision in 0..4 {
        world.instances.slow(
            &format!("{app}/r{revision}"),
            Duration::from_millis(random.u64(..500)),
        );
    }
    world.registry.list(&app, list.clone());
}
