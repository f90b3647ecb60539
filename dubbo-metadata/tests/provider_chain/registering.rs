//! What a registry may answer, and what is then.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use dubbo_core::registry::{RegistryError, RegistryErrorKind};
use dubbo_metadata::{error::MetadataError, provider::Provider};
use tokio::time::sleep;

use crate::fakes::{World, bar, greet, other};

#[tokio::test(start_paused = true)]
async fn a_registry_out_of_reach_is_waited_for_and_hears_of_the_newest_state_only() {
    let world = World::new();
    let provider = world.provider(|_| {});
    world.discovery.hangs.store(true, Ordering::Relaxed);
    provider.export(&greet("")).expect("valid");
    let registering = tokio::spawn({
        let provider = Arc::clone(&provider);
        async move { provider.register().await }
    });
    sleep(Duration::from_hours(1)).await;
    provider.export(&bar("")).expect("valid");
    sleep(Duration::from_mins(1)).await;
    assert!(!registering.is_finished());
    world.discovery.hangs.store(false, Ordering::Relaxed);
    provider.export(&other("x.Third")).expect("valid");
    registering.await.expect("no panic").expect("registered");
    let calls = world.calls();
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(calls[0].contains("register 10.0.0.1:50051 7b1a"));
    assert!(calls[1].contains("update 10.0.0.1:50051 222f"));
    assert!(calls[2].contains("update 10.0.0.1:50051 "));
    let visible = world.instance("10.0.0.1:50051");
    let current = provider.history().current();
    assert_eq!(
        &visible.metadata["dubbo.metadata.revision"],
        current[0].revision()
    );
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_told_and_the_next_change_is_tried() {
    let world = World::new();
    let provider = world.provider(|_| {});
    world
        .discovery
        .answers
        .lock()
        .extend([Err(RegistryError::new(
            "register",
            "fake://registry",
            "too long",
        )
        .refused())]);
    provider.export(&greet("")).expect("valid");
    let error = provider.register().await.expect_err("refused");
    assert_eq!(error.to_string(), "register at fake://registry: too long");
    assert_eq!(error.kind, RegistryErrorKind::Refused);
    sleep(Duration::from_hours(1)).await;
    assert_eq!(world.calls().len(), 1, "asking again does not help");
    provider.export(&bar("")).expect("valid");
    sleep(Duration::from_secs(2)).await;
    let calls = world.calls();
    assert!(calls[1].ends_with("222f local"), "{calls:?}");
}

#[tokio::test(start_paused = true)]
async fn an_error_that_may_pass_is_waited_out() {
    let world = World::new();
    let provider = world.provider(|_| {});
    let failure = || Err(RegistryError::new("register", "fake://registry", "busy"));
    world
        .discovery
        .answers
        .lock()
        .extend([failure(), failure(), failure()]);
    provider.export(&greet("")).expect("valid");
    provider.register().await.expect("registered in the end");
    assert_eq!(world.calls().len(), 4);
    assert!(world.start.elapsed() >= Duration::from_millis(350));
}

#[tokio::test(start_paused = true)]
async fn unregistering_takes_the_instance_back_at_once_and_registering_brings_it_again() {
    let world = World::new();
    let provider = world.started().await;
    provider.unregister().await.expect("gone");
    assert_eq!(world.calls()[1..], ["0 ms unregister 10.0.0.1:50051"]);
    assert_eq!(
        provider.history().current().len(),
        1,
        "it is still answered for"
    );
    provider.export(&other("x.Third")).expect("valid");
    sleep(Duration::from_secs(10)).await;
    assert_eq!(world.calls().len(), 2, "nothing is told meanwhile");
    provider.register().await.expect("registered");
    assert!(world.calls()[2].starts_with("10000 ms register 10.0.0.1:50051 "));
    drop(provider);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(world.calls().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn without_services_nothing_is_registered() {
    let world = World::new();
    let provider = world.provider(|_| {});
    provider.unregister().await.expect("nothing to do");
    provider.register().await.expect("nothing to do");
    assert_eq!(world.calls(), [""; 0]);
    provider.export(&greet("")).expect("valid");
    sleep(Duration::from_secs(2)).await;
    assert_eq!(
        world.calls(),
        ["1000 ms register 10.0.0.1:50051 7b1a local"]
    );
}

#[test]
fn what_cannot_be_told_to_others_is_refused() {
    let world = World::new();
    for name in ["", "a,b", " a", "a\u{0}b"] {
        let error = Provider::new(world.options(name)).expect_err(name);
        assert!(
            matches!(error, MetadataError::Application { .. }),
            "{error}"
        );
    }
    let provider = world.provider(|_| {});
    for (url, want) in [
        ("tri://10.0.0.1/x.Y", "has no port"),
        ("tri://10.0.0.1:0/x.Y", "has no port"),
    ] {
        let error = provider
            .export(&url.parse().expect(url))
            .expect_err(url)
            .to_string();
        assert!(error.contains(want) && error.contains(url), "{error}");
    }
}
