//! `grpc.health.v1.Health`, which every dubbo-go consumer watches (`docs/spec/triple.md` §10.1; §12, TV17).

use bytes::Bytes;
use dubbo_core::protocol::Protocol as _;
use h2::RecvStream;

use crate::{
    greeter::{INTERFACE, Provider, builder, due, greeter, url},
    wire::{Exchange, Wire, envelope, messages, next},
};

const CHECK: &str = "/grpc.health.v1.Health/Check";
const WATCH: &str = "/grpc.health.v1.Health/Watch";

const SERVING: u8 = 1;
const NOT_SERVING: u8 = 2;
const SERVICE_UNKNOWN: u8 = 3;

/// `HealthCheckRequest`.
fn about(service: &str) -> Vec<u8> {
    let mut message = Vec::new();
    if !service.is_empty() {
        message.extend([0x0a, u8::try_from(service.len()).expect("short")]);
        message.extend(service.as_bytes());
    }
    envelope(0, &message)
}

/// `HealthCheckResponse`.
fn status(data: &[u8]) -> u8 {
    match messages(data)[..] {
        [&[0x08, status]] => status,
        ref other => panic!("{other:?}"),
    }
}

struct Watch {
    _exchange: Exchange,
    body: RecvStream,
}

impl Watch {
    async fn of(wire: &mut Wire, service: &str) -> Self {
        let mut exchange = wire.open(WATCH, &[]).await;
        exchange.data(about(service), true);
        let (head, body) = due(&mut exchange.response)
            .await
            .expect("answered")
            .into_parts();
        assert_eq!(head.status, 200);
        Self {
            _exchange: exchange,
            body,
        }
    }

    async fn next(&mut self) -> Option<u8> {
        let chunk: Option<Bytes> = next(&mut self.body).await.expect("open");
        chunk.map(|chunk| status(&chunk))
    }
}

#[tokio::test]
async fn a_service_is_known_by_its_key_and_by_its_interface() {
    let with = |group, version| {
        url()
            .with_param("group", group)
            .with_param("version", version)
    };
    let mut provider = Provider::at(&with("g1", "1.0.0"), greeter()).await;
    provider.also(&with("g2", "0.0.0"), greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    for known in [
        "",
        INTERFACE,
        "g1/greet.GreetService:1.0.0",
        "g2/greet.GreetService",
    ] {
        let answer = wire.call(CHECK, &[], about(known)).await;
        assert_eq!(
            (status(&answer.data), answer.code()),
            (SERVING, 0),
            "{known}"
        );
    }
    for unknown in [
        "nobody",
        "g1/greet.GreetService",
        "greet.GreetService:1.0.0",
    ] {
        let answer = wire.call(CHECK, &[], about(unknown)).await;
        let (code, message) = answer.refused();
        assert_eq!(code, 5);
        assert!(message.contains(unknown), "{message}");
    }
}

#[tokio::test]
async fn a_check_has_the_bytes_that_every_peer_has_and_no_group() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let body = about(INTERFACE);
    assert_eq!(&body[..7], b"\0\0\0\0\x14\x0a\x12");
    let headers = [("tri-service-group", "any"), ("tri-service-version", "9")];
    let answer = wire.call(CHECK, &headers, body).await;
    assert_eq!(answer.data, b"\0\0\0\0\x02\x08\x01");
}

#[tokio::test]
async fn a_watch_hears_of_exports_and_of_their_end() {
    let mut provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let mut watch = Watch::of(&mut wire, "g/greet.GreetService").await;
    assert_eq!(watch.next().await, Some(SERVICE_UNKNOWN));
    provider
        .also(&url().with_param("group", "g"), greeter())
        .await;
    assert_eq!(watch.next().await, Some(SERVING));
    provider.exporters.remove(1).unexport().await;
    assert_eq!(watch.next().await, Some(NOT_SERVING));
}

#[tokio::test]
async fn an_announced_shutdown_is_heard_by_all_while_calls_are_served() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let mut watches = Vec::new();
    for service in ["", INTERFACE] {
        let mut watch = Watch::of(&mut wire, service).await;
        assert_eq!(watch.next().await, Some(SERVING));
        watches.push(watch);
    }
    let mut unknown = Watch::of(&mut wire, "nobody").await;
    assert_eq!(unknown.next().await, Some(SERVICE_UNKNOWN));
    provider.protocol.announce_shutdown().await;
    for watch in &mut watches {
        assert_eq!(watch.next().await, Some(NOT_SERVING));
    }
    let answer = wire.call(CHECK, &[], about(INTERFACE)).await;
    assert_eq!(status(&answer.data), NOT_SERVING);
    assert_eq!(wire.greet("x", &[]).await.code(), 0);
}

#[tokio::test]
async fn an_application_may_bring_its_own_health_service() {
    let mut provider = Provider::of(greeter()).await;
    provider
        .also(&url().with_path("grpc.health.v1.Health"), builder().build())
        .await;
    let mut wire = Wire::connect(provider.address).await;
    let answer = wire.call(CHECK, &[], about("")).await;
    assert!(
        answer.refused().1.contains("has no method `Check`"),
        "{answer:?}"
    );
}
