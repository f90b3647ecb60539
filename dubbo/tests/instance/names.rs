//! A service under the name of its proto file and under that of its Java package: peers of gRPC call the one, consumers of
//! Dubbo Java that go by `java_package` the other.

use dubbo::{
    Code, Instance, Url,
    config::{ReferenceConfig, ServiceConfig},
};
use examples::greet::GreeterClient;

use crate::rig::{answering, greet, load};

#[tokio::test]
async fn a_service_may_have_a_second_name_and_a_client_picks_either() {
    let greeter = |name: &'static str| answering(move |_| Ok(name.to_owned()));
    let provider: Instance = load("dubbo: {protocols: {tri: {ip: 127.0.0.1, port: 0}}}")
        .provide(greeter("proto"))
        .provide_with(
            greeter("java"),
            ServiceConfig::new().interface("org.demo.Greeter"),
        )
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let exported = provider.exported();
    let addresses: Vec<_> = exported.iter().map(Url::address).collect();
    let [one, other] = &addresses[..] else {
        panic!("two names: {exported:?}");
    };
    assert_eq!(one, other, "on one port");

    let consumer = load("dubbo: {consumer: {check: false}}")
        .build()
        .expect("valid");
    for (interface, want) in [
        ("greet.Greeter", Ok("proto")),
        ("org.demo.Greeter", Ok("java")),
        ("org.demo.Other", Err(Code::Unimplemented)),
    ] {
        let options = ReferenceConfig::new()
            .interface(interface)
            .url([format!("tri://{one}")])
            .retries(0);
        let client: GreeterClient = consumer.refer_with(options).await.expect("refers");
        let answer = greet(&client, "x").await;
        let answer = answer.as_deref().map_err(dubbo::Status::code);
        assert_eq!(answer, want, "{interface}");
    }
}
