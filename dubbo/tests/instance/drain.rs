//! What becomes of calls around a shutdown, over a wire.

use std::{sync::Arc, time::Duration};

use dubbo::{
    Code, ServiceDescriptor, Url,
    spi::{
        invoker::Invoker,
        protocol::{Drained, Exporter, Protocol, ProtocolError},
        registry::Registry,
    },
};
use dubbo_test::{
    peer::h2::{Client, envelope, kind},
    soon,
};
use tokio::{
    sync::{Notify, mpsc},
    time::Instant,
};

use super::{
    probe::Probe,
    rig::{Waiting, consume, desk, greet, load, url_of},
};

#[tokio::test]
async fn calls_in_flight_finish_late_ones_are_served_and_later_ones_are_refused_as_not_processed() {
    let (service, mut calls) = desk();
    let probe = Probe::new();
    let yaml = "dubbo: {protocols: {tri: {ip: 127.0.0.1, port: 0}}, registries: {r: {protocol: probe, address: h}}, \
                shutdown: {consumer-update-wait-time: 1s, step-timeout: 0s}}";
    let provider = load(yaml)
        .extension::<dyn Registry>("probe", probe.plugin())
        .provide(service)
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let (held, mut holds) = mpsc::unbounded_channel::<Waiting>();
    let desk = tokio::spawn(async move {
        loop {
            let call = calls.next().await;
            if call.name == "hold" {
                held.send(call).expect("the test takes it");
            } else {
                call.answer("served");
            }
        }
    });
    let consumer = consume(&url_of(&provider), "retries: 0, timeout: 1m").await;
    let greeter = consumer.clone();
    let in_flight = tokio::spawn(async move { greet(&greeter, "hold").await });
    let in_flight_at_provider = holds.recv().await.expect("arrives");
    let mut stream = {
        let call = consumer.greet_many(super::rig::request("hold"));
        let (answer, ()) = tokio::join!(call, async {
            holds.recv().await.expect("arrives").answer("first");
        });
        answer.expect("works").into_message()
    };

    let ending = tokio::spawn({
        let provider = provider.clone();
        async move { provider.shutdown(Duration::from_secs(30)).await }
    });
    probe.asked_to("unregister").await;
    assert_eq!(
        greet(&consumer, "late").await.expect("still served"),
        "served"
    );

    // Sooner or later new calls are refused, and certainly have not been processed.
    let refused = soon("a refusal", async {
        loop {
            if let Err(status) = greet(&consumer, "later").await {
                return status;
            }
        }
    })
    .await;
    assert_eq!(refused.code(), Code::Unavailable);
    assert!(refused.is_not_processed(), "{refused}");

    assert!(!ending.is_finished() && !in_flight.is_finished());
    let first = stream.message().await.expect("works").expect("one");
    assert_eq!(first.greeting, "first");
    assert!(stream.message().await.expect("works").is_none());
    in_flight_at_provider.answer("done");
    assert_eq!(
        in_flight.await.expect("no panic").expect("is answered"),
        "done"
    );
    soon("the end", ending).await.expect("no panic");
    desk.abort();
}

#[tokio::test]
async fn whoever_watches_the_health_of_a_service_hears_of_its_end_first() {
    let (service, mut calls) = desk();
    let probe = Probe::new();
    let yaml = "dubbo: {protocols: {tri: {ip: 127.0.0.1, port: 0}}, registries: {r: {protocol: probe, address: h}}, \
                provider: {group: g}, \
                shutdown: {consumer-update-wait-time: 0, offline-request-window-timeout: 0, step-timeout: 20s}}";
    let provider = load(yaml)
        .extension::<dyn Registry>("probe", probe.plugin())
        .provide(service)
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let consumer = consume(&url_of(&provider), "group: g, retries: 0, timeout: 1m").await;
    let greeter = consumer.clone();
    let in_flight = tokio::spawn(async move { greet(&greeter, "first").await });
    let first = calls.next().await;
    let exported = provider.exported();
    let address = exported[0].address().parse().expect("an address");
    let mut client = Client::connect(address).await;
    let headers = [("content-type", "application/grpc"), ("te", "trailers")];
    let mut watch = client.post("/grpc.health.v1.Health/Watch", &headers).await;
    watch.data(envelope(b"\x0a\x0fg/greet.Greeter"), true);
    watch.response().await;
    assert_eq!(watch.next_data().await, Some(envelope(SERVING)));

    let ending = tokio::spawn({
        let provider = provider.clone();
        async move { provider.shutdown(Duration::from_secs(30)).await }
    });
    assert_eq!(watch.next_data().await, Some(envelope(NOT_SERVING)));
    assert!(
        probe.providers().await.is_empty(),
        "the registry is told before"
    );
    // New calls are taken for as long as there is one in flight.
    let (late, ()) = tokio::join!(greet(&consumer, "late"), async {
        calls.next().await.answer("served");
    });
    assert_eq!(late.expect("still served"), "served");
    first.answer("done");
    let answer = in_flight.await.expect("no panic");
    assert_eq!(answer.expect("is answered"), "done");
    client
        .frame("GOAWAY", |frame| frame.kind == kind::GOAWAY)
        .await;
    drop((watch, client));
    soon("the end", ending).await.expect("no panic");
}

/// `HealthCheckResponse`, `status: 1` and `status: 2`.
const SERVING: &[u8] = b"\x08\x01";
const NOT_SERVING: &[u8] = b"\x08\x02";

#[tokio::test]
async fn a_handler_that_is_at_work_may_still_call_others() {
    let next = super::rig::provide("", super::rig::named("next")).await;
    let (service, mut calls) = desk();
    // What the handler does is done here, in its place: it calls on while its instance shuts down.
    let shutdown = ", shutdown: {consumer-update-wait-time: 0, step-timeout: 0}";
    let middle = super::rig::provide(shutdown, service).await;
    let on = middle
        .refer_with(dubbo::config::ReferenceConfig::new().url([url_of(&next)]))
        .await
        .expect("refers");
    let consumer = consume(&url_of(&middle), "retries: 0, timeout: 1m").await;
    let call = tokio::spawn(async move { greet(&consumer, "through").await });
    let at_work = calls.next().await;
    let ending = tokio::spawn({
        let middle = middle.clone();
        async move { middle.shutdown(Duration::from_secs(30)).await }
    });
    // It takes no more connections once its port is free.
    let address = url_of(&middle).replace("tri://", "");
    super::rig::free_again(address.as_str()).await;
    let answer = greet(&on, "").await.expect("clients go last");
    at_work.answer(&answer);
    assert_eq!(call.await.expect("no panic").expect("is answered"), "next");
    soon("the end", ending).await.expect("no panic");
}

#[tokio::test]
async fn a_handler_that_is_at_work_may_still_call_its_own_process() {
    let (service, mut calls) = desk();
    let yaml = "dubbo: {protocols: {tri: {ip: 127.0.0.1, port: 0}, local: {name: injvm}}, \
                provider: {services: {Desk: {protocol-ids: tri}, Answering: {protocol-ids: local, group: inside}}}, \
                consumer: {references: {greet.Greeter: {protocol: injvm, group: inside}}}, \
                shutdown: {consumer-update-wait-time: 0, step-timeout: 0}}";
    let instance = load(yaml)
        .provide(service)
        .provide(super::rig::named("inside"))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    let inside = instance.refer().await.expect("refers");
    let exported = instance.exported();
    let over_tcp = exported.iter().find(|url| url.protocol() == "tri");
    let address = over_tcp.expect("is exported").address();
    let consumer = consume(&format!("tri://{address}"), "retries: 0, timeout: 1m").await;
    let call = tokio::spawn(async move { greet(&consumer, "through").await });
    let at_work = calls.next().await;
    let ending = tokio::spawn({
        let instance = instance.clone();
        async move { instance.shutdown(Duration::from_secs(30)).await }
    });
    super::rig::free_again(address.as_str()).await;
    let answer = greet(&inside, "").await.expect("this protocol goes last");
    at_work.answer(&answer);
    assert_eq!(
        call.await.expect("no panic").expect("is answered"),
        "inside"
    );
    soon("the end", ending).await.expect("no panic");
}

/// A protocol whose calls in flight, if it had any, would last until `released`.
struct Held {
    draining: Arc<Notify>,
    released: Arc<Notify>,
}

#[async_trait::async_trait]
impl Protocol for Held {
    fn default_port(&self) -> u16 {
        1
    }

    async fn export(
        &self,
        _: &Url,
        _: Arc<ServiceDescriptor>,
        _: Arc<dyn Invoker>,
    ) -> Result<Box<dyn Exporter>, ProtocolError> {
        Err(ProtocolError::ShutDown)
    }

    async fn refer(
        &self,
        _: &Url,
        _: Arc<ServiceDescriptor>,
    ) -> Result<Arc<dyn Invoker>, ProtocolError> {
        Err(ProtocolError::ShutDown)
    }

    async fn drain(&self, _: Instant) -> Drained {
        self.draining.notify_one();
        self.released.notified().await;
        Drained::default()
    }

    async fn close(&self, _: Instant) -> Drained {
        Drained::default()
    }
}

#[tokio::test]
async fn no_protocol_closes_its_references_before_the_servers_of_all_have_drained() {
    let next = super::rig::provide("", super::rig::named("next")).await;
    let (draining, released) = (Arc::<Notify>::default(), Arc::<Notify>::default());
    let held = (Arc::clone(&draining), Arc::clone(&released));
    let middle = load("dubbo: {shutdown: {consumer-update-wait-time: 0, step-timeout: 0}}")
        .extension::<dyn Protocol>("held", move |_| {
            let (draining, released) = held.clone();
            Ok(Arc::new(Held { draining, released }))
        })
        .build()
        .expect("valid");
    middle.start().await.expect("starts");
    let on = middle
        .refer_with(dubbo::config::ReferenceConfig::new().url([url_of(&next)]))
        .await
        .expect("refers");
    let ending = tokio::spawn({
        let middle = middle.clone();
        async move { middle.shutdown(Duration::from_secs(30)).await }
    });
    soon("the drain", draining.notified()).await;
    assert_eq!(greet(&on, "").await.expect("clients go last"), "next");
    released.notify_one();
    soon("the end", ending).await.expect("no panic");
    let status = greet(&on, "").await.expect_err("it is closed");
    assert_eq!(status.code(), Code::Unavailable);
}
