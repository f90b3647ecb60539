//! The protocol `injvm`: calls within one instance.

use dubbo::{Code, spi::registry::Registry};
use examples::greet::GreeterClient;

use super::{
    probe::Probe,
    rig::{answering, greet, load, named, request},
};

const SERVES: &str = "protocols: {local: {name: injvm}}";

#[tokio::test]
async fn a_reference_reaches_the_service_of_its_own_instance_and_of_no_other() {
    let yaml = format!(
        "dubbo: {{{SERVES}, consumer: {{check: false, references: {{greet.Greeter: {{protocol: injvm}}}}}}}}"
    );
    let start = async |name| {
        let instance = load(&yaml).provide(named(name)).build().expect("valid");
        instance.start().await.expect("starts");
        let greeter: GreeterClient = instance.refer().await.expect("refers");
        (instance, greeter)
    };
    let (one, to_one) = start("one").await;
    let (_two, to_two) = start("two").await;
    assert_eq!(greet(&to_one, "").await.expect("answers"), "one");
    assert_eq!(greet(&to_two, "").await.expect("answers"), "two");

    one.shutdown(std::time::Duration::ZERO).await;
    let status = greet(&to_one, "").await.expect_err("ended");
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(greet(&to_two, "").await.expect("answers"), "two");
}

#[tokio::test]
async fn what_travels_beside_a_message_does_so_within_the_process() {
    let service = answering(|request| {
        let context = request.context();
        let tenant = request.attachments().get("tenant").unwrap_or("nobody");
        context.reply().trailer("cost", "7");
        Ok(format!(
            "{tenant} {} {}",
            context.deadline().is_some(),
            context.remote_address().is_none()
        ))
    });
    let yaml = format!(
        "dubbo: {{{SERVES}, consumer: {{references: {{greet.Greeter: {{url: injvm://anything}}}}}}}}"
    );
    let instance = load(&yaml).provide(service).build().expect("valid");
    instance.start().await.expect("starts");
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    let response = greeter
        .greet(request(""))
        .attach("tenant", "acme")
        .await
        .expect("answers");
    assert_eq!(response.message().greeting, "acme true true");
    assert_eq!(response.trailers().get("cost"), Some("7"));
}

#[tokio::test]
async fn group_version_and_check_hold_as_over_a_wire() {
    let yaml = |options: &str| {
        format!(
            "dubbo: {{{SERVES}, provider: {{group: g, version: 1}}, consumer: {{max-wait-time-for-service-discovery: 10ms, \
             references: {{greet.Greeter: {{protocol: injvm, {options}}}}}}}}}"
        )
    };
    for (options, found) in [
        ("group: g, version: 1", true),
        ("group: h, version: 1", false),
        ("", false),
    ] {
        let instance = load(&yaml(options))
            .provide(named("here"))
            .build()
            .expect("valid");
        instance.start().await.expect("starts");
        match instance.refer::<GreeterClient>().await {
            Ok(greeter) => {
                assert!(found, "{options}");
                assert_eq!(greet(&greeter, "").await.expect("answers"), "here");
            }
            Err(error) => assert!(
                !found && error.to_string().contains("no provider of"),
                "{options}: {error}"
            ),
        }
    }
}

#[tokio::test]
async fn what_only_this_process_can_call_is_not_registered() {
    let probe = Probe::new();
    let yaml = "dubbo: {registries: {r: {protocol: probe, address: here}}, \
                protocols: {a: {name: InJvm}, b: {ip: 127.0.0.1, port: 0}}}";
    let instance = load(yaml)
        .extension::<dyn Registry>("probe", probe.plugin())
        .provide(named("here"))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    let registered: Vec<_> = probe
        .providers()
        .await
        .iter()
        .map(|url| url.protocol().to_owned())
        .collect();
    assert_eq!(registered, ["tri"]);
    assert_eq!(instance.exported().len(), 2);
}
