//! Lost connections, expired sessions, servers that die, servers that are old.

use std::time::Duration;

use dubbo_core::{
    discovery::{Instances, ServiceInstance},
    subscription::Subscription,
};
use dubbo_test::soon;
use tokio::time::Instant;

use crate::{
    proxy::{Proxy, Wire},
    servers::{OwnServer, Program, consumer, corner, provider, sees, server},
    world::{Eyes, GLANCE},
};

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn a_lost_connection_loses_no_change_and_empties_no_list() {
    let (eyes, root) = (Eyes::on(&server()).await, corner("cut"));
    let proxy = Proxy::before(&server()).await;
    let registry = Program::new(&proxy.address(), &format!("group={root}")).registry();
    let place = format!("{root}/x.Y/providers");
    let node = |port| format!("{place}/{}", provider("x.Y", port).encode());
    eyes.put(&node(1), "").await;
    let mut subscription = registry.subscribe(&consumer("x.Y")).await.expect("follows");
    sees(&mut subscription, &[1], false).await;
    for round in 2..12 {
        proxy.set(Wire::Blocked);
        proxy.cut();
        eyes.put(&node(round), "").await;
        eyes.delete(&node(round - 1)).await;
        proxy.set(Wire::Open);
        sees(&mut subscription, &[round], true).await;
        // Watches go on.
        eyes.put(&node(round + 100), "").await;
        sees(&mut subscription, &[round, round + 100], true).await;
        eyes.delete(&node(round + 100)).await;
        sees(&mut subscription, &[round], true).await;
    }
    registry.close().await;
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn registry_t19_nodes_end_with_their_session_and_are_back_with_the_next() {
    let (eyes, root) = (Eyes::on(&server()).await, corner("expiry"));
    let proxy = Proxy::before(&server()).await;
    let params = format!("group={root}&session=4s&timeout=1s");
    let program = Program::new(&proxy.address(), &params);
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

    let (place, application) = (format!("{root}/x.Y/providers"), format!("{root}/app"));
    let name = ours.encode();
    let before = eyes.owner(&format!("{place}/{name}")).await;
    proxy.set(Wire::Blocked);
    eyes.see(&place, &[]).await;
    eyes.see(&application, &["r1"]).await;
    for path in [
        format!("{root}/metadata/app/r1"),
        format!("{application}/r1"),
    ] {
        assert_eq!(eyes.data(&path).await.as_deref(), Some(metadata), "{path}");
    }

    let node = |port| format!("{place}/{}", provider("x.Y", port).encode());
    eyes.put(&node(2), "").await;
    proxy.set(Wire::Open);
    eyes.see(&application, &["10.0.0.1:1", "r1"]).await;
    assert_ne!(eyes.owner(&format!("{place}/{name}")).await, before);
    // Our own provider is back before a list is believed, and what happened meanwhile is in it.
    sees(&mut subscription, &[1, 2], true).await;
    eyes.put(&node(3), "").await;
    sees(&mut subscription, &[1, 2, 3], true).await;
    registry.close().await;
    discovery.close().await;
    report.close().await;
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn after_a_long_outage_one_is_back_soon() {
    let (eyes, root) = (Eyes::on(&server()).await, corner("long"));
    let proxy = Proxy::before(&server()).await;
    let registry = Program::new(&proxy.address(), &format!("group={root}&timeout=1s")).registry();
    let url = provider("x.Y", 1);
    let path = format!("{root}/x.Y/providers/{}", url.encode());
    registry.register(&url).await.expect("registers");
    let before = eyes.owner(&path).await;
    proxy.set(Wire::Refused);
    proxy.cut();
    // The crate would try again 13 s and 26 s after the beginning, and with the old session.
    tokio::time::sleep(Duration::from_secs(14)).await;
    proxy.set(Wire::Open);
    let opened = Instant::now();
    soon("the next session", async {
        while eyes.owner(&path).await == before {
            tokio::time::sleep(GLANCE).await;
        }
    })
    .await;
    assert!(
        opened.elapsed() < Duration::from_secs(9),
        "{:?}",
        opened.elapsed()
    );
    assert_ne!(eyes.owner(&path).await, None);
    registry.close().await;
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs ZooKeeper's files"]
async fn a_server_that_is_killed_and_comes_back_costs_nothing() {
    let server = OwnServer::start("crash").await;
    let program = Program::new(&server.address(), "timeout=1s");
    let (registry, discovery) = (program.registry(), program.discovery());
    registry
        .register(&provider("x.Y", 1))
        .await
        .expect("registers");
    let instance = ServiceInstance::new("app", "10.0.0.1", 1);
    discovery.register(&instance).await.expect("registers");
    let mut providers = registry.subscribe(&consumer("x.Y")).await.expect("follows");
    let mut instances = discovery.watch("app").await.expect("follows");
    sees(&mut providers, &[1], false).await;
    for round in 2..4 {
        server.crash().await;
        soon("an error", async {
            while providers.current().state.is_ok() {
                providers.changed().await.expect("it goes on");
            }
        })
        .await;
        let late = provider("x.Y", round);
        let registered = registry.register(&late);
        let restarted = server.up();
        let (registered, ()) = tokio::join!(registered, restarted);
        registered.expect("waits until it can");
        sees(&mut providers, &[1, round], true).await;
        registry.unregister(&late).await.expect("unregisters");
        sees(&mut providers, &[1], true).await;
        shows(&mut instances, &instance).await;
    }
    registry.close().await;
    discovery.close().await;
}

#[tokio::test]
#[ignore = "needs ZooKeeper's files"]
async fn an_ensemble_that_forgot_everything_is_told_again() {
    let first = OwnServer::start("forgets").await;
    let proxy = Proxy::before(&first.address()).await;
    let registry = Program::new(&proxy.address(), "timeout=1s&session=4s").registry();
    registry
        .register(&provider("x.Y", 1))
        .await
        .expect("registers");
    let mut providers = registry.subscribe(&consumer("x.Y")).await.expect("follows");
    sees(&mut providers, &[1], false).await;
    first.wipe().await;
    let eyes = Eyes::on(&first.address()).await;
    eyes.see("/dubbo/x.Y/providers", &[&provider("x.Y", 1).encode()])
        .await;
    sees(&mut providers, &[1], true).await;
    registry.close().await;
}

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn a_server_without_persistent_watches_will_do() {
    let (eyes, root) = (Eyes::on(&server()).await, corner("old"));
    let proxy = Proxy::old(&server()).await;
    let program = Program::new(&proxy.address(), &format!("group={root}"));
    let (registry, discovery) = (program.registry(), program.discovery());
    let mut providers = registry.subscribe(&consumer("x.Y")).await.expect("follows");
    let mut instances = discovery.watch("app").await.expect("follows");
    let node = |port| format!("{root}/x.Y/providers/{}", provider("x.Y", port).encode());
    let mut instance = ServiceInstance::new("app", "10.0.0.1", 1);
    for round in 1..4 {
        eyes.put(&node(round), "").await;
        sees(&mut providers, &[round], false).await;
        let other = Program::new(&server(), &format!("group={root}")).discovery();
        for step in 0..3 {
            instance
                .metadata
                .insert("step".to_owned(), format!("{round}.{step}"));
            other.register(&instance).await.expect("registers");
            shows(&mut instances, &instance).await;
        }
        other.close().await;
        if round == 2 {
            proxy.cut();
        }
        eyes.delete_all(&root).await;
        sees(&mut providers, &[], false).await;
    }
    registry.close().await;
    discovery.close().await;
}

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn an_answer_that_makes_no_sense_costs_a_session_and_no_more() {
    let (eyes, root) = (Eyes::on(&server()).await, corner("garbled"));
    let instance = ServiceInstance::new("app", "10.0.0.1", 1);
    let other = Program::new(&server(), &format!("group={root}")).discovery();
    other.register(&instance).await.expect("registers");
    let proxy = Proxy::garbling(&server()).await;
    let discovery = Program::new(&proxy.address(), &format!("group={root}")).discovery();
    let mut instances = discovery.watch("app").await.expect("follows");
    let error = instances
        .current()
        .state
        .expect_err("the first answer is garbled");
    assert!(error.to_string().contains("be understood"), "{error}");
    shows(&mut instances, &instance).await;
    discovery.close().await;
    other.close().await;
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn a_server_that_nobody_answers_at_is_an_error_and_later_a_list() {
    let root = corner("late");
    let proxy = Proxy::before(&server()).await;
    proxy.set(Wire::Blocked);
    let params = format!("group={root}&session=4s&timeout=500ms");
    let registry = Program::new(&proxy.address(), &params).registry();
    let mut providers = registry.subscribe(&consumer("x.Y")).await.expect("follows");
    let error = providers.current().state.expect_err("out of reach");
    assert!(
        error.to_string().contains("none of the servers let us in"),
        "{error}"
    );
    let error = registry
        .lookup(&consumer("x.Y"))
        .await
        .expect_err("out of reach");
    assert!(error.to_string().contains(&proxy.address()), "{error}");
    proxy.set(Wire::Open);
    registry
        .register(&provider("x.Y", 1))
        .await
        .expect("waits until it can");
    sees(&mut providers, &[1], false).await;
    registry.close().await;
    Eyes::on(&server()).await.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn closing_takes_nodes_away_at_once() {
    let (eyes, root) = (Eyes::on(&server()).await, corner("close"));
    let program = Program::new(&server(), &format!("group={root}"));
    let (registry, discovery) = (program.registry(), program.discovery());
    registry
        .register(&provider("x.Y", 1))
        .await
        .expect("registers");
    let instance = ServiceInstance::new("app", "10.0.0.1", 1);
    discovery.register(&instance).await.expect("registers");
    registry.close().await;
    assert_eq!(
        eyes.children(&format!("{root}/x.Y/providers")).await,
        [""; 0]
    );
    assert_eq!(eyes.children(&format!("{root}/app")).await, ["10.0.0.1:1"]);
    discovery.close().await;
    assert_eq!(eyes.children(&format!("{root}/app")).await, [""; 0]);
    // The program may begin again.
    let again = program.registry();
    again
        .register(&provider("x.Y", 2))
        .await
        .expect("registers");
    again.close().await;
    eyes.delete_all(&root).await;
}

async fn shows(subscription: &mut Subscription<Instances>, instance: &ServiceInstance) {
    soon(&format!("{instance:?}"), async {
        loop {
            if let Ok(list) = subscription.current().state
                && list == [instance.clone().into()]
            {
                return;
            }
            subscription.changed().await.expect("it goes on");
        }
    })
    .await;
}
