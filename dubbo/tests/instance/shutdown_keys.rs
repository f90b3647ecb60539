//! How long each step of a shutdown takes, by the keys of its section. Time is paused; calls stay in the process.

use std::{sync::Arc, time::Duration};

use dubbo::{
    Instance, ServiceDescriptor, Url,
    spi::{
        invoker::Invoker,
        protocol::{Drained, Exporter, Protocol, ProtocolError},
        registry::Registry,
    },
};
use examples::greet::GreeterClient;
use tokio::time::{Instant, advance};

use super::{
    probe::{Behaviour, Probe},
    rig::{desk, greet, load, named},
};

/// An instance that is registered and can be called within the process, and its client.
async fn warm(shutdown: &str, service: impl Into<dubbo::Service>) -> (Instance, GreeterClient) {
    warm_in("{protocol: probe, address: h}", shutdown, service).await
}

/// As [`warm`], with this registry.
async fn warm_in(
    registry: &str,
    shutdown: &str,
    service: impl Into<dubbo::Service>,
) -> (Instance, GreeterClient) {
    let yaml = format!(
        "dubbo: {{registries: {{r: {registry}}}, protocols: {{tri: {{name: injvm}}, s: {{name: slow}}}}, \
         shutdown: {{notify-timeout: 0, {shutdown}}}, consumer: {{protocol: injvm, request-timeout: 0}}}}"
    );
    let instance = load(&yaml)
        .extension::<dyn Protocol>("slow", |_| Ok(Arc::new(Slow)))
        .extension::<dyn Registry>("probe", Probe::new().plugin())
        .provide(service)
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    let greeter = instance.refer().await.expect("refers");
    (instance, greeter)
}

async fn time_to_end(instance: &Instance, grace: u64) -> Duration {
    let began = Instant::now();
    instance.shutdown(Duration::from_secs(grace)).await;
    began.elapsed()
}

#[tokio::test(start_paused = true)]
async fn an_idle_instance_waits_for_notice_and_quiet() {
    let seconds = Duration::from_secs;
    for (keys, quiet_for, grace, want) in [
        ("", 0, 60, seconds(3)),
        ("offline-request-window-timeout: 5s", 0, 60, seconds(5)),
        ("", 60, 60, seconds(3)),
        ("consumer-update-wait-time: 5s", 60, 60, seconds(5)),
        (
            "consumer-update-wait-time: 0s, offline-request-window-timeout: 2s",
            0,
            60,
            seconds(2),
        ),
        (
            "consumer-update-wait-time: 500, offline-request-window-timeout: 0s",
            0,
            60,
            Duration::from_millis(500),
        ),
        (
            "consumer-update-wait-time: 1s, step-timeout: 1s, offline-request-window-timeout: 1h",
            0,
            60,
            seconds(2),
        ),
        (
            "consumer-update-wait-time: 1s, step-timeout: 0, offline-request-window-timeout: 1h",
            0,
            60,
            seconds(1),
        ),
        (
            "consumer-update-wait-time: 1s, step-timeout: -1s, offline-request-window-timeout: 1h",
            0,
            60,
            seconds(1),
        ),
        ("consumer-update-wait-time: 1h", 0, 7, seconds(7)),
        (
            "step-timeout: 1h, offline-request-window-timeout: 1h",
            0,
            7,
            seconds(7),
        ),
        ("", 0, 0, seconds(0)),
    ] {
        let (instance, greeter) = warm(keys, named("x")).await;
        assert_eq!(greet(&greeter, "").await.expect("answers"), "x");
        advance(seconds(quiet_for)).await;
        assert_eq!(
            time_to_end(&instance, grace).await,
            want,
            "{keys}, quiet for {quiet_for} s"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_never_called_is_quiet() {
    let (instance, _greeter) = warm("consumer-update-wait-time: 1s", named("x")).await;
    assert_eq!(time_to_end(&instance, 60).await, Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn what_was_not_registered_waits_for_quiet_alone() {
    let registry = "{protocol: probe, address: N/A}";
    for (quiet_for, want) in [(0, 3), (2, 1), (60, 0)] {
        let (instance, greeter) = warm_in(registry, "", named("x")).await;
        assert_eq!(greet(&greeter, "").await.expect("answers"), "x");
        advance(Duration::from_secs(quiet_for)).await;
        let took = time_to_end(&instance, 60).await;
        assert_eq!(took, Duration::from_secs(want), "quiet for {quiet_for} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_consumer_has_nobody_to_wait_for() {
    let instance = load("dubbo: {}").build().expect("valid");
    instance.start().await.expect("starts");
    assert_eq!(time_to_end(&instance, 60).await, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn calls_in_flight_finish_within_the_grace_and_no_longer() {
    for (step, finishes_after, grace, want) in [
        ("10s", Some(5), 60, 5),
        // After the step no new calls are accepted; the one that runs has the whole grace.
        ("1s", Some(5), 60, 5),
        ("0s", Some(5), 60, 5),
        ("10s", None, 7, 7),
    ] {
        let (service, mut calls) = desk();
        let keys = format!(
            "consumer-update-wait-time: 0, offline-request-window-timeout: 0, step-timeout: {step}"
        );
        let (instance, greeter) = warm(&keys, service).await;
        let call = tokio::spawn(async move { greet(&greeter, "last").await });
        let waiting = calls.next().await;
        let held = tokio::spawn(async move {
            let Some(after) = finishes_after else {
                return std::future::pending().await;
            };
            tokio::time::sleep(Duration::from_secs(after)).await;
            waiting.answer("done");
        });
        let took = time_to_end(&instance, grace).await;
        assert_eq!(took, Duration::from_secs(want), "{keys}");
        let outcome = call
            .await
            .expect("no panic")
            .map_err(|status| status.code());
        let want = finishes_after
            .map(|_| "done".to_owned())
            .ok_or(dubbo::Code::Unavailable);
        assert_eq!(outcome, want, "{keys}");
        held.abort();
    }
}

/// A protocol that never gets done with telling its consumers.
struct Slow;

struct Nothing(Url);

#[async_trait::async_trait]
impl Protocol for Slow {
    fn default_port(&self) -> u16 {
        1
    }

    async fn export(
        &self,
        url: &Url,
        _: Arc<ServiceDescriptor>,
        _: Arc<dyn Invoker>,
    ) -> Result<Box<dyn Exporter>, ProtocolError> {
        Ok(Box::new(Nothing(url.clone())))
    }

    async fn refer(
        &self,
        _: &Url,
        _: Arc<ServiceDescriptor>,
    ) -> Result<Arc<dyn Invoker>, ProtocolError> {
        Err(ProtocolError::ShutDown)
    }

    async fn announce_shutdown(&self) {
        std::future::pending::<()>().await;
    }

    async fn drain(&self, _: Instant) -> Drained {
        Drained::default()
    }

    async fn close(&self, _: Instant) -> Drained {
        Drained::default()
    }
}

#[async_trait::async_trait]
impl Exporter for Nothing {
    fn url(&self) -> &Url {
        &self.0
    }

    async fn unexport(self: Box<Self>) {}
}

#[tokio::test(start_paused = true)]
async fn telling_consumers_is_given_up_after_a_while() {
    for (keys, want) in [
        ("", 5),
        ("notify-timeout: 2s", 2),
        ("notify-timeout: 0", 0),
        ("notify-timeout: 1h", 30),
    ] {
        let yaml = format!(
            "dubbo: {{protocols: {{s: {{name: slow}}}}, shutdown: {{consumer-update-wait-time: 0, {keys}}}}}"
        );
        let instance = load(&yaml)
            .extension::<dyn Protocol>("slow", |_| Ok(Arc::new(Slow)))
            .provide(named("x"))
            .build()
            .expect("valid");
        instance.start().await.expect("starts");
        assert_eq!(
            time_to_end(&instance, 30).await,
            Duration::from_secs(want),
            "{keys}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_hangs_holds_up_none_of_the_others() {
    let (good, bad) = (Probe::new(), Probe::new());
    bad.behave(|asked, _| match asked {
        "unregister" => Behaviour::Hang,
        _ => Behaviour::Work,
    });
    let yaml = "dubbo: {registries: {a: {protocol: bad, address: h, timeout: 2s}, b: {protocol: good, address: h}}, \
                protocols: {s: {name: slow}}, shutdown: {consumer-update-wait-time: 0, notify-timeout: 0}}";
    let instance = load(yaml)
        .extension::<dyn Protocol>("slow", |_| Ok(Arc::new(Slow)))
        .extension::<dyn Registry>("good", good.plugin())
        .extension::<dyn Registry>("bad", bad.plugin())
        .provide(named("x"))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    assert_eq!(good.providers().await.len(), 1);
    assert_eq!(time_to_end(&instance, 30).await, Duration::from_secs(2));
    assert!(good.providers().await.is_empty());
}
