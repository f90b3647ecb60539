//! Errors that are logged within a call are told to its span (`logger.trace-integration.record-error-to-span`).

use std::fmt::{self, Write as _};

use opentelemetry::{Context, KeyValue, trace::TraceContextExt as _};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
};
use tracing_subscriber::{Layer, layer, registry::LookupSpan};

/// Adds each error that is logged to the span that is being made meanwhile.
pub(crate) fn to_spans<S>() -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'s> LookupSpan<'s> + Send + Sync,
{
    ToSpans.with_filter(LevelFilter::ERROR).boxed()
}

struct ToSpans;

impl<S: Subscriber> Layer<S> for ToSpans {
    fn on_event(&self, event: &Event<'_>, _: layer::Context<'_, S>) {
        Context::map_current(|cx| {
            let span = cx.span();
            if !span.is_recording() {
                return;
            }
            let mut text = Text::default();
            event.record(&mut text);
            let attributes = vec![
                KeyValue::new("exception.type", event.metadata().target()),
                KeyValue::new("exception.message", text.0),
            ];
            span.add_event("exception", attributes);
        });
    }
}

/// An event as one line: its message, and its fields after it.
#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0.insert_str(0, &format!("{value:?}"));
        } else {
            let _ = write!(self.0, " {}={value:?}", field.name());
        }
    }
}
