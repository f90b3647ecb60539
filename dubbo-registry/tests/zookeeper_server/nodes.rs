//! Nodes as they stand on the server.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use dubbo_core::{
    discovery::ServiceInstance,
    registry::{RegistryErrorKind, RegistrySnapshot},
    url::Url,
};
use dubbo_test::soon;
use tokio::time::Instant;

use crate::{
    servers::{Program, consumer, corner, provider, sees, server},
    world::Eyes,
};

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn a_provider_is_one_node_that_is_encoded_once() {
    let (eyes, root) = (Eyes::on(&server()).await, corner("node"));
    let registry = Program::new(&server(), &format!("group={root}")).registry();
    let place = format!("{root}/x.Y/providers");
    let url: Url = "tri://10.0.0.1:50051/x.Y?interface=x.Y&version=1.0"
        .parse()
        .expect("valid");
    registry.register(&url).await.expect("registers");
    let name = "tri%3A%2F%2F10.0.0.1%3A50051%2Fx.Y%3Finterface%3Dx.Y%26version%3D1.0";
    assert_eq!(eyes.children(&place).await, [name]);
    let path = format!("{place}/{name}");
    assert_eq!(eyes.data(&path).await.as_deref(), Some(""));
    assert_ne!(eyes.owner(&path).await, Some(0));
    for above in [&root, &format!("{root}/x.Y"), &place] {
        assert_eq!(eyes.owner(above).await, Some(0), "{above}");
    }

    let java =
        "dubbo%3A%2F%2F10.0.0.2%3A20880%2Fx.Y%3Fapplication%3Dj%26interface%3Dx.Y%26version%3D1.0";
    eyes.put(&format!("{place}/{java}"), "10.0.0.2").await;
    let six: Url = "tri://[2001:db8::1]:50052/x.Y?interface=x.Y&version=1.0"
        .parse()
        .expect("valid");
    registry.register(&six).await.expect("registers");
    let asks = consumer("x.Y").with_param("version", "1.0");
    let mut subscription = registry.subscribe(&asks).await.expect("follows");
    sees(&mut subscription, &[20880, 50051, 50052], false).await;
    let providers = subscription.current().state.expect("a list").providers;
    assert!(
        providers.contains(&url) && providers.contains(&six),
        "{providers:?}"
    );

    registry.unregister(&url).await.expect("unregisters");
    registry.unregister(&six).await.expect("unregisters");
    assert_eq!(eyes.children(&place).await, [java]);
    registry.close().await;
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn a_root_that_was_deleted_and_made_again_is_followed() {
    let (eyes, root) = (Eyes::on(&server()).await, corner("again"));
    let registry = Program::new(&server(), &format!("group={root}")).registry();
    let mut subscription = registry.subscribe(&consumer("x.Y")).await.expect("follows");
    for port in 1..4 {
        let node = format!("{root}/x.Y/providers/{}", provider("x.Y", port).encode());
        eyes.put(&node, "").await;
        sees(&mut subscription, &[port], false).await;
        eyes.delete_all(&root).await;
        sees(&mut subscription, &[], false).await;
    }
    registry.close().await;
}

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn what_is_no_instance_hides_nothing() {
    let (eyes, root) = (Eyes::on(&server()).await, corner("junk"));
    let program = Program::new(&server(), &format!("group={root}"));
    let discovery = program.discovery();
    let valid = r#"{"name":"app","id":"10.0.0.1:1","address":"10.0.0.1","port":1,"payload":{"metadata":{"k":"v"}}}"#;
    let place = format!("{root}/app");
    eyes.put(&format!("{place}/10.0.0.1:1"), valid).await;
    eyes.put(&format!("{place}/providers"), "").await;
    eyes.put(&format!("{place}/junk"), "{").await;
    let instances = discovery.snapshot("app").await.expect("a list");
    assert_eq!(instances.len(), 1, "{instances:?}");
    let instance = &instances[0];
    assert_eq!(
        (instance.id(), &instance.metadata["k"]),
        ("10.0.0.1:1".to_owned(), "v")
    );
    discovery.close().await;
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn two_groups_in_one_program_are_two_trees() {
    let (eyes, root) = (Eyes::on(&server()).await, corner("groups"));
    let extensions = ["g1", "g2"].map(|group| {
        let program = Program::new(&server(), &format!("group={root}/{group}"));
        (program.registry(), program.discovery())
    });
    for ((registry, discovery), port) in extensions.iter().zip([1, 2]) {
        registry
            .register(&provider("x.Y", port))
            .await
            .expect("registers");
        let instance = ServiceInstance::new("app", "10.0.0.1", port);
        discovery.register(&instance).await.expect("registers");
    }
    for ((registry, discovery), port) in extensions.iter().zip([1, 2]) {
        let mut subscription = registry.subscribe(&consumer("x.Y")).await.expect("follows");
        sees(&mut subscription, &[port], false).await;
        let instances = discovery.snapshot("app").await.expect("a list");
        assert_eq!(instances.iter().map(|i| i.port).collect::<Vec<_>>(), [port]);
    }
    assert_eq!(eyes.children(&root).await, ["g1", "g2"]);
    for (registry, discovery) in extensions {
        registry.close().await;
        discovery.close().await;
    }
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn a_program_that_was_started_again_takes_its_nodes_over_without_a_gap() {
    let (eyes, root) = (Eyes::on(&server()).await, corner("takeover"));
    let params = format!("group={root}");
    let (before, after) = (
        Program::new(&server(), &params),
        Program::new(&server(), &params),
    );
    let (old, new) = (before.registry(), after.registry());
    let url = provider("x.Y", 1);
    let path = format!("{root}/x.Y/providers/{}", url.encode());
    old.register(&url).await.expect("registers");
    let mut subscription = new.subscribe(&consumer("x.Y")).await.expect("follows");
    sees(&mut subscription, &[1], false).await;
    let owner = eyes.owner(&path).await;
    let mut shown = ServiceInstance::new("app", "10.0.0.1", 1);
    before
        .discovery()
        .register(&shown)
        .await
        .expect("registers");
    shown.metadata.insert("k".to_owned(), "new".to_owned());
    let discovery = after.discovery();
    discovery.register(&shown).await.expect("registers");

    new.register(&url).await.expect("registers");
    assert_ne!(eyes.owner(&path).await, owner);
    // What the old one takes back now is no longer its own.
    old.unregister(&url).await.expect("unregisters");
    old.close().await;
    before.discovery().close().await;
    assert_ne!(eyes.owner(&path).await, None);
    sees(&mut subscription, &[1], true).await;
    let instances = discovery.snapshot("app").await.expect("a list");
    assert_eq!(instances, [shown.into()]);
    new.close().await;
    discovery.close().await;
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn a_node_that_is_taken_over_while_it_is_taken_back_stays() {
    let (eyes, root) = (Eyes::on(&server()).await, corner("handover"));
    let params = format!("group={root}");
    let programs = [(); 2].map(|()| Program::new(&server(), &params).discovery());
    let mut instance = ServiceInstance::new("app", "10.0.0.1", 1);
    programs[0].register(&instance).await.expect("registers");
    for round in 0..100 {
        let (old, new) = (&programs[round % 2], &programs[(round + 1) % 2]);
        let before = instance.clone();
        instance
            .metadata
            .insert("round".to_owned(), round.to_string());
        let (gone, shown) = tokio::join!(old.unregister(&before), new.register(&instance));
        gone.expect("unregisters");
        shown.expect("registers");
        let found = new.snapshot("app").await.expect("a list");
        assert_eq!(found, [instance.clone().into()], "round {round}");
    }
    for program in programs {
        program.close().await;
    }
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn a_thousand_instances_are_read_at_once_and_followed_one_by_one() {
    let (eyes, root) = (Eyes::on(&server()).await, corner("mass"));
    let discovery = Program::new(&server(), &format!("group={root}")).discovery();
    let document = |port: usize, value: &str| {
        format!(
            r#"{{"address":"10.0.0.1","port":{port},"payload":{{"metadata":{{"k":"{value}"}}}}}}"#
        )
    };
    let place = format!("{root}/app");
    let mut subscription = discovery.watch("app").await.expect("follows");
    let nodes = (1..=1000).map(|port| (format!("10.0.0.1:{port}"), document(port, "first")));
    eyes.put_all(&place, nodes).await;
    soon("a thousand instances", async {
        while subscription.current().state.expect("a list").len() != 1000 {
            subscription.changed().await.expect("it goes on");
        }
    })
    .await;
    let started = Instant::now();
    let read = discovery.snapshot("app").await.expect("a list");
    let took = started.elapsed();
    assert_eq!(read.len(), 1000);
    // One by one it would be a thousand round trips.
    assert!(took < Duration::from_secs(2), "{took:?}");

    eyes.put(&format!("{place}/10.0.0.1:500"), &document(500, "second"))
        .await;
    eyes.delete(&format!("{place}/10.0.0.1:7")).await;
    soon("the change of one and the end of another", async {
        loop {
            let list = subscription.current().state.expect("a list");
            let changed = |i: &Arc<ServiceInstance>| i.port == 500 && &i.metadata["k"] == "second";
            if list.len() == 999 && list.iter().any(changed) {
                return;
            }
            subscription.changed().await.expect("it goes on");
        }
    })
    .await;
    discovery.close().await;
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn every_interface_below_the_root_is_found() {
    let (eyes, root) = (Eyes::on(&server()).await, corner("all"));
    let registry = Program::new(&server(), &format!("group={root}")).registry();
    let mut all = registry.subscribe(&consumer("*")).await.expect("follows");
    for (interface, port) in [("x.A", 1), ("x.Outer$Inner", 2)] {
        registry
            .register(&provider(interface, port))
            .await
            .expect("registers");
    }
    eyes.put(&format!("{root}/mapping/x.A"), "app").await;
    let names = |snapshot: &RegistrySnapshot| -> BTreeSet<String> {
        let keys = snapshot.providers.iter().map(Url::service_key);
        keys.map(|key| key.interface().to_owned()).collect()
    };
    soon("both interfaces", async {
        while names(&all.current().state.expect("a list")).len() != 2 {
            all.changed().await.expect("it goes on");
        }
    })
    .await;
    let found = names(&all.current().state.expect("a list"));
    assert_eq!(
        found.into_iter().collect::<Vec<_>>(),
        ["x.A", "x.Outer$Inner"]
    );
    registry.close().await;
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn with_a_login_nodes_are_that_users_alone() {
    let root = corner("login");
    let params = format!("group={root}");
    let ours = Program::new(&format!("user:secret@{}", server()), &params).registry();
    ours.register(&provider("x.Y", 1)).await.expect("registers");
    for other in [server(), format!("user:wrong@{}", server())] {
        let theirs = Program::new(&other, &params).registry();
        let error = theirs
            .register(&provider("x.Y", 2))
            .await
            .expect_err("has no right");
        assert_eq!(error.kind, RegistryErrorKind::Refused);
        let text = error.to_string();
        assert!(
            text.contains("this login has no right") && !text.contains("wrong"),
            "{text}"
        );
        let mut providers = theirs.subscribe(&consumer("x.Y")).await.expect("follows");
        let error = providers.current().state.expect_err("has no right");
        assert!(
            error.to_string().contains("this login has no right"),
            "{error}"
        );
        theirs.close().await;
    }
    let again = Program::new(&format!("user:secret@{}", server()), &params).registry();
    let mut providers = again.subscribe(&consumer("x.Y")).await.expect("follows");
    sees(&mut providers, &[1], false).await;
    ours.close().await;
    again.close().await;
    let eyes = Eyes::of("user:secret", &server()).await;
    eyes.delete_all(&root).await;
}
