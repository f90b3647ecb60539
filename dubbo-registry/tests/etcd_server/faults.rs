//! Lost connections, leases that run out, servers that die, histories that are gone.

use std::time::Duration;

use dubbo_core::discovery::ServiceInstance;
use dubbo_test::{soon, suite::Wire};
use tokio::time::Instant;

use crate::{
    servers::{OwnServer, Program, consumer, corner, provider, sees, server},
    world::{Eyes, GLANCE, watches},
};

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn a_lost_connection_loses_no_change_and_empties_no_list() {
    let (eyes, root) = (Eyes::on(&server()), corner("cut"));
    let wire = Wire::to(&server(), &[]).await;
    let registry = Program::new(&wire.address(), &format!("group={root}")).registry();
    let key = |port| format!("{root}/x.Y/providers/{}", provider("x.Y", port).encode());
    eyes.put(&key(1), "").await;
    let mut subscription = registry.subscribe(&consumer("x.Y")).await.expect("follows");
    sees(&mut subscription, &[1], false).await;
    for round in 2..8 {
        wire.blink();
        eyes.put(&key(round), "").await;
        eyes.delete(&key(round - 1)).await;
        sees(&mut subscription, &[round], true).await;
        // Watches go on.
        eyes.put(&key(round + 100), "").await;
        sees(&mut subscription, &[round, round + 100], true).await;
        eyes.delete(&key(round + 100)).await;
        sees(&mut subscription, &[round], true).await;
    }
    registry.close().await;
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn registry_t19_keys_end_with_their_lease_and_are_back_with_the_next() {
    let (eyes, root) = (Eyes::on(&server()), corner("expiry"));
    let wire = Wire::to(&server(), &[]).await;
    let params = format!("group={root}&session=2s&timeout=1s");
    let program = Program::new(&wire.address(), &params);
    let (registry, discovery, report) = (program.registry(), program.discovery(), program.report());
    let ours = provider("x.Y", 1);
    registry.register(&ours).await.expect("registers");
    let instance = ServiceInstance::new("app", "10.0.0.1", 1);
    discovery.register(&instance).await.expect("registers");
    let metadata = r#"{"app":"app","revision":"r1"}"#;
    report
        .publish_app("app", "r1", metadata.into())
        .await
        .expect("publishes");
    let mut subscription = registry.subscribe(&consumer("x.Y")).await.expect("follows");
    sees(&mut subscription, &[1], false).await;

    let path = format!("{root}/x.Y/providers/{}", ours.encode());
    let before = eyes.item(&path).await.expect("is there").lease;
    let gone = async {
        eyes.see(&root, &["app/r1", "metadata/app/r1"]).await;
        let other = provider("x.Y", 2).encode();
        eyes.put(&format!("{root}/x.Y/providers/{other}"), "").await;
    };
    tokio::join!(wire.cut(Duration::from_secs(12)), gone);
    // Our own provider is back before a list is believed, and what happened meanwhile is in it.
    sees(&mut subscription, &[1, 2], true).await;
    assert_ne!(eyes.item(&path).await.expect("is back").lease, before);
    soon("the instance", async {
        while eyes.item(&format!("{root}/app/10.0.0.1:1")).await.is_none() {
            tokio::time::sleep(GLANCE).await;
        }
    })
    .await;
    registry.close().await;
    discovery.close().await;
    report.close().await;
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn a_lease_that_an_administrator_takes_back_is_followed_by_another() {
    let (eyes, root) = (Eyes::on(&server()), corner("revoked"));
    let registry = Program::new(&server(), &format!("group={root}&session=3s")).registry();
    let url = provider("x.Y", 1);
    let path = format!("{root}/x.Y/providers/{}", url.encode());
    registry.register(&url).await.expect("registers");
    for _ in 0..2 {
        let before = eyes.item(&path).await.expect("is there").lease;
        eyes.tell(&["lease", "revoke", &format!("{before:x}")])
            .await;
        soon("another lease", async {
            while eyes
                .item(&path)
                .await
                .is_none_or(|item| item.lease == before)
            {
                tokio::time::sleep(GLANCE).await;
            }
        })
        .await;
        // A request with the lease that is gone shows that it is.
        registry
            .register(&provider("x.Y", 2))
            .await
            .expect("in the new session");
    }
    registry.close().await;
    assert_eq!(eyes.keys(&root).await, [""; 0]);
}

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn a_program_that_dies_is_forgotten_after_its_session() {
    let (eyes, root) = (Eyes::on(&server()), corner("dies"));
    let address = server();
    let params = format!("group={root}&session=2s");
    // A runtime that ends takes everything with it, and nobody says good-bye.
    let dying = std::thread::spawn({
        let params = params.clone();
        move || {
            let runtime = tokio::runtime::Runtime::new().expect("starts");
            let registry = Program::new(&address, &params).registry();
            let url = provider("x.Y", 1);
            runtime
                .block_on(registry.register(&url))
                .expect("registers");
            runtime.shutdown_background();
        }
    });
    let watcher = Program::new(&server(), &params).registry();
    let mut providers = watcher.subscribe(&consumer("x.Y")).await.expect("follows");
    sees(&mut providers, &[1], false).await;
    dying.join().expect("died as it should");
    sees(&mut providers, &[], false).await;
    assert_eq!(eyes.keys(&root).await, [""; 0]);
    watcher.close().await;
}

#[tokio::test]
#[ignore = "needs etcd's files"]
async fn a_server_that_is_killed_and_comes_back_costs_nothing() {
    let server = OwnServer::start("crash").await;
    let eyes = Eyes::on(&server.address());
    let program = Program::new(&server.address(), "timeout=1s");
    let (registry, discovery) = (program.registry(), program.discovery());
    let first = provider("x.Y", 1);
    registry.register(&first).await.expect("registers");
    let instance = ServiceInstance::new("app", "10.0.0.1", 1);
    discovery.register(&instance).await.expect("registers");
    let mut providers = registry.subscribe(&consumer("x.Y")).await.expect("follows");
    sees(&mut providers, &[1], false).await;
    let paths = [
        format!("/dubbo/x.Y/providers/{}", first.encode()),
        "/services/app/10.0.0.1:1".to_owned(),
    ];
    let before = eyes.item(&paths[0]).await;
    for round in 2..4 {
        server.crash().await;
        soon("an error", async {
            while providers.current().state.is_ok() {
                providers.changed().await.expect("it goes on");
            }
        })
        .await;
        let late = provider("x.Y", round);
        let (registered, ()) = tokio::join!(registry.register(&late), server.up());
        registered.expect("waits until it can");
        sees(&mut providers, &[1, round], true).await;
        registry.unregister(&late).await.expect("unregisters");
        sees(&mut providers, &[1], true).await;
    }
    // It was never gone: the lease outlives the server.
    assert_eq!(eyes.item(&paths[0]).await, before);
    assert!(eyes.item(&paths[1]).await.is_some());
    registry.close().await;
    discovery.close().await;
    assert_eq!(eyes.leases().await, 0);
}

#[tokio::test]
#[ignore = "needs etcd's files"]
async fn a_cluster_that_forgot_everything_is_told_again() {
    let server = OwnServer::start("forgets").await;
    let registry = Program::new(&server.address(), "timeout=1s").registry();
    let ours = provider("x.Y", 1);
    registry.register(&ours).await.expect("registers");
    let mut providers = registry.subscribe(&consumer("x.Y")).await.expect("follows");
    sees(&mut providers, &[1], false).await;
    server.wipe().await;
    let eyes = Eyes::on(&server.address());
    eyes.see("/dubbo/x.Y/providers", &[&ours.encode()]).await;
    sees(&mut providers, &[1], true).await;
    registry.close().await;
}

#[tokio::test]
#[ignore = "needs etcd's files"]
async fn a_history_that_is_gone_is_not_missed() {
    let server = OwnServer::start("compaction").await;
    let eyes = Eyes::on(&server.address());
    let wire = Wire::to(&server.address(), &[]).await;
    let program = Program::new(&wire.address(), "timeout=1s");
    let (registry, report) = (program.registry(), program.report());
    let mut providers = registry.subscribe(&consumer("x.Y")).await.expect("follows");
    let mut mapping = report.watch_mapping("x.Y").await.expect("follows");
    for round in 1..6 {
        let away = async {
            for step in 0..5 {
                let id = provider("x.Y", round * 10 + step).encode();
                eyes.put(&format!("/dubbo/x.Y/providers/{id}"), "").await;
            }
            eyes.put("/dubbo/mapping/x.Y", &format!("app{round}")).await;
            eyes.compact().await;
        };
        tokio::join!(wire.cut(Duration::from_millis(300)), away);
        let all: Vec<_> = (1..=round)
            .flat_map(|round| (0..5).map(move |step| round * 10 + step))
            .collect();
        sees(&mut providers, &all, round > 1).await;
        let want = format!("app{round}");
        soon("the mapping", async {
            while !mapping
                .current()
                .state
                .is_ok_and(|mapping| mapping.to_string() == want)
            {
                mapping.changed().await.expect("it goes on");
            }
        })
        .await;
    }
    registry.close().await;
    report.close().await;
}

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn another_member_is_asked_when_one_is_gone_and_the_lease_goes_on() {
    let (eyes, root) = (Eyes::on(&server()), corner("members"));
    let (first, second) = (
        Wire::to(&server(), &[]).await,
        Wire::to(&server(), &[]).await,
    );
    // The first of all is not even there.
    let params = format!(
        "group={root}&timeout=2s&backup={},{}",
        first.address(),
        second.address()
    );
    let registry = Program::new("127.0.0.1:1", &params).registry();
    let url = provider("x.Y", 1);
    let began = Instant::now();
    registry.register(&url).await.expect("registers");
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    let path = format!("{root}/x.Y/providers/{}", url.encode());
    let before = eyes.item(&path).await.expect("is there");
    let moved = async {
        registry
            .register(&provider("x.Y", 2))
            .await
            .expect("with the other");
        let found = registry.lookup(&consumer("x.Y")).await.expect("looks up");
        assert_eq!(found.providers.len(), 2);
    };
    tokio::join!(first.cut(Duration::from_secs(3)), moved);
    second.blink();
    registry
        .register(&provider("x.Y", 3))
        .await
        .expect("with the first again");
    assert_eq!(eyes.item(&path).await, Some(before));
    registry.close().await;
    assert_eq!(eyes.keys(&root).await, [""; 0]);
}

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn a_server_that_nobody_answers_at_is_an_error_and_later_a_list() {
    let root = corner("late");
    let wire = Wire::to(&server(), &[]).await;
    let params = format!("group={root}&timeout=500ms");
    let registry = Program::new(&wire.address(), &params).registry();
    let late = async {
        let mut providers = registry.subscribe(&consumer("x.Y")).await.expect("follows");
        let error = providers.current().state.expect_err("out of reach");
        assert!(error.to_string().contains(&wire.address()), "{error}");
        let error = registry
            .lookup(&consumer("x.Y"))
            .await
            .expect_err("out of reach");
        assert!(error.to_string().contains(&wire.address()), "{error}");
        registry
            .register(&provider("x.Y", 1))
            .await
            .expect("waits until it can");
        sees(&mut providers, &[1], false).await;
    };
    tokio::join!(wire.cut(Duration::from_secs(3)), late);
    registry.close().await;
}

#[tokio::test]
#[ignore = "needs etcd's files"]
async fn what_is_no_longer_followed_leaves_no_watch_behind() {
    let server = OwnServer::start("watches").await;
    let program = Program::new(&server.address(), "");
    let (registry, discovery, center) = (program.registry(), program.discovery(), program.center());
    let first = registry.subscribe(&consumer("x.A")).await.expect("follows");
    let before = watches(&server);
    for _ in 0..3 {
        let one = registry.subscribe(&consumer("x.Y")).await.expect("follows");
        let all = registry.subscribe(&consumer("*")).await.expect("follows");
        let instances = discovery.watch("app").await.expect("follows");
        let text = center.watch("key", "dubbo").await.expect("follows");
        assert!(watches(&server) >= before + 4);
        drop((one, all, instances, text));
        soon("the end of the watches", async {
            while watches(&server) != before {
                tokio::time::sleep(GLANCE).await;
            }
        })
        .await;
    }
    drop(first);
    for close in [registry.close(), discovery.close(), center.close()] {
        close.await;
    }
    assert_eq!(Eyes::on(&server.address()).leases().await, 0);
}
