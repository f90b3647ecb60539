//! The flags that say which trace calls belong to, and who takes the spans.

use serde_json::{Value, json};

use crate::Arguments;

/// Names of the flags.
pub const FLAGS: [&str; 2] = ["trace", "collector"];

/// The section `dubbo.otel` that the flags ask for, if they ask for spans. The framework knows what a trace can travel in.
pub(crate) fn section(arguments: &Arguments) -> Result<Option<Value>, String> {
    let Some(propagator) = arguments.get("trace") else {
        return Ok(None);
    };
    let collector = arguments
        .get("collector")
        .ok_or("--collector=HOST:PORT is missing: --trace needs it")?;
    Ok(Some(json!({"tracing": {
        "enable": true,
        "propagator": propagator,
        "exporter": "otlp-http",
        "endpoint": collector,
        "insecure": true,
        "sample-mode": "always",
    }})))
}
