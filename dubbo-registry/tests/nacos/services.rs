//! What is registered, and what of others' is found.

use std::time::Duration;

use dubbo_core::registry::RegistryErrorKind;
use dubbo_test::soon;
use tokio::time::sleep;

use crate::world::{
    Program, consumer, lists, provider, quick_nacos, sees, service, subscribe, theirs,
};

#[tokio::test(flavor = "multi_thread")]
async fn registry_t07_what_nacos_would_refuse_is_refused_and_not_asked_for() {
    let nacos = quick_nacos().await;
    let program = Program::on(&nacos);
    let registry = program.registry();
    let long = provider(1, &format!("token={}", "x".repeat(1100)));
    let error = registry.register(&long).await.expect_err("too long");
    assert_eq!(error.kind, RegistryErrorKind::Refused);
    assert!(
        error.to_string().contains("Nacos takes 1024 in all"),
        "{error}"
    );
    registry
        .register(&provider(2, ""))
        .await
        .expect("registers");
    assert_eq!(lists(&nacos, "providers:a.B::"), [[2]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn registry_t07_what_the_server_refuses_is_told_and_what_was_there_stays() {
    let nacos = quick_nacos().await;
    let program = Program::on(&nacos);
    let registry = program.registry();
    registry
        .register(&provider(1, ""))
        .await
        .expect("registers");
    for _ in 0..2 {
        nacos.refuse_next("BatchInstanceRequest", 400, "Param 'x' is illegal");
    }
    let error = registry
        .register(&provider(2, ""))
        .await
        .expect_err("refused");
    assert_eq!(error.kind, RegistryErrorKind::Refused);
    let text = "the server says: Param 'x' is illegal (code 400)";
    assert!(error.to_string().contains(text), "{error}");
    // nacos-sdk repeats what was refused: we have told it what is right.
    let last = || lists(&nacos, "providers:a.B::").last() == Some(&vec![1]);
    nacos.until("what was there", last).await;
    assert_eq!(nacos.addresses(&service("providers:a.B::")), ["10.0.0.1:1"]);
    nacos.drop_connections().await;
    assert!(nacos.registered(&service("providers:a.B::")).is_empty());
    let back = || nacos.addresses(&service("providers:a.B::")) == ["10.0.0.1:1"];
    nacos.until("what was there before", back).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_of_persistent_instances_is_named_as_the_reason() {
    let nacos = quick_nacos().await;
    nacos.create_persistent_service(&service("providers:a.B::"));
    let program = Program::on(&nacos);
    let registry = program.registry();
    let error = registry.register(&provider(1, "")).await;
    let error = error.expect_err("refused");
    assert!(
        error.to_string().contains("is persistent service"),
        "{error}"
    );
    assert_eq!(error.kind, RegistryErrorKind::Refused);
}

/// dubbo-go's provider of such a service ends at its start (`docs/spec/nacos-2.5.1.md` §3).
#[tokio::test(flavor = "multi_thread")]
async fn a_service_with_many_methods_is_registered_without_their_names() {
    let nacos = quick_nacos().await;
    let program = Program::on(&nacos);
    let registry = program.registry();
    let methods: Vec<_> = (0..100).map(|n| format!("methodNumber{n}")).collect();
    let url = provider(1, &format!("methods={}&version=1", methods.join(",")));
    registry.register(&url).await.expect("registers");
    let registered = nacos.registered(&service("providers:a.B:1:"));
    let metadata = &registered[0].instance.metadata;
    assert!(!metadata.contains_key("methods"));
    assert_eq!(metadata["version"], "1");
    let found = registry.lookup(&consumer("version=1")).await;
    assert_eq!(found.expect("finds it").providers.len(), 1);
}

/// Case 68, T4 and T5: who has registered by another name is found by all that mean the same.
#[tokio::test(flavor = "multi_thread")]
async fn providers_are_found_under_every_name_that_others_give_them() {
    let nacos = quick_nacos().await;
    let others: Vec<_> = (1..)
        .zip(["providers:a.B::", "providers:a.B", "providers:a.B:0.0.0:"])
        .map(|(port, name)| {
            let client = nacos.client();
            client.register(&service(name), [theirs(port)]);
            client
        })
        .collect();
    let program = Program::on(&nacos);
    let registry = program.registry();
    let mut subscription = subscribe(&*registry).await;
    sees(&mut subscription, &[1, 2, 3]).await;
    drop(others);
    sees(&mut subscription, &[]).await;

    let inner = consumer("")
        .with_param("interface", "a.B$C")
        .with_path("a.B$C");
    let java = nacos.client();
    let instance = theirs(9).with("interface", "a.B$C").with("path", "a.B$C");
    java.register(&service("providers:a.B___C::"), [instance]);
    let found = registry.lookup(&inner).await.expect("no error");
    assert_eq!(found.providers.len(), 1);
}

/// T16, P2 and P3: nacos-sdk would take back both when one goes, and bring both back after the next connection.
#[tokio::test(flavor = "multi_thread")]
async fn registry_t16_two_of_one_service_stand_side_by_side_and_what_is_taken_back_stays_away() {
    let nacos = quick_nacos().await;
    let program = Program::on(&nacos);
    let registry = program.registry();
    let name = service("providers:a.B::");
    for port in [1, 2] {
        registry
            .register(&provider(port, ""))
            .await
            .expect("registers");
    }
    assert_eq!(nacos.addresses(&name), ["10.0.0.1:1", "10.0.0.1:2"]);
    nacos.drop_connections().await;
    let both = || nacos.addresses(&name) == ["10.0.0.1:1", "10.0.0.1:2"];
    nacos.until("both to be back, once each", both).await;
    registry
        .unregister(&provider(1, ""))
        .await
        .expect("unregisters");
    assert_eq!(nacos.addresses(&name), ["10.0.0.1:2"]);
    registry
        .unregister(&provider(2, ""))
        .await
        .expect("unregisters");
    assert!(nacos.registered(&name).is_empty());

    let before = lists(&nacos, &name.name).len();
    nacos.drop_connections().await;
    soon("another connection", async {
        while nacos.connections().is_empty() || registry.lookup(&consumer("")).await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    // An empty list may come once more, where the answer to the last one was lost with the connection.
    let shown = lists(&nacos, &name.name).split_off(before).concat();
    assert_eq!(shown, Vec::<i64>::new());
    assert!(nacos.registered(&name).is_empty());
    assert_eq!(
        nacos.requests("InstanceRequest"),
        Vec::<serde_json::Value>::new()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_takes_back_all_that_the_server_was_told() {
    let nacos = quick_nacos().await;
    let program = Program::on(&nacos);
    let registry = program.registry();
    registry
        .register(&provider(1, ""))
        .await
        .expect("registers");
    let _subscription = subscribe(&*registry).await;
    assert!(!nacos.subscribers(&service("providers:a.B::")).is_empty());
    registry.close().await;
    assert!(nacos.registered(&service("providers:a.B::")).is_empty());
    let gone = || nacos.connections().is_empty();
    nacos.until("the end of all connections", gone).await;
    assert!(nacos.subscribers(&service("providers:a.B::")).is_empty());
}
