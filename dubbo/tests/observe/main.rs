//! What a program tells of itself: numbers for Prometheus, spans for OpenTelemetry, and who called what.

mod access;
#[cfg(all(feature = "otel", feature = "prometheus"))]
mod documented;
#[cfg(feature = "prometheus")]
mod metrics;
#[cfg(any(feature = "otel", feature = "prometheus"))]
mod receiver;
mod rig;
#[cfg(feature = "otel")]
mod tracing;
