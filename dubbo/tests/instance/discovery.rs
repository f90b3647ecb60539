//! Finding providers: waiting for the first one, registries that are slow or refuse, addresses where nobody is.

use dubbo::{
    Code, Error, Instance, InstanceBuilder, config::ReferenceConfig, spi::registry::Registry,
};
use dubbo_test::soon;
use examples::greet::GreeterClient;
use tokio::{net::TcpListener, time::Instant};

use super::{
    probe::{Behaviour, Probe},
    rig::{greet, load, named, reference, request},
};

const REGISTRY: &str =
    "registries: {r: {protocol: probe, address: here, timeout: 40ms, username: u, password: hush}}";

fn with(probe: &Probe, sections: &str) -> InstanceBuilder {
    let separator = if sections.is_empty() { "" } else { ", " };
    load(&format!("dubbo: {{{REGISTRY}{separator}{sections}}}"))
        .extension::<dyn Registry>("probe", probe.plugin())
}

/// A provider that has not started yet.
fn provider(probe: &Probe) -> Instance {
    with(probe, "protocols: {tri: {ip: 127.0.0.1, port: 0}}")
        .provide(named("found"))
        .build()
        .expect("valid")
}

/// An address where nobody listens.
async fn nowhere() -> String {
    let socket = TcpListener::bind("127.0.0.1:0").await.expect("free");
    format!("tri://{}", socket.local_addr().expect("bound"))
}

#[tokio::test]
async fn a_reference_waits_for_its_first_provider() {
    let probe = Probe::new();
    let consumer = with(&probe, "").build().expect("valid");
    let starts_later = async {
        probe.asked_to("subscribe").await;
        let provider = provider(&probe);
        provider.start().await.expect("starts");
        provider
    };
    let (greeter, _provider) = tokio::join!(consumer.refer::<GreeterClient>(), starts_later);
    assert_eq!(
        greet(&greeter.expect("found"), "").await.expect("answers"),
        "found"
    );
}

#[tokio::test]
async fn no_provider_is_an_error_after_the_wait_unless_nothing_is_checked() {
    let waits = "max-wait-time-for-service-discovery: 30ms";
    for (consumer, reference, fails) in [
        (waits, "", true),
        (waits, "check: true", true),
        ("check: false", "", false),
        ("check: true", "check: false", false),
    ] {
        let probe = Probe::new();
        let sections = format!(
            "consumer: {{{consumer}, references: {{greet.Greeter: {{group: g, version: 1, {reference}}}}}}}"
        );
        let instance = with(&probe, &sections).build().expect("valid");
        let began = Instant::now();
        let referred = instance.refer::<GreeterClient>().await;
        if fails {
            let error = referred.expect_err("nobody is there");
            assert!(began.elapsed().as_millis() >= 30);
            let text = error.to_string();
            for part in [
                "g/greet.Greeter:1",
                "within 30 ms",
                "probe://here",
                "check: false",
            ] {
                assert!(text.contains(part), "{part} is not in: {text}");
            }
            continue;
        }
        // A call says at once that there is nobody, and works when there is.
        let greeter = referred.expect("does not check");
        let status = greet(&greeter, "").await.expect_err("nobody is there");
        assert_eq!(status.code(), Code::Unavailable);
        assert!(status.message().contains("g/greet.Greeter:1"), "{status}");
        assert!(began.elapsed().as_secs() < 3, "at once");
    }
}

#[tokio::test]
async fn where_nobody_listens_a_reference_and_a_call_say_so() {
    let url = nowhere().await;
    let yaml = format!(
        "dubbo: {{consumer: {{max-wait-time-for-service-discovery: 50ms, references: {{greet.Greeter: {{url: '{url}'}}}}}}}}"
    );
    let instance = load(&yaml).build().expect("valid");
    let error = instance
        .refer::<GreeterClient>()
        .await
        .expect_err("nobody is there");
    assert!(matches!(&error, Error::NoProvider { .. }), "{error}");
    let address = url.trim_start_matches("tri://");
    assert!(
        error.to_string().starts_with(&format!(
            "no provider of greet.Greeter within 50 ms: none of 1 from direct URLs can be reached: cannot connect to \
             {address}: Connection refused"
        )),
        "{error}"
    );

    let instance = load(&reference(&url, "check: false, retries: 1"))
        .build()
        .expect("valid");
    let greeter: GreeterClient = instance.refer().await.expect("does not check");
    let status = greet(&greeter, "").await.expect_err("nobody is there");
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.is_not_processed(), "{status}");
    for part in ["greet.Greeter", address, "refused"] {
        assert!(
            status.message().contains(part),
            "{part} is not in: {status}"
        );
    }
}

#[tokio::test]
async fn providers_come_and_go() {
    let probe = Probe::new();
    let consumer = with(&probe, "consumer: {check: false}")
        .build()
        .expect("valid");
    let greeter: GreeterClient = consumer.refer().await.expect("does not check");
    for _ in 0..2 {
        let provider = provider(&probe);
        provider.start().await.expect("starts");
        // The list follows in a task of its own.
        soon("the provider", async {
            while greet(&greeter, "").await.is_err() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        provider.shutdown(std::time::Duration::ZERO).await;
        soon("nobody", async {
            while greet(&greeter, "").await.is_ok() {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
    let mut asked = probe.asked("subscribe");
    // Providers ask for the rules that override what they say.
    asked.retain(|url| url.protocol() == "consumer");
    assert_eq!(asked.len(), 1, "one subscription for all of it");
}

#[tokio::test]
async fn a_registry_has_its_timeout_and_its_refusals_are_told() {
    for (operation, behaviour, why) in [
        ("register", Behaviour::Hang, "no answer within 40 ms"),
        ("register", Behaviour::Refuse, "in a mood"),
        ("subscribe", Behaviour::Hang, "no answer within 40 ms"),
        ("subscribe", Behaviour::Refuse, "in a mood"),
    ] {
        let probe = Probe::new();
        probe.behave(move |asked, _| {
            if asked == operation {
                behaviour
            } else {
                Behaviour::Work
            }
        });
        let error = if operation == "register" {
            provider(&probe).start().await.expect_err("refused")
        } else {
            let consumer = with(&probe, "").build().expect("valid");
            consumer
                .refer::<GreeterClient>()
                .await
                .expect_err("refused")
        };
        let text = error.to_string();
        for part in [operation, "probe://here", why] {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
        assert!(!text.contains("hush"), "a password is in: {text}");
    }
}

#[tokio::test]
async fn an_address_from_code_is_checked_as_one_from_a_file_is() {
    let instance = load("dubbo: {}").build().expect("valid");
    for (url, want) in [
        ("tri://h", "`tri://h` has no port"),
        (
            "tri://h:x",
            "`tri://h:x` is not a URL: port \"x\" is not a number up to 65535",
        ),
        (
            "trio://h",
            "no protocol is called `trio`; linked: dubbo, injvm, tri (did you mean `tri`?); `trio://h` has no port",
        ),
        (
            "rest://h:1",
            "the protocol `rest` is not supported yet; linked: dubbo, injvm, tri",
        ),
    ] {
        let error = instance
            .refer_with::<GreeterClient>(ReferenceConfig::new().url([url]))
            .await
            .expect_err(url);
        let want = format!("cannot refer to greet.Greeter: {want}");
        assert_eq!(error.to_string(), want);
    }
}

#[tokio::test]
async fn a_reference_without_anyone_to_ask_is_refused() {
    let instance = load("dubbo: {}").build().expect("valid");
    let error = instance
        .refer::<GreeterClient>()
        .await
        .expect_err("whom to ask?");
    let want = "cannot refer to greet.Greeter: it has no `url`, and there is no registry to ask; set `url`, or add one to \
                `dubbo.registries`";
    assert_eq!(error.to_string(), want);

    for (references, added) in [
        (
            "GretterClient: {url: 'tri://h:1'}, Other: {}",
            "; it has GretterClient, Other (did you mean `GretterClient`?)",
        ),
        (
            "Other: {interface: greet.Greter}",
            "; it has Other (did you mean `greet.Greter`?)",
        ),
        ("Other: {}", "; it has Other"),
    ] {
        let yaml = format!("dubbo: {{consumer: {{references: {{{references}}}}}}}");
        let instance = load(&yaml).build().expect("valid");
        let error = instance
            .refer::<GreeterClient>()
            .await
            .expect_err("none of them is meant");
        let want = format!(
            "{want}; `dubbo.consumer.references` has neither `GreeterClient` nor `greet.Greeter`{added}"
        );
        assert_eq!(error.to_string(), want);
    }
}

#[tokio::test]
async fn a_direct_url_may_leave_the_protocol_to_the_reference() {
    let provider = super::rig::provide("", named("found")).await;
    let address = provider.exported()[0].address();
    for (url, options) in [
        (address.clone(), ""),
        (address.clone(), "protocol: tri"),
        (address.clone(), "protocol: TRIPLE"),
        (address.clone(), "protocol_config: {name: tri}"),
        (format!("triple://{address}/greet.Greeter?x=y"), ""),
    ] {
        let consumer = super::rig::consume(&url, options).await;
        let response = consumer.greet(request("")).await.expect("answers");
        assert_eq!(response.message().greeting, "found", "{url} {options}");
    }
}
