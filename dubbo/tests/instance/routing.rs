//! Group and version choose among the exports of one interface, on the wire.

use dubbo::{Code, config::ServiceConfig};
use examples::greet::GreeterClient;

use super::rig::{consume, consume_with, greet, load, named, request};

/// One instance with three exports of one interface on one port.
async fn three() -> (dubbo::Instance, String) {
    let yaml = "dubbo: {application: {version: 1.0.0}, protocols: {tri: {ip: 127.0.0.1, port: 0}}}";
    let instance = load(yaml)
        .provide(named("plain"))
        .provide_with(named("grouped"), ServiceConfig::new().group("g"))
        .provide_with(
            named("newer"),
            ServiceConfig::new().group("g").version("2.0.0"),
        )
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    let exported = instance.exported();
    let address = exported[0].address();
    assert!(
        exported.iter().all(|url| url.address() == address),
        "port 0 is one port: {exported:?}"
    );
    (instance, format!("tri://{address}"))
}

async fn who(consumer: &GreeterClient) -> Result<String, Code> {
    greet(consumer, "").await.map_err(|status| status.code())
}

#[tokio::test]
async fn a_reference_reaches_the_export_of_its_group_and_version_and_no_other() {
    let (_provider, url) = three().await;
    for (options, want) in [
        ("version: 1.0.0", Ok("plain")),
        ("group: '', version: 1.0.0", Ok("plain")),
        ("group: g, version: 1.0.0", Ok("grouped")),
        ("group: g, version: 2.0.0", Ok("newer")),
        ("group: h, version: 2.0.0", Err(Code::Unimplemented)),
        ("version: 2.0.0", Err(Code::Unimplemented)),
        ("", Err(Code::Unimplemented)),
    ] {
        let consumer = consume(&url, options).await;
        assert_eq!(
            who(&consumer).await.as_deref(),
            want.as_ref().map(|&name| name),
            "{options}"
        );
    }
}

#[tokio::test]
async fn the_applications_group_and_version_are_those_of_references_that_set_none() {
    let (_provider, url) = three().await;
    for (own, want) in [("", "newer"), ("version: 1.0.0", "grouped")] {
        let yaml = format!(
            "dubbo: {{application: {{group: g, version: 2.0.0}}, \
             consumer: {{references: {{GreeterClient: {{url: '{url}', {own}}}}}}}}}"
        );
        let consumer = consume_with(&yaml).await;
        assert_eq!(who(&consumer).await.as_deref(), Ok(want), "{own}");
    }
}

#[tokio::test]
async fn a_call_may_name_another_group_and_version() {
    let (_provider, url) = three().await;
    let consumer = consume(&url, "version: 1.0.0").await;
    let call = consumer.greet(request("")).group("g").version("2.0.0");
    let response = call.await.expect("answers");
    assert_eq!(response.message().greeting, "newer");
    assert_eq!(
        who(&consumer).await.as_deref(),
        Ok("plain"),
        "the reference stays as it is"
    );
}

#[tokio::test]
async fn an_entry_of_the_configuration_is_found_by_type_then_by_interface_or_by_id() {
    let (_provider, url) = three().await;
    let entry = |version: &str| format!("{{url: '{url}', group: g, version: {version}}}");
    let (one, two) = (entry("1.0.0"), entry("2.0.0"));
    for (references, want) in [
        (
            format!("GreeterClient: {one}, greet.Greeter: {two}"),
            "grouped",
        ),
        (format!("other: {one}, greet.Greeter: {two}"), "newer"),
    ] {
        let consumer = consume_with(&format!(
            "dubbo: {{consumer: {{references: {{{references}}}}}}}"
        ))
        .await;
        assert_eq!(who(&consumer).await.as_deref(), Ok(want), "{references}");
    }

    let yaml = format!("dubbo: {{consumer: {{references: {{a: {one}, b: {two}}}}}}}");
    let instance = load(&yaml).build().expect("valid");
    for (id, want) in [("a", "grouped"), ("b", "newer")] {
        let greeter = instance.refer_as(id).await.expect("refers");
        assert_eq!(greet(&greeter, "").await.expect("answers"), want);
    }
    let error = instance
        .refer_as::<GreeterClient>("c")
        .await
        .expect_err("no c");
    let want = "cannot refer to greet.Greeter: `dubbo.consumer.references` has no `c`; it has a, b";
    assert_eq!(error.to_string(), want);
}
