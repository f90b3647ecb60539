//! How lists are followed.

use std::time::Duration;

use dubbo_core::url::Url;
use dubbo_test::soon;

use crate::world::{
    Program, consumer, is, provider, quick_nacos, sees, service, subscribe, theirs,
};

/// Case 73: who was in the first list and not in the first push has gone.
#[tokio::test(flavor = "multi_thread")]
async fn who_goes_between_the_first_list_and_the_first_push_is_gone() {
    let nacos = quick_nacos().await;
    let other = nacos.client();
    let name = service("providers:a.B::");
    other.register(&name, [theirs(1), theirs(2)]);
    let program = Program::on(&nacos);
    let registry = program.registry();
    let mut subscription = subscribe(&*registry).await;
    assert!(is(&subscription.current(), &[1, 2]));
    other.register(&name, [theirs(2)]);
    sees(&mut subscription, &[2]).await;
}

/// Case 74, as far as services go.
#[tokio::test(flavor = "multi_thread")]
async fn the_server_hears_that_nobody_listens_after_the_last_has_left() {
    let nacos = quick_nacos().await;
    let program = Program::on(&nacos);
    let registry = program.registry();
    let (one, two) = (subscribe(&*registry).await, subscribe(&*registry).await);
    let name = service("providers:a.B::");
    assert_eq!(nacos.subscribers(&name).len(), 1);
    drop(one);
    let third = subscribe(&*registry).await;
    let ends = || {
        let requests = nacos.requests("SubscribeServiceRequest");
        requests.iter().filter(|r| r["subscribe"] == false).count()
    };
    assert_eq!(ends(), 0);
    drop((two, third));
    nacos
        .until("the end of the subscription", || {
            nacos.subscribers(&name).is_empty()
        })
        .await;
}

/// T15: nobody is believed when it lasts, and not at all with empty protection.
#[tokio::test(flavor = "multi_thread")]
async fn registry_t15_the_last_providers_go_unless_that_is_not_wanted() {
    let nacos = quick_nacos().await;
    let other = nacos.client();
    let name = service("providers:a.B::");
    other.register(&name, [theirs(1), theirs(2)]);
    let (plain, protected) = (
        Program::on(&nacos).registry(),
        Program::with(&nacos, "enable-empty-protection=true").registry(),
    );
    let (mut plain, mut protected) = (subscribe(&*plain).await, subscribe(&*protected).await);
    sees(&mut protected, &[1, 2]).await;
    other.deregister(&name);
    sees(&mut plain, &[]).await;
    assert!(is(&protected.current(), &[1, 2]));
    // One that the server thinks ill is still listed, as Java has it.
    let mut ill = theirs(3);
    ill.healthy = false;
    other.register(&name, [ill]);
    sees(&mut plain, &[3]).await;
    sees(&mut protected, &[3]).await;
}

/// Case 76: nacos-sdk gives a page of names at a time.
#[tokio::test(flavor = "multi_thread")]
async fn every_service_is_found_however_many_there_are() {
    let nacos = quick_nacos().await;
    let other = nacos.client();
    let named = |n: u16| service(&format!("providers:a.B{n}::"));
    let one = |n: u16| {
        theirs(n)
            .with("interface", &format!("a.B{n}"))
            .with("path", &format!("a.B{n}"))
    };
    for n in 1..=250 {
        other.register(&named(n), [one(n)]);
    }
    let program = Program::on(&nacos);
    let all: Url = "consumer://h/x?interface=*&category=providers"
        .parse()
        .expect("valid");
    let registry = program.registry();
    let mut subscription = registry.subscribe(&all).await.expect("subscribes");
    let every: Vec<_> = (1..=250).collect();
    sees(&mut subscription, &every).await;
    other.register(&named(251), [one(251)]);
    let every: Vec<_> = (1..=251).collect();
    sees(&mut subscription, &every).await;
}

/// nacos-sdk runs all listeners of a process on one thread.
#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_that_nobody_looks_at_holds_nobody_up() {
    let nacos = quick_nacos().await;
    let other = nacos.client();
    let program = Program::on(&nacos);
    let registry = program.registry();
    let _idle = subscribe(&*registry).await;
    let mut subscription = subscribe(&*registry).await;
    for port in 1..20 {
        other.register(&service("providers:a.B::"), [theirs(port)]);
        sees(&mut subscription, &[port]).await;
    }
}

/// Lists lag by half a second: registering takes so long, and then everybody sees it.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_registered_is_listed_at_once() {
    let nacos = quick_nacos().await;
    let program = Program::on(&nacos);
    let registry = program.registry();
    let lookup = async || {
        let found = registry.lookup(&consumer("")).await.expect("no error");
        found.providers.len()
    };
    assert_eq!(lookup().await, 0);
    for port in 1..=3 {
        registry
            .register(&provider(port, ""))
            .await
            .expect("registers");
        assert_eq!(lookup().await, usize::from(port));
    }
    registry
        .unregister(&provider(1, ""))
        .await
        .expect("unregisters");
    assert_eq!(lookup().await, 2);
}

/// A refused subscription is one to nacos-sdk, without an event for ever.
#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_tells_is_asked_for() {
    let nacos = quick_nacos().await;
    let other = nacos.client();
    let program = Program::on(&nacos);
    let registry = program.registry();
    // Connects.
    program
        .registry()
        .lookup(&consumer(""))
        .await
        .expect("no error");
    for _ in 0..10 {
        nacos.refuse_next("SubscribeServiceRequest", 500, "no");
    }
    let mut subscription = subscribe(&*registry).await;
    other.register(&service("providers:a.B::"), [theirs(1)]);
    sees(&mut subscription, &[1]).await;
    soon("another change", async {
        other.register(&service("providers:a.B::"), [theirs(2)]);
        while !is(&subscription.current(), &[2]) {
            let _ = tokio::time::timeout(Duration::from_secs(1), subscription.changed()).await;
        }
    })
    .await;
}
