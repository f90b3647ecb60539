//! Several servers in one process, and several sets of files on one server.

use tonic::Code;

use crate::{
    client::{Reflection, SERVICES, call},
    services::{Provider, SHOP, service},
};

#[tokio::test]
async fn two_servers_in_one_process_tell_each_of_its_own() {
    let one = Provider::of([service("shop.Orders", &SHOP)]).await;
    let other = Provider::of([service("farm.Fields", &farm("farm.proto"))]).await;
    assert_ne!(one.address, other.address);
    for (provider, own, others) in [
        (&one, "shop.Orders", "farm.Fields"),
        (&other, "farm.Fields", "shop.Orders"),
    ] {
        for name in SERVICES {
            let mut reflection = Reflection::open(provider.address, name).await;
            let services = reflection.services().await;
            assert!(services.contains(&own.to_owned()), "{services:?}");
            assert!(!services.contains(&others.to_owned()), "{services:?}");
            assert!(reflection.symbol(own).await.is_ok());
            assert!(reflection.symbol(others).await.is_err());
        }
        call(provider.address, "/grpc.health.v1.Health/Check")
            .await
            .expect("both are healthy");
        for path in [
            "/grpc.health.v1.Health/Nothing",
            "/grpc.reflection.v1.ServerReflection/Nothing",
            "/nobody.Nothing/Nothing",
        ] {
            let status = call(provider.address, path).await.expect_err("unknown");
            assert_eq!(status.code(), Code::Unimplemented, "{path}: {status}");
        }
    }
}

#[tokio::test]
async fn the_same_file_from_several_crates_is_one_file() {
    // Each crate has a copy of its own of what it compiled.
    let provider = Provider::of([
        service("shop.Orders", &SHOP),
        service("shop.Returns", &[RETURNS, SHOP[1]]),
    ])
    .await;
    let mut reflection = Reflection::open(provider.address, SERVICES[0]).await;
    for (symbol, want) in [
        (
            "shop.Orders",
            &[
                "shop/orders.proto",
                "shop/goods.proto",
                "google/protobuf/timestamp.proto",
            ][..],
        ),
        // The goods have been sent.
        ("shop.Returns", &["shop/returns.proto"]),
    ] {
        let files = reflection.symbol(symbol).await.expect("known");
        assert_eq!(files, want, "{symbol}");
    }
}

#[tokio::test]
async fn two_files_of_one_name_are_each_those_of_their_services() {
    let provider = Provider::of([
        service("shop.Orders", &SHOP),
        service("farm.Fields", &farm("shop/orders.proto")),
    ])
    .await;
    for (symbol, message) in [("shop.Orders", "Order"), ("farm.Fields", "Field")] {
        let mut reflection = Reflection::open(provider.address, SERVICES[0]).await;
        let files = reflection.decoded(symbol).await;
        assert_eq!(files[0].name(), "shop/orders.proto");
        assert_eq!(files[0].message_type[0].name(), message);
    }
}

fn farm(file: &'static str) -> [(&'static str, &'static str); 1] {
    let text = r#"
        syntax = "proto3";
        package farm;
        service Fields {
            rpc Place(Field) returns (Field);
        }
        message Field {}
    "#;
    [(file, text)]
}

const RETURNS: (&str, &str) = (
    "shop/returns.proto",
    r#"
        syntax = "proto3";
        package shop;
        import "shop/goods.proto";
        service Returns {
            rpc Place(Return) returns (Return);
        }
        message Return {
            Good good = 1;
        }
    "#,
);
