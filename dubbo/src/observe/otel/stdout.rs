//! Spans on standard output, a line of JSON each: to see that there are any.

use std::{
    fmt,
    io::{self, Write as _},
    time::{SystemTime, UNIX_EPOCH},
};

use opentelemetry::trace::Status;
use opentelemetry_sdk::{
    error::{OTelSdkError, OTelSdkResult},
    trace::{SpanData, SpanExporter},
};
use serde_json::{Map, Value, json};

/// Writes spans to standard output.
#[derive(Debug)]
pub(super) struct Stdout;

impl SpanExporter for Stdout {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let lines: Vec<_> = batch.iter().map(|span| line(span).to_string()).collect();
        let mut out = io::stdout().lock();
        let written = writeln!(out, "{}", lines.join("\n")).and_then(|()| out.flush());
        written.map_err(|error| OTelSdkError::InternalFailure(error.to_string()))
    }
}

pub(super) fn line(span: &SpanData) -> Value {
    let text = |it: &dyn fmt::Display| Value::from(it.to_string());
    let attributes = span.attributes.iter();
    let attributes: Map<_, _> = attributes
        .map(|it| (it.key.to_string(), text(&it.value)))
        .collect();
    let (status, message) = match &span.status {
        Status::Error { description } => ("error", Some(description.as_ref())),
        Status::Ok => ("ok", None),
        Status::Unset => ("unset", None),
    };
    json!({
        "trace_id": text(&span.span_context.trace_id()),
        "span_id": text(&span.span_context.span_id()),
        "parent_span_id": text(&span.parent_span_id),
        "name": span.name,
        "kind": format!("{:?}", span.span_kind).to_lowercase(),
        "start": seconds(span.start_time),
        "end": seconds(span.end_time),
        "status": status,
        "message": message,
        "attributes": attributes,
    })
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
}
