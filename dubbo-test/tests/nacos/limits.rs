//! §3.

use dubbo_test::nacos::Instance;
use nacos_sdk::api::{error::Error, naming::ServiceInstance};

use super::sdk::{Configured, Named, config, instance, naming, quick_nacos, service};

#[tokio::test(flavor = "multi_thread")]
async fn refusals_say_what_is_wrong_unless_the_sdk_loses_it() {
    let nacos = quick_nacos().await;
    let client = naming(&nacos).await;
    let refused = |error: Error, operation: &str, why: &str| {
        let want = format!(
            "get result failed: handle {operation} failed: result_code=500, error_code=400, \
             message=Param check invalid:Param {why}"
        );
        assert_eq!(error.to_string(), want);
    };
    let metadata = |len| {
        let mut instance = instance(1);
        instance.metadata.insert("k".to_owned(), "v".repeat(len));
        instance
    };
    let (register, batch) = ("register_ephemeral_instance", "batch_register_instance");
    let long = "'Metadata' is illegal, the param length should not exceed 1024.";
    let illegal = "'serviceName' is illegal, illegal characters should not appear in the param.";

    let named = Named(&client, "limited");
    let old = named.register(metadata(1023)).await;
    old.expect("that is not too much");
    let too_much = named.register(metadata(1024)).await;
    refused(too_much.expect_err("that is too much"), register, long);
    let too_much = named.batch(vec![instance(2), metadata(1024)]).await;
    refused(too_much.expect_err("that is too much"), batch, long);
    assert_eq!(nacos.addresses(&service("limited")), ["10.0.0.1:1"]);

    let bad_port = ServiceInstance {
        port: 65536,
        ..instance(1)
    };
    let bad_port = named.register(bad_port).await.expect_err("it is no port");
    let why = "'port' is illegal, the value should be between 0 and 65535.";
    refused(bad_port, register, why);

    let named = Named(&client, "a@@b");
    let register_here = named.register(instance(1)).await;
    refused(register_here.expect_err("it is no name"), register, illegal);
    let query = named.query(&[]).await.expect_err("it is no name");
    assert_eq!(
        query.to_string().split(" at line").next(),
        Some("Serialization failed: missing field `serviceInfo`")
    );
    let mut events = named.subscribe().await;
    events.none();
    let list = client.get_service_list(1, 1, Some("a/b".to_owned())).await;
    let list = list.expect_err("it is no group");
    assert!(
        list.to_string().contains("missing field `serviceNames`"),
        "{list}"
    );
    let blank = Named(&client, " ").register(instance(1)).await;
    let blank = blank.expect_err("the SDK looks for that");
    assert!(matches!(blank, Error::InvalidParam(..)), "{blank}");
}

#[tokio::test(flavor = "multi_thread")]
async fn configs_have_limits_as_well() {
    let nacos = quick_nacos().await;
    let client = config(&nacos).await;
    let named = Configured(&client, "a/b");
    let refused = named.publish("a").await.expect_err("it is no name");
    assert_eq!(
        refused.to_string(),
        "get result failed: handle publish_config failed: result_code=500, error_code=400, \
         message=Param check invalid:Param 'dataId' is illegal, illegal characters should not appear in the param."
    );
    let refused = named.get().await.expect_err("it is no name");
    assert!(
        matches!(refused, Error::ConfigQueryConflict(_)),
        "{refused}"
    );

    let named = Configured(&client, "big");
    let eleven = "x".repeat(11 << 20);
    let refused = named.publish(&eleven).await.expect_err("it is too much");
    let text = "gRPC message exceeds maximum size 10485760: ";
    assert!(refused.to_string().contains(text), "{refused}");
    let five = &eleven[..5 << 20];
    named.publish(five).await.expect("the server takes it");
    let key = dubbo_test::nacos::ConfigKey::new("", "dubbo", "big");
    let shown = || nacos.shown_config(&key).is_some();
    nacos.until("the content", shown).await;
    let refused = named.get().await.expect_err("the SDK does not take it");
    let text = "decoded message length too large";
    assert!(refused.to_string().contains(text), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn long_lists_cannot_be_read() {
    let nacos = quick_nacos().await;
    let client = naming(&nacos).await;
    let other = nacos.client();
    let named = Named(&client, "long");
    for (count, readable) in [(3_100, true), (3_300, false)] {
        let instances =
            (0..count).map(|port| Instance::at("10.0.0.1", port).with("k", &"v".repeat(999)));
        other.register(&service("long"), instances);
        nacos
            .until("the new list", || {
                nacos.listed(&service("long")).len() == usize::from(count)
            })
            .await;
        let found = named.query(&[]).await;
        assert_eq!(found.is_ok(), readable, "{count}");
    }
}
