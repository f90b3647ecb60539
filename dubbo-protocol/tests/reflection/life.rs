//! Streams over time: what is exported meanwhile, and how they end.

use std::time::Duration;

use dubbo_core::protocol::Protocol as _;
use tokio::time::Instant;
use tonic::Code;

use crate::{
    client::{Reflection, SERVICES, call, due},
    services::{Provider, SHOP, java, service},
};

#[tokio::test]
async fn an_open_stream_sees_what_is_exported_and_unexported() {
    let mut provider = Provider::of([java("com.example.Users")]).await;
    let mut reflection = Reflection::open(provider.address, SERVICES[0]).await;
    let before = reflection.services().await;
    assert!(!before.contains(&"shop.Orders".to_owned()), "{before:?}");
    let miss = reflection.symbol("shop.Orders").await;
    assert_eq!(miss.expect_err("not there yet").code, 5);

    provider
        .export(&[], service("shop.Orders", &SHOP))
        .await
        .expect("exported");
    let during = reflection.services().await;
    assert!(during.contains(&"shop.Orders".to_owned()), "{during:?}");
    assert!(reflection.symbol("shop.Orders").await.is_ok());

    provider.exporters.remove(1).unexport().await;
    assert_eq!(reflection.services().await, before);
    let miss = reflection.symbol("shop.Orders").await;
    assert_eq!(miss.expect_err("gone").code, 5);
}

#[tokio::test]
async fn a_stream_ends_well_when_its_caller_asks_no_more() {
    let provider = Provider::of([service("shop.Orders", &SHOP)]).await;
    for name in SERVICES {
        let mut reflection = Reflection::open(provider.address, name).await;
        assert!(reflection.symbol("shop.Orders").await.is_ok());
        reflection.close();
        assert_eq!(reflection.next().await.expect("status 0"), None);

        let mut silent = Reflection::open(provider.address, name).await;
        silent.close();
        assert_eq!(silent.next().await.expect("status 0"), None);
    }
}

#[tokio::test]
async fn an_open_stream_holds_up_no_shutdown() {
    let provider = Provider::of([service("shop.Orders", &SHOP)]).await;
    let mut reflection = Reflection::open(provider.address, SERVICES[0]).await;
    assert!(reflection.symbol("shop.Orders").await.is_ok());
    let deadline = Instant::now() + Duration::from_secs(15);
    let drained = due(provider.protocol.drain(deadline)).await;
    assert_eq!(drained.aborted, 0);
    let status = reflection.next().await.expect_err("the server is gone");
    assert_eq!(status.code(), Code::Unavailable, "{status}");
}

#[tokio::test]
async fn it_can_be_switched_off_for_a_port() {
    let off = [(".reflection.enable", "false")];
    let mut provider = Provider::with(&off, [service("shop.Orders", &SHOP)]).await;
    for path in [
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    ] {
        let status = call(provider.address, path).await.expect_err("off");
        assert_eq!(status.code(), Code::Unimplemented, "{status}");
    }
    let refused = provider
        .export(&[(".reflection.enable", "true")], java("com.example.Users"))
        .await
        .expect_err("the port is open without it");
    assert!(
        refused.to_string().contains("reflection.enable"),
        "{refused}"
    );
}

#[tokio::test]
async fn an_application_may_bring_its_own_reflection() {
    let own = java("grpc.reflection.v1.ServerReflection");
    let provider = Provider::of([service("shop.Orders", &SHOP), own]).await;
    let status = call(
        provider.address,
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    )
    .await
    .expect_err("it has another method");
    assert_eq!(status.code(), Code::Unimplemented, "{status}");
    let mut reflection = Reflection::open(provider.address, SERVICES[1]).await;
    assert_eq!(
        reflection.services().await,
        [
            "grpc.health.v1.Health",
            SERVICES[0],
            SERVICES[1],
            "shop.Orders"
        ]
    );
}
