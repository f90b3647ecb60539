use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use dubbo_core::yaml::{ProblemKind, Section};

use super::settings;
use crate::config::defaults;

settings! {
    /// `dubbo.logger`: what is logged, where, and how (`docs/spec/config.md` §1.20, §5.5). It is that of the whole process.
    pub struct LoggerConfig {
        /// `level`, by default `info`: the least important events that are logged.
        level: Option<LogLevel>,
        /// `format`, by default `text`.
        format: Option<LogFormat>,
        /// `appender`, by default `console`: where lines go; a comma list.
        appender: Option<Vec<LogAppender>>,
        /// `file`: the file that the appender `file` writes.
        file: LogFileConfig,
        /// `trace-integration`: what lines say of traces, and traces of lines.
        trace_integration: LogTraceConfig,
    }
}

impl LoggerConfig {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        s.no_effect(
            "driver",
            "it chooses a logging library of Go; here it is `tracing`",
        );
        let appender = s.list("appender").map(|names| {
            let appenders = names.iter().filter_map(|name| match name.as_str() {
                "console" => Some(LogAppender::Console),
                "file" => Some(LogAppender::File),
                _ => {
                    let message = format!("expected `console` or `file`, found `{name}`");
                    s.error("appender", ProblemKind::Type, message);
                    None
                }
            });
            appenders.collect::<Vec<_>>()
        });
        Self {
            level: s.choice(
                "level",
                &[
                    ("trace", LogLevel::Trace),
                    ("debug", LogLevel::Debug),
                    ("info", LogLevel::Info),
                    ("warn", LogLevel::Warn),
                    ("error", LogLevel::Error),
                ],
            ),
            format: s.choice(
                "format",
                &[("text", LogFormat::Text), ("json", LogFormat::Json)],
            ),
            appender,
            file: s.section("file", LogFileConfig::read),
            trace_integration: s.section("trace-integration", LogTraceConfig::read),
        }
    }

    /// Where lines go.
    pub(crate) fn appenders(&self) -> &[LogAppender] {
        self.appender.as_deref().unwrap_or(&[LogAppender::Console])
    }
}

settings! {
    /// `dubbo.logger.file`: the file of the appender `file`, and what becomes of it when it is full.
    pub struct LogFileConfig {
        /// `name`, by default `dubbo.log`: the path of the file. Folders on the way are made.
        name: Option<PathBuf>,
        /// `max-size`, by default 100: how many MiB the file may have. Then it is put aside, with the time in its name.
        max_size: Option<u32>,
        /// `max-backups`, by default 5: how many files that were put aside stay. 0 is no limit.
        max_backups: Option<u32>,
        /// `max-age`, by default 3: how many days they stay. 0 is no limit.
        max_age: Option<u32>,
        /// `compress`, by default true: whether they are packed with gzip.
        compress: Option<bool>,
    }
}

impl LogFileConfig {
    fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            name: s.string("name").map(PathBuf::from),
            max_size: s.integer("max-size", 1..=MAX_MEBIBYTES),
            max_backups: s.integer("max-backups", 0..=u32::MAX),
            max_age: s.integer("max-age", 0..=u32::MAX),
            compress: s.bool("compress"),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        let path = self.name.as_deref();
        path.unwrap_or_else(|| Path::new(defaults::LOG_FILE))
    }

    /// In bytes.
    pub(crate) fn limit(&self) -> u64 {
        u64::from(self.max_size.unwrap_or(defaults::LOG_FILE_MAX_SIZE)) << 20
    }

    /// 0 is no limit.
    pub(crate) fn number(&self) -> usize {
        let number = self.max_backups.unwrap_or(defaults::LOG_FILE_MAX_BACKUPS);
        usize::try_from(number).unwrap_or(usize::MAX)
    }

    /// `None` is no limit.
    pub(crate) fn age(&self) -> Option<Duration> {
        let days = self.max_age.unwrap_or(defaults::LOG_FILE_MAX_AGE);
        (days > 0).then(|| Duration::from_hours(24 * u64::from(days)))
    }

    pub(crate) fn packs(&self) -> bool {
        self.compress.unwrap_or(true)
    }
}

settings! {
    /// `dubbo.logger.trace-integration`: what lines say of traces, and traces of lines.
    pub struct LogTraceConfig {
        /// `enabled`, by default false: whether a line that is logged within a call that has a trace says which, with
        /// `trace_id`, `span_id` and `trace_flags`.
        enabled: Option<bool>,
        /// `record-error-to-span`, by default true: with `enabled`, whether what is logged as an error within a call is an
        /// exception of its span where spans are exported (`otel.tracing`).
        record_error_to_span: Option<bool>,
    }
}

impl LogTraceConfig {
    fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            enabled: s.bool("enabled"),
            record_error_to_span: s.bool("record-error-to-span"),
        }
    }

    /// Whether errors that are logged are told to the spans that are exported.
    #[must_use]
    pub fn records_errors(&self) -> bool {
        self.enabled == Some(true) && self.record_error_to_span != Some(false)
    }
}

/// How important an event is, the least important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// `trace`.
    Trace,
    /// `debug`.
    Debug,
    /// `info`.
    Info,
    /// `warn`.
    Warn,
    /// `error`.
    Error,
}

/// How an event is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// `json`: one JSON object a line.
    Json,
    /// `text`: one line for people.
    Text,
}

/// Where lines of the log go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogAppender {
    /// `console`: standard error.
    Console,
    /// `file`: that of [`LogFileConfig`].
    File,
}

/// The largest size of a file: more than a terabyte is a mistake.
const MAX_MEBIBYTES: u32 = 1 << 20;
