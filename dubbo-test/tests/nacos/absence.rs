//! §5 and §8: the server is down, or hangs.

use std::time::Duration;

use dubbo_test::soon;
use nacos_sdk::api::{error::Error, naming::NamingServiceBuilder};
use tokio::time::timeout;

use super::sdk::{Configured, Named, config, instance, naming, props, quick_nacos, service};

#[tokio::test(flavor = "multi_thread")]
async fn a_pushed_connection_waits_for_the_server_and_redoes_everything() {
    let nacos = quick_nacos().await;
    let client = naming(&nacos).await;
    let named = Named(&client, "pushed");
    let mut events = named.subscribe().await;
    assert_eq!(events.next().await, [""; 0]);
    named.register(instance(1)).await.expect("it is accepted");
    assert_eq!(events.next().await, ["10.0.0.1:1"]);

    nacos.stop().await;
    assert!(nacos.registered(&service("pushed")).is_empty());
    let other = Named(&client, "while-down");
    // Until the client has seen the end of its stream, calls fail.
    let hangs = async {
        while timeout(Duration::from_secs(1), other.register(instance(2)))
            .await
            .is_ok()
        {}
    };
    soon("calls to hang", hangs).await;
    nacos.start_again().await;
    // The list is empty until the redo, which is what a subscriber sees of a restart.
    let redone = || nacos.addresses(&service("pushed")) == ["10.0.0.1:1"];
    nacos.until("the redo of the registration", redone).await;
    let mut seen = Vec::new();
    while seen.last() != Some(&vec!["10.0.0.1:1".to_owned()]) {
        seen.push(events.next().await);
    }
    assert_eq!(seen[0], [""; 0], "{seen:?}");
}

/// Nothing was ever pushed to it, so it does not learn of the end: `docs/spec/nacos-2.5.1.md` §5.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_connection_fails_at_once_and_never_recovers_under_calls() {
    let nacos = quick_nacos().await;
    let client = config(&nacos).await;
    let named = Configured(&client, "silent");
    named.publish("a").await.expect("it is accepted");
    nacos.stop().await;
    let down = named.publish("b").await.expect_err("the server is down");
    assert!(matches!(down, Error::GrpcBufferRequest(_)), "{down}");
    let refused = named.publish("b").await.expect_err("the server is down");
    assert!(
        refused.to_string().contains("tcp connect error"),
        "{refused}"
    );
    nacos.starting().await;
    for (code, text) in [
        (300, "Server is starting,please try later."),
        (301, "Connection is unregistered."),
    ] {
        let refused = named.publish("b").await.expect_err("it is refused");
        let want = format!("ret_code:500 error_code:{code} message:Some({text:?})");
        assert!(refused.to_string().contains(&want), "{refused}");
        if code == 300 {
            nacos.start_again().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_idles_recovers_by_its_health_check() {
    let nacos = quick_nacos().await;
    let client = naming(&nacos).await;
    let named = Named(&client, "idle");
    named.register(instance(1)).await.expect("it is accepted");
    nacos.drop_connections().await;
    assert!(nacos.registered(&service("idle")).is_empty());
    let failed = || nacos.requests("HealthCheckRequest").len() >= 5;
    nacos.until("three failed health checks", failed).await;
    let connected = || !nacos.connections().is_empty();
    nacos.until("another connection", connected).await;
    let back = || nacos.addresses(&service("idle")) == ["10.0.0.1:1"];
    nacos.until("the redo", back).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_server_hangs_and_goes_on() {
    let nacos = quick_nacos().await;
    let client = naming(&nacos).await;
    let named = Named(&client, "frozen");
    nacos.freeze();
    let mut register = Box::pin(named.register(instance(1)));
    timeout(Duration::from_millis(500), &mut register)
        .await
        .expect_err("it hangs");
    let mut build = Box::pin(naming(&nacos));
    timeout(Duration::from_millis(500), &mut build)
        .await
        .expect_err("it hangs");
    nacos.thaw();
    register.await.expect("it is done");
    assert_eq!(nacos.addresses(&service("frozen")), ["10.0.0.1:1"]);
    build.await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_built_only_with_a_server() {
    let nacos = quick_nacos().await;
    nacos.stop().await;
    let started = tokio::time::Instant::now();
    let failed = NamingServiceBuilder::new(props(&nacos)).build().await;
    let failed = failed.expect_err("nobody is there");
    assert_eq!(
        failed.to_string(),
        "grpc request error: get result failed: the connection is not connected"
    );
    assert!(started.elapsed() > Duration::from_secs(4));
}
