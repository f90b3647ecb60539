use dubbo_core::yaml::{ProblemKind, Section};

use super::settings;

settings! {
    /// `dubbo.otel`: what goes to OpenTelemetry.
    pub struct OtelConfig {
        /// `tracing`: spans of calls.
        tracing: OtelTracingConfig,
    }
}

impl OtelConfig {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            tracing: s.section("tracing", OtelTracingConfig::read),
        }
    }
}

settings! {
    /// `dubbo.otel.tracing`: spans of calls, and the trace that they belong to, which travels with every call
    /// (`docs/spec/config.md` §1.19, §5.3). It needs the feature `otel`.
    pub struct OtelTracingConfig {
        /// `enable`, by default false: whether calls are traced.
        enable: Option<bool>,
        /// `exporter`, by default `stdout`: where spans go: `stdout`, `otlp-http` or `otlp-grpc`.
        exporter: Option<OtelExporter>,
        /// `endpoint`: the collector of `otlp-http` and `otlp-grpc`, as `host:port`.
        endpoint: Option<String>,
        /// `propagator`, by default `w3c`: how the trace is told to the next one: `w3c` or `b3`, each with `baggage`.
        propagator: Option<OtelPropagator>,
        /// `sample-mode`, by default `ratio`: which traces that begin here are recorded: `always`, `never` or `ratio`. For one
        /// that began elsewhere that has been decided there.
        sample_mode: Option<OtelSampleMode>,
        /// `sample-ratio`, by default 0.5: the share of traces that `ratio` records, from 0 to 1.
        sample_ratio: Option<f64>,
        /// `insecure`, by default false: whether spans go to the collector without TLS. With TLS the collector is trusted by
        /// `tls_config.ca-cert-file`.
        insecure: Option<bool>,
    }
}

impl OtelTracingConfig {
    fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            enable: s.bool("enable"),
            exporter: read_exporter(s),
            endpoint: s.string("endpoint"),
            propagator: s.choice(
                "propagator",
                &[("w3c", OtelPropagator::W3c), ("b3", OtelPropagator::B3)],
            ),
            sample_mode: s.choice(
                "sample-mode",
                &[
                    ("always", OtelSampleMode::Always),
                    ("never", OtelSampleMode::Never),
                    ("ratio", OtelSampleMode::Ratio),
                ],
            ),
            sample_ratio: read_ratio(s),
            insecure: s.bool("insecure"),
        }
    }
}

/// Those of dubbo-go that there are no more are told what takes their place.
fn read_exporter(s: &mut Section<'_, '_>) -> Option<OtelExporter> {
    let name = s.string("exporter")?;
    let instead = match &*name {
        "jaeger" => "4317 by `otlp-grpc` and on port 4318 by `otlp-http`",
        "zipkin" => {
            "4317 of an OpenTelemetry Collector by `otlp-grpc`, which sends it on to Zipkin"
        }
        _ => {
            return s.choice(
                "exporter",
                &[
                    ("stdout", OtelExporter::Stdout),
                    ("otlp-http", OtelExporter::OtlpHttp),
                    ("otlp-grpc", OtelExporter::OtlpGrpc),
                ],
            );
        }
    };
    let message = format!("`{name}` is not supported: it takes OTLP today, on port {instead}");
    s.error("exporter", ProblemKind::Unsupported, message);
    None
}

fn read_ratio(s: &mut Section<'_, '_>) -> Option<f64> {
    let text = s.string("sample-ratio")?;
    let ratio = text.trim().parse().ok();
    let ratio = ratio.filter(|ratio| (0.0..=1.0).contains(ratio));
    if ratio.is_none() {
        let message = format!("expected a number from 0 to 1, found `{text}`");
        s.error("sample-ratio", ProblemKind::Type, message);
    }
    ratio
}

/// Where spans go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OtelExporter {
    /// `otlp-grpc`: to a collector, by gRPC.
    OtlpGrpc,
    /// `otlp-http`: to a collector, by HTTP, at `/v1/traces`.
    OtlpHttp,
    /// `stdout`: to standard output, a line a span.
    Stdout,
}

/// How a trace is told to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OtelPropagator {
    /// `b3`: as `b3` and as `x-b3-…`, and either is understood.
    B3,
    /// `w3c`: as `traceparent` and `tracestate`.
    W3c,
}

/// Which traces that begin here are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OtelSampleMode {
    /// `always`.
    Always,
    /// `never`.
    Never,
    /// `ratio`: a share of them.
    Ratio,
}
