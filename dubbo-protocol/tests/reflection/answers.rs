//! What is answered to each kind of question, under both names of the service.

use tonic::Request;

use crate::{
    client::{Answer, Asked, Extension, Reflection, SERVICES},
    services::{Provider, SHOP, java, service},
};

const ORDERS: &str = "shop/orders.proto";
const GOODS: &str = "shop/goods.proto";
const TIMESTAMP: &str = "google/protobuf/timestamp.proto";

async fn shop() -> Provider {
    Provider::of([service("shop.Orders", &SHOP), java("com.example.Users")]).await
}

fn extension(message: &str, number: i32) -> Asked {
    Asked::Extension(Extension {
        message: message.to_owned(),
        number,
    })
}

#[tokio::test]
async fn all_that_is_served_is_listed_once() {
    let mut provider = shop().await;
    let version = [("group", "g"), ("version", "1.0.0")];
    for again in [service("shop.Orders", &SHOP), java("com.example.Users")] {
        provider.export(&version, again).await.expect("exported");
    }
    for name in SERVICES {
        let mut reflection = Reflection::open(provider.address, name).await;
        assert_eq!(
            reflection.services().await,
            [
                "com.example.Users",
                "grpc.health.v1.Health",
                SERVICES[0],
                SERVICES[1],
                "shop.Orders",
            ]
        );
    }
}

#[tokio::test]
async fn a_file_comes_with_what_it_imports_well_known_types_too() {
    let provider = shop().await;
    for name in SERVICES {
        for asked in [
            Asked::File(ORDERS.to_owned()),
            Asked::Symbol("shop.Orders".to_owned()),
            Asked::Symbol("shop.Orders.Place".to_owned()),
            Asked::Symbol("shop.Order".to_owned()),
            Asked::Symbol("shop.Order.lines".to_owned()),
            Asked::Symbol("shop.Order.payment".to_owned()),
            Asked::Symbol("shop.Order.Line".to_owned()),
            Asked::Symbol("shop.Order.Line.good".to_owned()),
            Asked::Symbol("shop.Order.State".to_owned()),
            Asked::Symbol("shop.Order.PAID".to_owned()),
        ] {
            let mut reflection = Reflection::open(provider.address, name).await;
            let files = reflection.files(asked.clone()).await;
            let want = [ORDERS, GOODS, TIMESTAMP].map(str::to_owned);
            assert_eq!(files.as_deref(), Ok(&want[..]), "{asked:?}");
        }
        for (asked, want) in [
            (Asked::Symbol("shop.Good".to_owned()), GOODS),
            (Asked::Symbol("shop.SUMMER".to_owned()), GOODS),
            (Asked::Symbol("shop.colour".to_owned()), GOODS),
            (Asked::Symbol("shop.Sizes.size".to_owned()), GOODS),
            (extension("shop.Good", 100), GOODS),
            (extension("shop.Good", 101), GOODS),
            (Asked::File(TIMESTAMP.to_owned()), TIMESTAMP),
            (
                Asked::Symbol("google.protobuf.Timestamp.seconds".to_owned()),
                TIMESTAMP,
            ),
            (
                Asked::Symbol("grpc.health.v1.Health".to_owned()),
                "grpc/health/v1/health.proto",
            ),
            (
                Asked::Symbol(SERVICES[0].to_owned()),
                "grpc/reflection/v1/reflection.proto",
            ),
            (
                Asked::Symbol(SERVICES[1].to_owned()),
                "grpc/reflection/v1alpha/reflection.proto",
            ),
        ] {
            let mut reflection = Reflection::open(provider.address, name).await;
            let files = reflection.files(asked.clone()).await;
            assert_eq!(files, Ok(vec![want.to_owned()]), "{asked:?}");
        }
    }
}

#[tokio::test]
async fn an_import_is_sent_once_a_stream_and_a_file_whenever_it_is_asked_for() {
    let provider = shop().await;
    let mut reflection = Reflection::open(provider.address, SERVICES[0]).await;
    for (symbol, want) in [
        ("shop.Good", &[GOODS][..]),
        ("shop.Order", &[ORDERS, TIMESTAMP]),
        ("shop.Order", &[ORDERS]),
        ("shop.Good", &[GOODS]),
    ] {
        let files = reflection.symbol(symbol).await.expect("known");
        assert_eq!(files, want, "{symbol}");
    }
}

#[tokio::test]
async fn extensions_are_numbered() {
    let provider = shop().await;
    for name in SERVICES {
        let mut reflection = Reflection::open(provider.address, name).await;
        assert_eq!(reflection.extensions("shop.Good").await, Ok(vec![100, 101]));
        assert_eq!(reflection.extensions("shop.Order").await, Ok(vec![]));
        let miss = reflection.extensions("shop.Nothing").await;
        assert_eq!(miss.expect_err("unknown").code, 5);
    }
}

#[tokio::test]
async fn a_miss_is_an_answer_and_the_stream_goes_on() {
    let provider = shop().await;
    for name in SERVICES {
        let mut reflection = Reflection::open(provider.address, name).await;
        for (asked, part) in [
            (Asked::File("no.proto".to_owned()), "no file `no.proto`"),
            (Asked::Symbol("shop".to_owned()), "no symbol `shop`"),
            (Asked::Symbol(String::new()), "no symbol ``"),
            (
                Asked::Symbol("com.example.Users".to_owned()),
                "`com.example.Users` is not described by a proto file",
            ),
            (extension("shop.Good", 7), "no extension 7 of `shop.Good`"),
            (extension("shop.Order", 100), "no extension 100"),
        ] {
            let miss = reflection.files(asked).await.expect_err("nothing there");
            assert_eq!(miss.code, 5, "{miss:?}");
            assert!(miss.text.contains(part), "{miss:?}");
        }
        let Answer::Miss(miss) = reflection.ask(None).await else {
            panic!("nothing was asked")
        };
        assert_eq!(miss.code, 3, "{miss:?}");
        assert!(reflection.symbol("shop.Order").await.is_ok());
    }
}

#[tokio::test]
async fn a_group_and_a_version_do_not_matter() {
    let provider = shop().await;
    for name in SERVICES {
        let mut request = Request::new(());
        let metadata = request.metadata_mut();
        metadata.insert("tri-service-group", "any".parse().expect("ASCII"));
        metadata.insert("tri-service-version", "9".parse().expect("ASCII"));
        let mut reflection = Reflection::open_with(provider.address, name, request).await;
        assert!(reflection.symbol("shop.Order").await.is_ok());
    }
}
