//! How instances begin and end, in every order.

use std::time::Duration;

use dubbo::{
    Code, Error, Instance, InstanceBuilder, config::ServiceConfig, spi::registry::Registry,
};
use dubbo_test::soon;
use examples::greet::GreeterClient;
use tokio::net::TcpListener;

use super::{
    probe::{Behaviour, Probe},
    rig::{consume, desk, free_again, greet, load, named, reference, url_of},
};

const LOCAL: &str = "protocols: {tri: {ip: 127.0.0.1, port: 0}}";

fn builder(probe: &Probe) -> InstanceBuilder {
    let registries = "registries: {r: {protocol: probe, address: here}}";
    load(&format!("dubbo: {{{LOCAL}, {registries}}}"))
        .extension::<dyn Registry>("probe", probe.plugin())
}

fn state(result: Result<(), Error>) -> &'static str {
    match result.expect_err("refused") {
        Error::State(text) => text,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn an_instance_starts_once() {
    let instance = builder(&Probe::new())
        .provide(named("x"))
        .build()
        .expect("valid");
    let (one, two) = tokio::join!(instance.start(), instance.start());
    one.expect("starts");
    let want = "the instance has been started already, or its start failed, or it was shut down";
    assert_eq!(state(two), want);
    instance.shutdown(Duration::ZERO).await;
    assert_eq!(state(instance.start().await), want);

    let never = builder(&Probe::new()).build().expect("valid");
    never.shutdown(Duration::ZERO).await;
    assert_eq!(state(never.start().await), want);
}

#[tokio::test]
async fn a_start_that_fails_half_way_takes_back_what_it_did() {
    let taken = TcpListener::bind("127.0.0.1:0").await.expect("free");
    let taken_at = taken.local_addr().expect("bound");
    let free = TcpListener::bind("127.0.0.1:0").await.expect("free");
    let free_at = free.local_addr().expect("bound");
    drop(free);
    let yaml = format!(
        "dubbo: {{registries: {{r: {{protocol: probe, address: here}}}}, \
         protocols: {{a: {{ip: 127.0.0.1, port: {}}}, b: {{ip: 127.0.0.1, port: {}}}}}}}",
        free_at.port(),
        taken_at.port()
    );
    let probe = Probe::new();
    let instance = load(&yaml)
        .extension::<dyn Registry>("probe", probe.plugin())
        .provide(named("x"))
        .build()
        .expect("valid");
    let error = instance
        .start()
        .await
        .expect_err("the port is taken")
        .to_string();
    assert!(
        error.contains("cannot export greet.Greeter") && error.contains(&taken_at.to_string()),
        "{error}"
    );
    assert!(instance.exported().is_empty() && probe.asked("register").is_empty());
    free_again(free_at).await;
}

#[tokio::test]
async fn a_registry_that_refuses_the_second_service_loses_the_first() {
    let probe = Probe::new();
    probe.behave(|asked, url| match (asked, url.param("group")) {
        ("register", Some("second")) => Behaviour::Refuse,
        _ => Behaviour::Work,
    });
    let instance = builder(&probe)
        .provide_with(named("a"), ServiceConfig::new().group("first"))
        .provide_with(named("b"), ServiceConfig::new().group("second"))
        .build()
        .expect("valid");
    let error = instance.start().await.expect_err("refused");
    assert!(matches!(error, Error::Registry(_)), "{error}");
    assert_eq!(probe.asked("register").len(), 2);
    assert!(
        probe.providers().await.is_empty(),
        "the first one is taken back"
    );
    assert!(instance.exported().is_empty());
}

#[tokio::test]
async fn a_client_can_be_had_before_the_start_and_not_after_the_end() {
    let provider = super::rig::provide("", named("x")).await;
    let yaml = reference(&url_of(&provider), "");
    let instance = load(&yaml).build().expect("valid");
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    assert_eq!(greet(&greeter, "").await.expect("answers"), "x");
    instance.start().await.expect("starts");
    assert_eq!(greet(&greeter, "").await.expect("answers"), "x");

    instance.shutdown(Duration::ZERO).await;
    let refused = instance.refer::<GreeterClient>().await.map(drop);
    assert_eq!(
        state(refused),
        "the instance makes no more clients: its start failed, or it was shut down"
    );
    let status = greet(&greeter, "").await.expect_err("ended");
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.is_not_processed(), "{status}");
}

#[tokio::test]
async fn a_reference_that_is_being_made_when_the_end_comes_is_refused() {
    let probe = Probe::new();
    let instance = builder(&probe).build().expect("valid");
    let ends = async {
        probe.asked_to("subscribe").await;
        instance.shutdown(Duration::ZERO).await;
    };
    // It waits for a provider that never comes.
    let (referred, ()) = soon("the end", async {
        tokio::join!(instance.refer::<GreeterClient>(), ends)
    })
    .await;
    assert!(referred.is_err());
}

#[tokio::test]
async fn serving_starts_first_and_ends_with_a_shutdown_from_elsewhere() {
    for signals in ["true", "false"] {
        let yaml = format!(
            "dubbo: {{{LOCAL}, shutdown: {{internal-signal: {signals}, consumer-update-wait-time: 0s, \
             offline-request-window-timeout: 0}}}}"
        );
        let instance = load(&yaml).provide(named("x")).build().expect("valid");
        let serving = tokio::spawn({
            let instance = instance.clone();
            async move { instance.serve().await }
        });
        soon("the start", async {
            while instance.exported().is_empty() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let consumer = consume(&url_of(&instance), "").await;
        assert_eq!(greet(&consumer, "").await.expect("answers"), "x");
        assert!(!serving.is_finished());

        instance.shutdown(Duration::from_secs(5)).await;
        let served = soon("the end of serve", serving).await;
        served.expect("no panic").expect("a good end");
        instance.serve().await.expect("it has been served");
    }
}

/// An instance with one call in flight.
async fn busy() -> (
    Instance,
    super::rig::Waiting,
    tokio::task::JoinHandle<Result<String, dubbo::Status>>,
) {
    let (service, mut calls) = desk();
    let shutdown = "shutdown: {consumer-update-wait-time: 0s, step-timeout: 0s}";
    let instance = super::rig::provide(&format!(", {shutdown}"), service).await;
    let consumer = consume(&url_of(&instance), "retries: 0, timeout: 1m").await;
    let call = tokio::spawn(async move { greet(&consumer, "last").await });
    let waiting = calls.next().await;
    (instance, waiting, call)
}

#[tokio::test]
async fn two_shutdowns_at_once_are_one() {
    let (instance, waiting, call) = busy().await;
    let grace = Duration::from_mins(1);
    let mut one = tokio::spawn({
        let instance = instance.clone();
        async move { instance.shutdown(grace).await }
    });
    let mut two = tokio::spawn({
        let instance = instance.clone();
        async move { instance.shutdown(Duration::ZERO).await }
    });
    tokio::select! {
        biased;
        _ = &mut one => panic!("a call is in flight"),
        _ = &mut two => panic!("the first one's grace counts"),
        () = tokio::task::yield_now() => {}
    }
    waiting.answer("done");
    assert_eq!(call.await.expect("no panic").expect("is answered"), "done");
    for end in [one, two] {
        soon("the end", end).await.expect("no panic");
    }
}

#[tokio::test]
async fn a_shutdown_that_nobody_waits_for_goes_on() {
    let (instance, waiting, call) = busy().await;
    let dropped = tokio::time::timeout(Duration::ZERO, instance.shutdown(Duration::from_mins(1)));
    dropped.await.expect_err("a call is in flight");
    waiting.answer("done");
    assert_eq!(call.await.expect("no panic").expect("is answered"), "done");
    soon("the end", instance.shutdown(Duration::ZERO)).await;
}

#[tokio::test]
async fn at_the_end_of_its_grace_a_shutdown_cuts_what_is_left() {
    let (instance, waiting, call) = busy().await;
    soon("the end", instance.shutdown(Duration::from_millis(20))).await;
    let status = call.await.expect("no panic").expect_err("cut");
    assert!(!status.is_not_processed(), "the handler had it: {status}");
    waiting.answer("too late");
}

#[tokio::test]
async fn a_start_that_is_overtaken_by_the_end_leaves_nothing_behind() {
    let probe = Probe::new();
    probe.behave(|asked, _| match asked {
        "register" => Behaviour::Hang,
        _ => Behaviour::Work,
    });
    let yaml = format!(
        "dubbo: {{{LOCAL}, registries: {{r: {{protocol: probe, address: here, timeout: 100ms}}}}, shutdown: \
                        {{consumer-update-wait-time: 0, step-timeout: 0}}}}"
    );
    let instance = load(&yaml)
        .extension::<dyn Registry>("probe", probe.plugin())
        .provide(named("x"))
        .build()
        .expect("valid");
    let ends = async {
        probe.asked_to("register").await;
        let address = instance.exported()[0].address();
        instance.shutdown(Duration::ZERO).await;
        address
    };
    let (started, address) = tokio::join!(instance.start(), ends);
    started.expect_err("it was shut down");
    assert!(instance.exported().is_empty() && probe.providers().await.is_empty());
    free_again(address.as_str()).await;
}
