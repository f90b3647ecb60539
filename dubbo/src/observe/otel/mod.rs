//! Spans for OpenTelemetry (`docs/spec/config.md` §5.3): which are recorded, and where they go.

mod errors;
mod otlp;
mod stdout;

use std::path::Path;

use dubbo_protocol::filter::otel::{Propagation, Traces};
use opentelemetry::{InstrumentationScope, KeyValue, trace::TracerProvider as _};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchSpanProcessor, Sampler, SdkTracerProvider, TracerProviderBuilder},
};
use tokio::runtime::Handle;

pub(super) use self::errors::to_spans;
use self::{
    otlp::{Collector, Otlp},
    stdout::Stdout,
};
use crate::config::{
    Config, OtelExporter, OtelPropagator, OtelSampleMode, OtelTracingConfig, defaults,
    observe::Endpoint,
};

/// What makes the spans of an instance, as `otel.tracing` says. They are sent from `handle`.
///
/// # Errors
///
/// What they cannot be sent to.
pub(crate) fn provider(
    config: &Config,
    authorities: Option<&Path>,
    handle: &Handle,
) -> Result<SdkTracerProvider, String> {
    let otel = &config.otel.tracing;
    let builder = SdkTracerProvider::builder()
        .with_resource(resource(config))
        .with_sampler(Sampler::ParentBased(Box::new(sampler(otel))));
    let collector = |protocol| {
        let endpoint = otel.endpoint.as_deref().unwrap_or_default();
        let endpoint = Endpoint::of_authority(endpoint, otel.insecure != Some(true))?;
        let collector = Collector::new(endpoint, protocol, authorities)?;
        Ok::<_, String>(Otlp::new(collector, handle.clone()))
    };
    let builder = match otel.exporter.unwrap_or(OtelExporter::Stdout) {
        OtelExporter::Stdout => batched(builder, Stdout),
        OtelExporter::OtlpGrpc => batched(builder, collector(otlp::Protocol::Grpc)?),
        OtelExporter::OtlpHttp => batched(builder, collector(otlp::Protocol::Http)?),
    };
    Ok(builder.build())
}

/// What the filters of an instance need.
pub(crate) fn traces(config: &OtelTracingConfig, provider: &SdkTracerProvider) -> Traces {
    let scope = InstrumentationScope::builder("dubbo")
        .with_version(env!("CARGO_PKG_VERSION"))
        .build();
    let propagation = match config.propagator.unwrap_or(OtelPropagator::W3c) {
        OtelPropagator::B3 => Propagation::B3,
        OtelPropagator::W3c => Propagation::W3c,
    };
    Traces::new(provider.tracer_with_scope(scope), propagation)
}

fn batched(
    builder: TracerProviderBuilder,
    exporter: impl opentelemetry_sdk::trace::SpanExporter + 'static,
) -> TracerProviderBuilder {
    builder.with_span_processor(BatchSpanProcessor::builder(exporter).build())
}

/// Which traces are recorded that begin here.
fn sampler(config: &OtelTracingConfig) -> Sampler {
    match config.sample_mode.unwrap_or(OtelSampleMode::Ratio) {
        OtelSampleMode::Always => Sampler::AlwaysOn,
        OtelSampleMode::Never => Sampler::AlwaysOff,
        OtelSampleMode::Ratio => {
            Sampler::TraceIdRatioBased(config.sample_ratio.unwrap_or(SAMPLE_RATIO))
        }
    }
}

/// Whose spans they are.
fn resource(config: &Config) -> Resource {
    let application = &config.application;
    let name = application
        .name
        .as_deref()
        .unwrap_or(defaults::APPLICATION_NAME);
    let said = [
        ("service.namespace", &application.organization),
        ("service.version", &application.version),
    ];
    let said = said
        .into_iter()
        .filter_map(|(key, value)| Some(KeyValue::new(key, value.clone()?)));
    Resource::builder()
        .with_service_name(name.to_owned())
        .with_attributes(said)
        .build()
}

/// dubbo-go's.
const SAMPLE_RATIO: f64 = 0.5;

#[cfg(test)]
mod tests;
