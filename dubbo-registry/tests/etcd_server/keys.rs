//! Keys of providers and instances: how they look, whose they are, and who finds them.

use dubbo_core::{discovery::ServiceInstance, url::Url};

use crate::{
    servers::{Program, consumer, corner, provider, sees, server},
    world::Eyes,
};

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn a_provider_is_a_key_of_a_lease_without_a_value() {
    let (eyes, root) = (Eyes::on(&server()), corner("provider"));
    let registry = Program::new(&server(), &format!("group={root}")).registry();
    let url = provider("x.Y", 1);
    registry.register(&url).await.expect("registers");
    let path = format!("{root}/x.Y/providers/{}", url.encode());
    let item = eyes.item(&path).await.expect("is there");
    assert_ne!(item.lease, 0);
    assert_eq!(item.version, 1);
    assert_eq!(eyes.text(&path).await.as_deref(), Some(""));
    registry.register(&url).await.expect("it is there");
    assert_eq!(eyes.item(&path).await, Some(item));
    registry.unregister(&url).await.expect("unregisters");
    assert_eq!(eyes.keys(&root).await, [""; 0]);
    registry.close().await;
}

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn an_inner_class_is_found_under_both_names_that_dubbo_go_has_for_it() {
    let (eyes, root) = (Eyes::on(&server()), corner("inner"));
    let registry = Program::new(&server(), &format!("group={root}")).registry();
    let url = provider("o.Outer$Inner", 1);
    registry.register(&url).await.expect("registers");
    let id = url.encode();
    let keys = eyes.keys(&root).await;
    assert_eq!(
        keys,
        [
            format!("o.Outer$Inner/providers/{id}"),
            format!("o.Outer%24Inner/providers/{id}")
        ]
    );
    let mut found = registry
        .subscribe(&consumer("o.Outer$Inner"))
        .await
        .expect("follows");
    sees(&mut found, &[1], false).await;
    for (port, name) in [(2, "o.Outer$Inner"), (3, "o.Outer%24Inner")] {
        let other = provider("o.Outer$Inner", port).encode();
        eyes.put(&format!("{root}/{name}/providers/{other}"), "")
            .await;
    }
    sees(&mut found, &[1, 2, 3], true).await;
    registry.close().await;
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn an_instance_that_is_new_is_written_once_more_as_dubbo_go_hears_of_changes_alone() {
    let (eyes, root) = (Eyes::on(&server()), corner("instance"));
    let discovery = Program::new(&server(), &format!("group={root}")).discovery();
    let mut instance = ServiceInstance::new("app", "10.0.0.1", 1);
    discovery.register(&instance).await.expect("registers");
    let path = format!("{root}/app/10.0.0.1:1");
    assert_eq!(eyes.item(&path).await.expect("is there").version, 2);
    discovery.register(&instance).await.expect("it is there");
    assert_eq!(eyes.item(&path).await.expect("is there").version, 2);
    instance.weight = 5;
    discovery.register(&instance).await.expect("changes");
    assert_eq!(eyes.item(&path).await.expect("is there").version, 3);
    let text = eyes.text(&path).await.expect("is there");
    assert!(
        text.starts_with(r#"{"ID":"10.0.0.1:1","ServiceName":"app""#),
        "{text}"
    );
    discovery.close().await;
    assert_eq!(eyes.keys(&root).await, [""; 0]);
}

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn a_key_of_somebody_else_is_taken_over_and_not_taken_away() {
    let (eyes, root) = (Eyes::on(&server()), corner("owner"));
    let params = format!("group={root}");
    let (one, two) = (
        Program::new(&server(), &params).registry(),
        Program::new(&server(), &params).registry(),
    );
    let url = provider("x.Y", 1);
    let path = format!("{root}/x.Y/providers/{}", url.encode());
    eyes.put(&path, "left by somebody").await;
    let mut leases = vec![0];
    for registry in [&one, &two] {
        registry.register(&url).await.expect("registers");
        let item = eyes.item(&path).await.expect("is there");
        assert!(!leases.contains(&item.lease), "{leases:?}");
        assert_eq!(eyes.text(&path).await.as_deref(), Some(""));
        leases.push(item.lease);
    }
    one.unregister(&url).await.expect("unregisters");
    assert_eq!(eyes.item(&path).await.expect("is there").lease, leases[2]);
    one.close().await;
    assert!(eyes.item(&path).await.is_some());
    two.close().await;
    assert!(eyes.item(&path).await.is_none());
}

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn what_is_no_provider_is_left_out() {
    let (eyes, root) = (Eyes::on(&server()), corner("junk"));
    let place = format!("{root}/x.Y/providers");
    // dubbo-go writes each prefix of a path.
    for key in [
        root.clone(),
        format!("{root}/x.Y"),
        place.clone(),
        format!("{place}/"),
        format!("{place}/junk"),
        format!("{place}/deep/{}", provider("x.Y", 1).encode()),
        format!("{place}.old/{}", provider("x.Y", 2).encode()),
        format!("{place}/{}", provider("x.Y", 3).encode()),
    ] {
        eyes.put(&key, "").await;
    }
    let registry = Program::new(&server(), &format!("group={root}")).registry();
    let found = registry.lookup(&consumer("x.Y")).await.expect("looks up");
    let ports: Vec<_> = found.providers.iter().filter_map(Url::port).collect();
    assert_eq!(ports, [3]);
    registry.close().await;
    eyes.delete_all(&root).await;
    eyes.delete(&root).await;
}

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn many_providers_of_many_services_are_all_found() {
    let (eyes, root) = (Eyes::on(&server()), corner("many"));
    let key = |interface: &str, port| {
        let id = provider(interface, port).encode();
        format!("{root}/{interface}/providers/{id}")
    };
    let mut keys: Vec<_> = (1..=1500).map(|port| key("x.Y", port)).collect();
    keys.extend((1..=20).map(|number| key(&format!("z.Z{number}"), 2000 + number)));
    eyes.put_all(&keys).await;
    let registry = Program::new(&server(), &format!("group={root}")).registry();
    let all: Vec<u16> = (1..=1500).collect();
    let mut one = registry.subscribe(&consumer("x.Y")).await.expect("follows");
    sees(&mut one, &all, false).await;
    let every: Vec<u16> = (1..=1500).chain(2001..=2020).collect();
    let mut wild = registry.subscribe(&consumer("*")).await.expect("follows");
    sees(&mut wild, &every, false).await;
    eyes.put(&key("z.New", 3000), "").await;
    let more: Vec<u16> = every.iter().copied().chain([3000]).collect();
    sees(&mut wild, &more, true).await;
    registry.close().await;
    eyes.delete_all(&root).await;
}
