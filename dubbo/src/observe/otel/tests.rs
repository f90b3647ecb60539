use std::sync::Arc;

use opentelemetry::{
    Context, KeyValue,
    trace::{SpanBuilder, SpanKind, Status, TraceContextExt as _, Tracer as _},
};
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{SpanData, SpanExporter},
};
use parking_lot::Mutex;
use tracing_subscriber::{Registry, layer::SubscriberExt as _};

use super::*;

/// Keeps spans.
#[derive(Debug, Clone, Default)]
struct Kept(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Kept {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().extend(batch);
        Ok(())
    }
}

/// A span of a call that fails, within which `done` is done.
fn span(done: impl FnOnce()) -> SpanData {
    let kept = Kept::default();
    let provider = SdkTracerProvider::builder()
        .with_simple_exporter(kept.clone())
        .build();
    let builder = SpanBuilder::from_name("Greet").with_kind(SpanKind::Server);
    let span = provider
        .tracer("test")
        .build_with_context(builder, &Context::new());
    let cx = Context::new().with_span(span);
    {
        let _within = cx.clone().attach();
        done();
    }
    cx.span()
        .set_attribute(KeyValue::new("rpc.method", "Greet"));
    cx.span().set_status(Status::error("nobody is there"));
    cx.span().end();
    kept.0.lock()[0].clone()
}

#[test]
fn a_span_on_standard_output_is_an_object_with_all_that_there_is_to_say_of_it() {
    let span = span(|| {});
    let line = stdout::line(&span);
    assert_eq!(line["trace_id"], span.span_context.trace_id().to_string());
    assert_eq!(line["span_id"], span.span_context.span_id().to_string());
    for (name, want) in [
        ("parent_span_id", "0000000000000000"),
        ("name", "Greet"),
        ("kind", "server"),
        ("status", "error"),
        ("message", "nobody is there"),
    ] {
        assert_eq!(line[name], want, "{line}");
    }
    assert_eq!(line["attributes"]["rpc.method"], "Greet");
    assert!(line["end"].as_f64() >= line["start"].as_f64(), "{line}");
}

#[test]
fn an_error_that_is_logged_within_a_call_is_an_exception_of_its_span() {
    let subscriber = Registry::default().with(vec![to_spans::<Registry>()]);
    let span = tracing::subscriber::with_default(subscriber, || {
        span(|| {
            tracing::warn!("nothing serious");
            tracing::error!(target: "shop", stock = 0, "sold out");
        })
    });
    let [event] = &span.events.events[..] else {
        panic!("one event: {:?}", span.events.events);
    };
    assert_eq!(event.name, "exception");
    let attribute = |name: &str| {
        let mut all = event.attributes.iter();
        let found = all.find(|it| it.key.as_str() == name);
        found.map(|it| it.value.to_string())
    };
    assert_eq!(attribute("exception.type").as_deref(), Some("shop"));
    assert_eq!(
        attribute("exception.message").as_deref(),
        Some("sold out stock=0")
    );
}

#[test]
fn what_is_recorded_and_whose_it_is_are_as_the_configuration_says() {
    let config = |otel| Config::new().otel(crate::config::OtelConfig::new().tracing(otel));
    let otel = OtelTracingConfig::new();
    for (otel, want) in [
        (otel.clone(), "TraceIdRatioBased(0.5)"),
        (otel.clone().sample_ratio(0.25), "TraceIdRatioBased(0.25)"),
        (otel.clone().sample_mode(OtelSampleMode::Always), "AlwaysOn"),
        (otel.clone().sample_mode(OtelSampleMode::Never), "AlwaysOff"),
    ] {
        let config = config(otel);
        assert_eq!(format!("{:?}", sampler(&config.otel.tracing)), want);
    }
    let unnamed = resource(&Config::new());
    let name = unnamed
        .iter()
        .find(|(key, _)| key.as_str() == "service.name");
    assert_eq!(
        name.expect("a name").1.to_string(),
        defaults::APPLICATION_NAME
    );
}
