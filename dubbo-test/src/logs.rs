//! What a piece of code writes into the log, seen by a test.

use std::{
    fmt::{self, Write as _},
    sync::{Arc, OnceLock},
};

use parking_lot::Mutex;
use tracing::{
    Dispatch, Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::DefaultGuard,
};

/// The lines that the thread has logged since [`record`](Self::record).
#[derive(Debug, Clone, Default)]
pub struct Logs(Arc<Mutex<Vec<String>>>);

impl Logs {
    /// Records what this thread logs, as long as the guard lives.
    pub fn record() -> (Self, DefaultGuard) {
        // As long as there is one subscriber in the process, `tracing` has the thread that is the first to come to a line
        // decide for all of them whether it is ever wanted: one without a subscriber says no.
        SECOND.get_or_init(|| Dispatch::new(Recorder(Self::default())));
        let logs = Self::default();
        let guard = tracing::subscriber::set_default(Recorder(logs.clone()));
        (logs, guard)
    }

    /// The lines with `part` in them: `LEVEL message field=value field=value`.
    pub fn with(&self, part: &str) -> Vec<String> {
        let lines = self.0.lock();
        let found = lines.iter().filter(|line| line.contains(part));
        found.cloned().collect()
    }
}

static SECOND: OnceLock<Dispatch> = OnceLock::new();

struct Recorder(Logs);

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let Line { message, fields } = line;
        let level = event.metadata().level();
        let mut lines = self.0.0.lock();
        lines.push(format!("{level} {message}{fields}"));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Texts cannot fail to be written.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}
