use dubbo_core::{attachments::Attachments, status::Status};
use opentelemetry::{
    baggage::BaggageExt as _,
    trace::{SpanContext, TracerProvider as _},
};
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{Sampler, SdkTracerProvider, SpanData, SpanExporter},
};
use parking_lot::Mutex;

use super::*;
use crate::filter::tests::rig::{Provider, invocation_of};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Keeps spans.
#[derive(Debug, Clone, Default)]
struct Kept(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Kept {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().extend(batch);
        Ok(())
    }
}

/// Spans, and what makes them.
struct Rig {
    with: Arc<With>,
    spans: Kept,
}

impl Rig {
    fn new(sampler: Sampler, propagation: Propagation) -> Self {
        let spans = Kept::default();
        let provider = SdkTracerProvider::builder()
            .with_simple_exporter(spans.clone())
            .with_sampler(Sampler::ParentBased(Box::new(sampler)))
            .build();
        let tracer = provider.tracer("test");
        let with = Arc::new(With {
            tracer,
            propagation,
        });
        Self { with, spans }
    }

    fn filter(&self, place: Place) -> Arc<dyn Filter> {
        let with = Arc::clone(&self.with);
        Arc::new(OtelSpan { with, place })
    }

    fn spans(&self) -> Vec<SpanData> {
        self.spans.0.lock().clone()
    }
}

fn attribute(span: &SpanData, name: &str) -> Option<String> {
    let mut found = span.attributes.iter();
    let found = found.find(|it| it.key.as_str() == name);
    found.map(|it| it.value.to_string())
}

#[tokio::test]
async fn a_call_with_an_attempt_that_a_provider_serves_is_one_trace_by_either_propagation() {
    for propagation in [Propagation::W3c, Propagation::B3] {
        let rig = Rig::new(Sampler::AlwaysOn, propagation);
        let provider = Provider::echoing();
        let consumer = provider.behind(vec![rig.filter(Place::Call), rig.filter(Place::Attempt)]);
        consumer
            .invoke(invocation_of("Greet"))
            .await
            .expect("works");
        let sent = provider.last_attachments();
        match propagation {
            Propagation::W3c => assert!(sent.contains("traceparent") && !sent.contains("b3")),
            Propagation::B3 => {
                for name in ["b3", "x-b3-traceid", "x-b3-spanid", "x-b3-sampled"] {
                    assert!(sent.contains(name), "{name}");
                }
                assert!(!sent.contains("traceparent"));
            }
        }
        let mut arrived = invocation_of("Greet");
        arrived.attachments = sent;
        let there = provider.behind(vec![rig.filter(Place::Provider)]);
        there.invoke(arrived).await.expect("works");

        let spans = rig.spans();
        let of = |kind| {
            spans
                .iter()
                .find(|span| span.span_kind == kind)
                .expect("a span")
        };
        let (call, attempt) = (of(SpanKind::Internal), of(SpanKind::Client));
        let served = of(SpanKind::Server);
        assert_eq!(spans.len(), 3);
        assert_eq!(attempt.parent_span_id, call.span_context.span_id());
        assert_eq!(served.parent_span_id, attempt.span_context.span_id());
        let trace = call.span_context.trace_id();
        assert!(
            spans
                .iter()
                .all(|span| span.span_context.trace_id() == trace)
        );
        for span in [call, attempt, served] {
            assert_eq!(span.name, "Greet");
            assert_eq!(span.status, Outcome::Ok);
            for (name, want) in [
                ("rpc.system", "apache_dubbo"),
                ("rpc.service", "test.Greeter"),
                ("rpc.method", "Greet"),
                ("rpc.code", "ok"),
            ] {
                assert_eq!(attribute(span, name).as_deref(), Some(want), "{name}");
            }
        }
        assert_eq!(attribute(attempt, "dubbo.attempt").as_deref(), Some("1"));
        assert!(attribute(attempt, "server.address").is_some());
    }
}

#[tokio::test]
async fn a_failed_call_is_a_failed_span_with_its_message_and_code() {
    let rig = Rig::new(Sampler::AlwaysOn, Propagation::W3c);
    let provider = Provider::answering(vec![Err(Status::not_found("nobody of this name"))]);
    let server = provider.behind(vec![rig.filter(Place::Provider)]);
    server
        .invoke(invocation_of("Greet"))
        .await
        .expect_err("fails");
    let spans = rig.spans();
    assert_eq!(spans[0].status, Outcome::error("nobody of this name"));
    assert_eq!(
        attribute(&spans[0], "rpc.code").as_deref(),
        Some("not_found")
    );

    let hanging = Provider::hanging();
    let server = hanging.behind(vec![rig.filter(Place::Provider)]);
    let mut call = server.invoke(invocation_of("Greet"));
    assert!(futures_util::poll!(call.as_mut()).is_pending());
    drop(call);
    let spans = rig.spans();
    assert_eq!(
        attribute(&spans[1], "rpc.code").as_deref(),
        Some("canceled")
    );
}

#[tokio::test]
async fn who_began_a_trace_decides_whether_it_is_recorded_and_it_goes_on_either_way() {
    for (sampler, sent, recorded, flags) in [
        (Sampler::AlwaysOff, Some(PARENT.to_owned()), 2, "-01"),
        (
            Sampler::AlwaysOn,
            Some(PARENT.replace("-01", "-00")),
            0,
            "-00",
        ),
        (Sampler::AlwaysOff, None, 0, "-00"),
        (Sampler::TraceIdRatioBased(1.0), None, 2, "-01"),
        (Sampler::TraceIdRatioBased(0.0), None, 0, "-00"),
    ] {
        let rig = Rig::new(sampler.clone(), Propagation::W3c);
        let provider = Provider::echoing();
        let chain = provider.behind(vec![
            rig.filter(Place::Provider),
            rig.filter(Place::Attempt),
        ]);
        let mut call = invocation_of("Greet");
        if let Some(sent) = &sent {
            call.attachments.insert("traceparent", sent.clone());
            call.attachments.insert("tracestate", "vendor=1");
            call.attachments.insert("baggage", "tenant=a");
        }
        chain.invoke(call).await.expect("works");
        assert_eq!(rig.spans().len(), recorded, "{sampler:?} {sent:?}");
        let onward = provider.last_attachments();
        let parent = onward.get("traceparent").expect("it goes on");
        assert!(parent.ends_with(flags), "{parent}");
        if let Some(sent) = &sent {
            assert!(
                parent.starts_with(&sent[..35]) && parent[36..52] != sent[36..52],
                "{parent}"
            );
            assert_eq!(onward.get("tracestate"), Some("vendor=1"));
            assert_eq!(onward.get("baggage"), Some("tenant=a"));
        }
    }
}

#[test]
fn what_names_no_span_begins_a_trace_and_is_no_error() {
    for (name, value) in [
        ("traceparent", "00-zz"),
        ("traceparent", ""),
        ("b3", "0"),
        ("baggage", "=;,="),
    ] {
        let attachments: Attachments = [(name, value)].into_iter().collect();
        for propagation in [Propagation::W3c, Propagation::B3] {
            let cx = propagation.extract(&attachments, Context::new());
            assert_eq!(cx.span().span_context(), &SpanContext::empty_context());
            assert!(cx.baggage().is_empty(), "{value}");
        }
    }
}
