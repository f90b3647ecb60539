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
            let mut options = ConsumerOptions::new(
                "zk1",
                Arc::clone(&world.registry) as _,
                Arc::clone(&world.instances) as _,
            );
            options.reports = vec![("zk1".to_owned(), Arc::clone(&world.report) as _)];
            let consumer = Consumer::new(options);
            let url: Url = format!("consumer://10.0.0.9/{query}").parse().expect(query);
            let fresh = consumer.subscribe(&url).await.expect("it can be followed");
            let seen = (listed(&mut following), listed(&mut Following(fresh)));
            assert_eq!(seen.0, seen.1, "seed {seed}, round {round}");
        }
    }
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
