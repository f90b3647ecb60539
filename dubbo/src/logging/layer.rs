//! From events of `tracing` to lines: which are wanted, and the trace that each belongs to.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    time::{Duration, SystemTime},
};

use arc_swap::ArcSwap;
use tracing::{
    Event, Metadata, Subscriber,
    callsite::rebuild_interest_cache,
    field::{Field, Visit},
    level_filters::LevelFilter,
    span::{Attributes, Id, Record},
    subscriber::Interest,
};
use tracing_subscriber::{
    Layer,
    layer::{Context, Filter},
    registry::LookupSpan,
};

use super::{line::Line, output::Output};
use crate::{
    config::{LogLevel, LoggerConfig},
    error::Error,
};

/// The log as it is now. It is exchanged while events come.
pub(super) struct Log {
    /// That of [`LEVELS`] at this position, and those before it.
    level: AtomicU8,
    /// Whether lines say which trace they belong to.
    has_traces: AtomicBool,
    config: ArcSwap<LoggerConfig>,
    output: ArcSwap<Output>,
}

/// Nothing can be said about the log of this process: the program logs by itself, or there is no log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the log of this process is not that of a `logger` section: the program has set up its own, or none"
)]
pub struct NotOurs(pub(super) ());

impl Log {
    pub(super) fn new(config: &LoggerConfig, output: Output) -> Self {
        let log = Self {
            level: AtomicU8::default(),
            has_traces: AtomicBool::default(),
            config: ArcSwap::from_pointee(config.clone()),
            output: ArcSwap::from_pointee(output),
        };
        log.note(config);
        log
    }

    /// What hears of events, and of spans where lines say which trace they belong to.
    pub(super) fn layer<S>(self: Arc<Self>) -> impl Layer<S> + Send + Sync
    where
        S: Subscriber + for<'s> LookupSpan<'s>,
    {
        Lines(Arc::clone(&self)).with_filter(Wanted(self))
    }

    pub(super) fn level(&self) -> LogLevel {
        let place = usize::from(self.level.load(Ordering::Relaxed));
        LEVELS[place].0
    }

    /// The configuration that it goes by, with the level that somebody has said since.
    pub(super) fn current(&self) -> LoggerConfig {
        LoggerConfig {
            level: Some(self.level()),
            ..LoggerConfig::clone(&self.config.load())
        }
    }

    pub(super) fn set_level(&self, level: LogLevel) {
        self.store_level(level);
        // `tracing` remembers of each place in the code whether anybody wants it.
        rebuild_interest_cache();
    }

    /// # Errors
    ///
    /// The file of `config` cannot be opened; all stays as it was.
    pub(super) fn change(&self, config: &LoggerConfig) -> Result<(), Error> {
        let before = self.config.load();
        let is_written_alike = LoggerConfig {
            level: config.level,
            ..LoggerConfig::clone(&before)
        } == *config;
        if !is_written_alike {
            self.output.store(Arc::new(Output::open(config)?));
        }
        self.note(config);
        self.config.store(Arc::new(config.clone()));
        rebuild_interest_cache();
        Ok(())
    }

    pub(super) fn flush(&self, patience: Duration) -> bool {
        self.output.load().flush(patience)
    }

    pub(super) fn has_file(&self) -> bool {
        self.output.load().has_file()
    }

    fn note(&self, config: &LoggerConfig) {
        self.store_level(config.level.unwrap_or(LogLevel::Info));
        let has_traces = config.trace_integration.enabled == Some(true);
        self.has_traces.store(has_traces, Ordering::Relaxed);
    }

    fn store_level(&self, level: LogLevel) {
        let place = LEVELS.iter().position(|(known, _)| *known == level);
        let place = place.and_then(|place| u8::try_from(place).ok());
        self.level
            .store(place.unwrap_or_default(), Ordering::Relaxed);
    }

    fn filter(&self) -> LevelFilter {
        LEVELS[usize::from(self.level.load(Ordering::Relaxed))].1
    }

    fn has_traces(&self) -> bool {
        self.has_traces.load(Ordering::Relaxed)
    }
}

/// Which events are lines, and which spans are looked at.
pub(super) struct Wanted(Arc<Log>);

impl Wanted {
    fn wants(&self, metadata: &Metadata<'_>) -> bool {
        if metadata.is_span() {
            return self.0.has_traces() && says_trace(metadata);
        }
        *metadata.level() <= self.0.filter()
    }
}

impl<S> Filter<S> for Wanted {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        self.wants(metadata)
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.wants(metadata) {
            Interest::always()
        } else {
            Interest::never()
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let level = self.0.filter();
        // Spans of calls are of this level.
        Some(if self.0.has_traces() {
            level.max(LevelFilter::DEBUG)
        } else {
            level
        })
    }
}

/// Writes events as lines.
struct Lines(Arc<Log>);

impl<S> Layer<S> for Lines
where
    S: Subscriber + for<'s> LookupSpan<'s>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let mut trace = Trace::default();
            attributes.record(&mut trace);
            span.extensions_mut().insert(trace);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(trace) = span.extensions_mut().get_mut::<Trace>()
        {
            values.record(trace);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut line = Line::of(event, SystemTime::now());
        if self.0.has_traces() {
            let mut scope = context.event_scope(event).into_iter().flatten();
            line.trace = of_opentelemetry().or_else(|| {
                scope.find_map(|span| {
                    let extensions = span.extensions();
                    let trace = extensions.get::<Trace>()?;
                    (!trace.id.is_empty()).then(|| trace.clone())
                })
            });
        }
        self.0.output.load().write(&line);
    }
}

/// What a span says about the trace that it belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Trace {
    pub(super) id: String,
    /// Where the span has none of its own, that of the caller, which it is a part of.
    pub(super) span_id: String,
    /// Where that is known.
    pub(super) is_sampled: Option<bool>,
}

impl Visit for Trace {
    fn record_bool(&mut self, field: &Field, value: bool) {
        if field.name() == "sampled" {
            self.is_sampled = Some(value);
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "parent_span_id" if self.span_id.is_empty() => value.clone_into(&mut self.span_id),
            "span_id" => value.clone_into(&mut self.span_id),
            "trace_id" => value.clone_into(&mut self.id),
            _ => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "span_id" => self.span_id = format!("{value:?}"),
            "trace_id" => self.id = format!("{value:?}"),
            _ => {}
        }
    }
}

/// The span of OpenTelemetry that calls are traced by, where they are.
#[cfg(feature = "otel")]
fn of_opentelemetry() -> Option<Trace> {
    use opentelemetry::{Context, trace::TraceContextExt as _};

    Context::map_current(|context| {
        let span = context.span();
        let span = span.span_context();
        span.is_valid().then(|| Trace {
            id: span.trace_id().to_string(),
            span_id: span.span_id().to_string(),
            is_sampled: Some(span.is_sampled()),
        })
    })
}

#[cfg(not(feature = "otel"))]
fn of_opentelemetry() -> Option<Trace> {
    None
}

/// Whether a span may say which trace it belongs to.
fn says_trace(metadata: &Metadata<'_>) -> bool {
    metadata.fields().field("trace_id").is_some()
}

const LEVELS: [(LogLevel, LevelFilter); 5] = [
    (LogLevel::Trace, LevelFilter::TRACE),
    (LogLevel::Debug, LevelFilter::DEBUG),
    (LogLevel::Info, LevelFilter::INFO),
    (LogLevel::Warn, LevelFilter::WARN),
    (LogLevel::Error, LevelFilter::ERROR),
];
