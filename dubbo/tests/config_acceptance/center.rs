//! Configuration that goes on in a config center.

use std::{sync::Arc, time::Duration};

use dubbo::{
    Instance, InstanceBuilder,
    config::{ConfigCenterConfig, ConsumerConfig, ProtocolConfig},
    spi::config_center::ConfigCenter,
};
use dubbo_test::center::Center;
use examples::greet::GreeterClient;

use super::rig::{Folder, answering, greet, load, load_in, named, patience, provide, url_of};

fn with(builder: InstanceBuilder, center: &Center) -> InstanceBuilder {
    let center = center.clone();
    builder.extension::<dyn ConfigCenter>("test", move |_| Ok(Arc::new(center.clone())))
}

const NAMED: &str = "config-center: {address: 'test://h:1', data-id: shop, timeout: 20ms}";

#[tokio::test]
async fn config_a07_the_center_is_stronger_than_the_file_and_code_is_stronger_still() {
    let provider = provide("", answering(|request| Ok(patience(request)))).await;
    let url = url_of(&provider);
    let center = Center::new("h:1");
    center.put("shop", "dubbo: {consumer: {request-timeout: 5s}}");
    let file = format!(
        "dubbo: {{NAMED consumer: {{request-timeout: 1s, references: {{GreeterClient: {{url: '{url}'}}}}}}}}"
    );
    let variable = ("DUBBO_CONSUMER_REQUEST_TIMEOUT", "9s");
    let code = ConsumerConfig::new().request_timeout(Duration::from_secs(2));
    let own = format!("{NAMED},");
    for (named, variables, code, want) in [
        ("", [("", ""); 1], None, "1"),
        (&own, [("", "")], None, "5"),
        (&own, [variable], None, "9"),
        (&own, [variable], Some(code), "2"),
    ] {
        let mut builder = with(load_in(&file.replace("NAMED", named), &variables), &center);
        if let Some(code) = code {
            builder = builder.consumer(code);
        }
        let instance = builder.build().expect("valid");
        let greeter: GreeterClient = instance.refer().await.expect("refers");
        assert_eq!(
            greet(&greeter).await.expect("answers"),
            want,
            "{named} {variables:?}"
        );
    }
}

#[tokio::test]
async fn config_a08_a_center_that_is_not_there_stops_the_start_unless_the_document_is_optional() {
    let silent = Center::new("h:1");
    silent.set_silent(true);
    let yaml = format!("dubbo: {{{NAMED}}}");
    let error = with(load(&yaml), &silent)
        .build()
        .expect_err("refused")
        .to_string();
    for part in [
        "dubbo.yaml:1:",
        "dubbo.config-center.data-id: test://h:1/dubbo/shop: it cannot be read: no answer within 20ms",
        "set `params.optional: \"true\"` to start without it",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let optional = yaml.replace("20ms", "20ms, params: {optional: 'true'}");
    with(load(&optional), &silent)
        .build()
        .expect("a warning will do");
}

/// Case 114.
#[tokio::test]
async fn a_zero_in_the_center_is_a_value() {
    let center = Center::new("h:1");
    center.put(
        "shop",
        "dubbo: {provider: {services: {greet.Greeter: {retries: 0, weight: 0}}}}",
    );
    let yaml = format!(
        "dubbo: {{{NAMED}, protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, \
         provider: {{services: {{greet.Greeter: {{retries: 3, weight: 7}}}}}}}}"
    );
    let instance = with(load(&yaml), &center)
        .provide(named("x"))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    let url = &instance.exported()[0];
    assert_eq!(
        [url.param("retries"), url.param("weight")],
        [Some("0"), Some("0")]
    );
}

/// Within a runtime or not, from code alone, and with everything that the document names.
#[test]
fn a_program_that_is_configured_by_code_reads_a_document_too() {
    let center = Center::new("h:1");
    center.put("shop.properties", "dubbo.application.name=from-center\n");
    let options = ConfigCenterConfig::at("test://h:1").data_id("shop.properties");
    let build = || {
        let builder = with(Instance::builder().config_center(options.clone()), &center);
        let protocol = ProtocolConfig::tri().ip("127.0.0.1").port(0);
        builder
            .protocol("tri", protocol)
            .provide(named("x"))
            .build()
            .expect("valid")
    };
    let outside = build();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        for instance in [outside, build()] {
            instance.start().await.expect("starts");
            assert_eq!(
                instance.exported()[0].param("application"),
                Some("from-center")
            );
            instance.shutdown(Duration::ZERO).await;
        }
    });
}

#[tokio::test]
async fn a_document_may_be_a_file_in_the_folder_of_a_file_center() {
    let folder = Folder::new(
        "center",
        &[("conf/dubbo/shop.toml", "dubbo.application.name = 'filed'")],
    );
    let (root, conf) = (folder.0.display(), folder.0.join("conf"));
    let yaml = format!(
        "dubbo: {{config-center: {{address: 'file://{root}', data-id: shop.toml, \
         params: {{dubbo.config-center.dir: '{}'}}}}, protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}}}",
        conf.display()
    );
    starts_as("filed", &yaml).await;
}

#[cfg(feature = "nacos")]
#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_read_from_nacos() {
    use dubbo::{Url, extension::Extensions};
    use dubbo_test::nacos::ScriptedNacos;

    let nacos = ScriptedNacos::start().await;
    let address = format!("nacos://{}", nacos.address());
    let url: Url = address.parse().expect("an address");
    let extensions = Extensions::linked().expect("no duplicates");
    let center = extensions.create::<dyn ConfigCenter>("nacos", &url);
    let center = center.expect("linked");
    let document = "dubbo: {application: {name: of-nacos}}";
    let published = center.publish("shop", "DEFAULT_GROUP", document).await;
    published.expect("published");
    center.close().await;
    let yaml = format!(
        "dubbo: {{config-center: {{address: '{address}', data-id: shop}}, protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}}}"
    );
    starts_as("of-nacos", &yaml).await;
}

async fn starts_as(application: &str, yaml: &str) {
    let instance = load(yaml).provide(named("x")).build().expect("valid");
    instance.start().await.expect("starts");
    assert_eq!(
        instance.exported()[0].param("application"),
        Some(application)
    );
    instance.shutdown(Duration::ZERO).await;
}
