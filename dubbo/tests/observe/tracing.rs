//! Spans for OpenTelemetry (`docs/spec/config.md` §5.3), as a collector gets them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use dubbo::{Instance, Request, Status};
use examples::{
    greet::{GreetRequest, GreeterServer},
    users::{Level, User, UserService, UserServiceClient, UserServiceServer},
};
use http::{StatusCode, request::Parts};
use opentelemetry::{
    Context, KeyValue,
    baggage::BaggageExt as _,
    trace::{
        FutureExt as _, SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
    },
};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue as Attribute, any_value::Value},
    trace::v1::{Span, span::SpanKind, status::StatusCode as Outcome},
};
use parking_lot::Mutex;
use prost::Message as _;
use tokio::time::Instant;

use super::{
    receiver::Receiver,
    rig::{Answering, consume, greet, load, provide, refusal, url_of},
};

/// A span with the attributes of the resource that it is of.
struct Seen {
    span: Span,
    resource: BTreeMap<String, String>,
}

impl Seen {
    fn attribute(&self, name: &str) -> Option<String> {
        texts(&self.span.attributes).remove(name)
    }
}

fn texts(attributes: &[Attribute]) -> BTreeMap<String, String> {
    let text = |attribute: &Attribute| match attribute.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        _ => None,
    };
    let all = attributes.iter();
    all.filter_map(|one| Some((one.key.clone(), text(one)?)))
        .collect()
}

/// The spans of requests of either kind.
fn spans(requests: Vec<(Parts, Bytes)>) -> Vec<Seen> {
    let mut seen = Vec::new();
    for (parts, body) in requests {
        let message = match parts.uri.path() {
            "/v1/traces" => {
                assert_eq!(parts.headers["content-type"], "application/x-protobuf");
                body
            }
            "/opentelemetry.proto.collector.trace.v1.TraceService/Export" => {
                assert_eq!(parts.headers["content-type"], "application/grpc");
                body.slice(5..)
            }
            path => panic!("nothing is at {path}"),
        };
        let request = ExportTraceServiceRequest::decode(message).expect("OTLP");
        for of_resource in request.resource_spans {
            let resource = texts(&of_resource.resource.expect("a resource").attributes);
            for scope in of_resource.scope_spans {
                assert_eq!(scope.scope.expect("a scope").name, "dubbo");
                seen.extend(scope.spans.into_iter().map(|span| Seen {
                    span,
                    resource: resource.clone(),
                }));
            }
        }
    }
    seen
}

/// The section of an instance that traces everything.
fn otel(exporter: &str, collector: &Receiver, propagator: &str) -> String {
    format!(
        "otel: {{tracing: {{enable: true, exporter: {exporter}, endpoint: '{}', insecure: true, propagator: {propagator}, \
         sample-mode: always}}}}",
        collector.address
    )
}

async fn end(instances: impl IntoIterator<Item = Instance>) {
    for instance in instances {
        instance.shutdown(Duration::from_secs(5)).await;
    }
}

#[tokio::test]
async fn config_a18_a_request_carries_its_trace_and_the_span_of_the_server_is_below_that_of_the_client()
 {
    for (exporter, propagator, carried, not_carried) in [
        (
            "otlp-http",
            "b3",
            &["b3", "x-b3-traceid", "x-b3-spanid", "x-b3-sampled"][..],
            "traceparent",
        ),
        ("otlp-grpc", "w3c", &["traceparent"][..], "b3"),
    ] {
        let mut collector = match exporter {
            "otlp-http" => Receiver::http1(&[]).await,
            _ => Receiver::grpc().await,
        };
        let section = otel(exporter, &collector, propagator);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&seen);
        let service = Answering(move |request: &Request<GreetRequest>| {
            let attachments = request.attachments();
            let names = [
                "b3",
                "x-b3-traceid",
                "x-b3-spanid",
                "x-b3-sampled",
                "traceparent",
            ];
            let there = names.iter().filter(|name| attachments.contains(name));
            heard.lock().extend(there.map(|name| (*name).to_owned()));
            match &*request.message().name {
                "" => Err(Status::not_found("nobody")),
                name => Ok(name.to_owned()),
            }
        });
        let of_service = "provider: {services: {Answering: {interface: greet.Greeter, group: g, version: 1.0.0}}}";
        let own = format!(
            "application: {{name: shop, organization: acme, version: '7'}}, {of_service}, {section}"
        );
        let provider = provide(&own, GreeterServer::new(service)).await;
        let own = format!("application: {{name: web}}, {section}");
        let options = "group: g, version: 1.0.0, retries: 0";
        let (consumer, greeter) = consume(&url_of(&provider), &own, options).await;
        greet(&greeter, "you").await.expect("greets");
        greet(&greeter, "").await.expect_err("refuses");
        for name in carried {
            assert!(
                seen.lock().contains(&(*name).to_owned()),
                "{name}: {seen:?}"
            );
        }
        assert!(!seen.lock().contains(&not_carried.to_owned()), "{seen:?}");
        drop(greeter);
        end([consumer, provider]).await;

        let spans = spans(collector.rest());
        let of = |kind: SpanKind| {
            let mut of: Vec<_> = spans
                .iter()
                .filter(|seen| seen.span.kind() == kind)
                .collect();
            of.sort_by_key(|seen| seen.span.start_time_unix_nano);
            of
        };
        let (clients, servers) = (of(SpanKind::Client), of(SpanKind::Server));
        assert_eq!(
            (clients.len(), servers.len(), of(SpanKind::Internal).len()),
            (2, 2, 2)
        );
        for (client, server) in clients.iter().zip(&servers) {
            assert_eq!(server.span.trace_id, client.span.trace_id);
            assert_eq!(server.span.parent_span_id, client.span.span_id);
            for span in [client, server] {
                assert_eq!(span.span.name, "Greet");
                for (name, want) in [
                    ("rpc.system", "apache_dubbo"),
                    ("rpc.service", "g/greet.Greeter:1.0.0"),
                    ("rpc.method", "Greet"),
                    ("server.address", "127.0.0.1"),
                    ("network.peer.address", "127.0.0.1"),
                ] {
                    assert_eq!(span.attribute(name).as_deref(), Some(want), "{name}");
                }
            }
            assert_eq!(client.attribute("dubbo.attempt").as_deref(), Some("1"));
            assert_eq!(client.resource["service.name"], "web");
            for (name, want) in [
                ("service.name", "shop"),
                ("service.namespace", "acme"),
                ("service.version", "7"),
            ] {
                assert_eq!(server.resource[name], want, "{name}");
            }
        }
        let status = |seen: &Seen| seen.span.status.clone().unwrap_or_default();
        assert_eq!(status(servers[0]).code(), Outcome::Ok);
        assert_eq!(status(servers[1]).code(), Outcome::Error);
        assert_eq!(status(clients[1]).message, "nobody");
        assert_eq!(
            servers[1].attribute("rpc.code").as_deref(),
            Some("not_found")
        );
    }
}

/// Answers by asking another one, if there is one.
struct Relay(Option<UserServiceClient>);

impl UserService for Relay {
    async fn get_user(&self, id: String) -> Result<User, Status> {
        if let Some(next) = &self.0 {
            return Ok(next.get_user(id).await?.into_message());
        }
        Ok(User {
            name: "Ada".to_owned(),
            id,
            age: 36,
            level: Level::Admin,
            friend: None,
        })
    }

    async fn get_users(&self, _: Vec<String>) -> Result<Vec<User>, Status> {
        Ok(Vec::new())
    }

    async fn rename(&self, _: User, name: String) -> Result<String, Status> {
        Ok(name)
    }
}

/// Case 39 too: a span and baggage that a consumer has begun by itself come through to the last provider.
#[tokio::test]
async fn a_call_that_makes_a_provider_call_another_one_is_one_trace_on_both_protocols() {
    for protocol in ["tri", "dubbo"] {
        for propagator in ["w3c", "b3"] {
            let mut collector = Receiver::grpc().await;
            let section = otel("otlp-grpc", &collector, propagator);
            let serve = async |name: &str, next: Option<&Instance>| {
                let reference = next.map(|next| format!("url: '{}'", url_of(next)));
                let reference = reference.unwrap_or_default();
                let yaml = format!(
                    "dubbo: {{application: {{name: {name}}}, protocols: {{p: {{name: {protocol}, ip: 127.0.0.1, port: 0}}}}, \
                     consumer: {{references: {{UserServiceClient: {{{reference}}}}}}}, {section}}}"
                );
                // A client belongs to the instance that serves, which must be there before it.
                let calls = load(&yaml).build().expect("valid");
                let next = match next {
                    Some(_) => Some(calls.refer().await.expect("refers")),
                    None => None,
                };
                let serves = load(&yaml).provide(UserServiceServer::new(Relay(next)));
                let serves = serves.build().expect("valid");
                serves.start().await.expect("starts");
                (serves, calls)
            };
            let (back, _) = serve("back", None).await;
            let (front, fronts_calls) = serve("front", Some(&back)).await;
            let yaml = format!(
                "dubbo: {{application: {{name: web}}, consumer: {{references: {{UserServiceClient: {{url: '{}'}}}}}}, \
                 {section}}}",
                url_of(&front)
            );
            let web = load(&yaml).build().expect("valid");
            let users: UserServiceClient = web.refer().await.expect("refers");
            let own = SpanContext::new(
                TraceId::from(7_u128),
                SpanId::from(9_u64),
                TraceFlags::SAMPLED,
                false,
                TraceState::default(),
            );
            let within = Context::new()
                .with_remote_span_context(own)
                .with_baggage([KeyValue::new("tenant", "a")]);
            let call = async { users.get_user("ada".to_owned()).await };
            call.with_context(within).await.expect("found");
            drop(users);
            end([web, front, fronts_calls, back]).await;

            let spans = spans(collector.rest());
            assert_eq!(spans.len(), 6, "{protocol} {propagator}");
            let trace = TraceId::from(7_u128).to_bytes().to_vec();
            assert!(spans.iter().all(|seen| seen.span.trace_id == trace));
            let mut parent = SpanId::from(9_u64).to_bytes().to_vec();
            for (application, kind) in [
                ("web", SpanKind::Internal),
                ("web", SpanKind::Client),
                ("front", SpanKind::Server),
                ("front", SpanKind::Internal),
                ("front", SpanKind::Client),
                ("back", SpanKind::Server),
            ] {
                let next = spans.iter().find(|seen| seen.span.parent_span_id == parent);
                let next = next.unwrap_or_else(|| panic!("{application} has a {kind:?} span"));
                assert_eq!(
                    (&*next.resource["service.name"], next.span.kind()),
                    (application, kind),
                    "{protocol} {propagator}"
                );
                assert_eq!(next.span.name, "getUser");
                parent.clone_from(&next.span.span_id);
            }
        }
    }
}

#[tokio::test]
async fn each_attempt_of_a_call_is_a_span_below_that_of_the_call() {
    let mut collector = Receiver::grpc().await;
    let section = otel("otlp-grpc", &collector, "w3c");
    let calls = AtomicUsize::new(0);
    let service =
        Answering(
            move |_: &Request<GreetRequest>| match calls.fetch_add(1, Ordering::Relaxed) {
                0 => Err(Status::unavailable("not yet")),
                _ => Ok("done".to_owned()),
            },
        );
    let provider = provide("", GreeterServer::new(service)).await;
    let (consumer, greeter) = consume(&url_of(&provider), &section, "retries: 2").await;
    greet(&greeter, "").await.expect("the second attempt works");
    drop(greeter);
    end([consumer]).await;
    let spans = spans(collector.rest());
    let (calls, attempts): (Vec<_>, Vec<_>) = spans
        .iter()
        .partition(|seen| seen.span.kind() == SpanKind::Internal);
    let [call] = calls[..] else {
        panic!("one call: {}", calls.len());
    };
    assert_eq!(call.attribute("dubbo.cluster").as_deref(), Some("failover"));
    let mut of_attempts: Vec<_> = attempts
        .iter()
        .map(|seen| {
            assert_eq!(seen.span.parent_span_id, call.span.span_id);
            (
                seen.attribute("dubbo.attempt").expect("a number"),
                seen.attribute("rpc.code").expect("a code"),
            )
        })
        .collect();
    of_attempts.sort();
    let want = [("1", "unavailable"), ("2", "ok")];
    let want = want.map(|(attempt, code)| (attempt.to_owned(), code.to_owned()));
    assert_eq!(of_attempts, want);
}

#[tokio::test]
async fn spans_that_a_collector_cannot_take_now_are_sent_again_and_one_that_is_away_holds_up_no_end()
 {
    let mut collector = Receiver::http1(&[StatusCode::SERVICE_UNAVAILABLE]).await;
    let service = || GreeterServer::new(Answering(|_: &Request<GreetRequest>| Ok(String::new())));
    let section = otel("otlp-http", &collector, "w3c");
    let provider = provide(&section, service()).await;
    let (_consumer, greeter) = consume(&url_of(&provider), "", "").await;
    greet(&greeter, "").await.expect("greets");
    end([provider]).await;
    assert_eq!(collector.rest().len(), 2);

    drop(collector);
    let away = "otel: {tracing: {enable: true, exporter: otlp-grpc, endpoint: '127.0.0.1:1', insecure: true, \
                sample-mode: always}}";
    let provider = provide(away, service()).await;
    let (_consumer, greeter) = consume(&url_of(&provider), "", "").await;
    greet(&greeter, "").await.expect("greets");
    let began = Instant::now();
    provider.shutdown(Duration::from_millis(200)).await;
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn what_cannot_work_is_refused_with_the_key_and_what_to_do() {
    for (tracing, want) in [
        (
            "exporter: jaeger",
            "exporter: `jaeger` is not supported: it takes OTLP today, on port 4317 by `otlp-grpc`",
        ),
        (
            "exporter: zipkin",
            "exporter: `zipkin` is not supported: it takes OTLP today, on port 4317 of an OpenTelemetry",
        ),
        ("exporter: otlp", "exporter: expected"),
        ("propagator: jaeger", "propagator: expected"),
        ("sample-mode: sometimes", "sample-mode: expected"),
        (
            "sample-ratio: 1.5",
            "sample-ratio: expected a number from 0 to 1, found `1.5`",
        ),
        (
            "exporter: otlp-http",
            "needs an `endpoint`: the `host:port` of a collector",
        ),
        (
            "exporter: otlp-http, insecure: true, endpoint: 'http://h:4318'",
            "endpoint: expected the `host:port` of a collector, found `http://h:4318`: it is a URL",
        ),
        (
            "exporter: otlp-grpc, endpoint: 'h:4317'",
            "without TLS write `insecure: true`",
        ),
    ] {
        let refused = refusal(&format!(
            "dubbo: {{otel: {{tracing: {{enable: true, {tracing}}}}}}}"
        ));
        assert!(refused.contains(want), "{tracing}: {refused}");
    }
}
