use dubbo_core::yaml::{ProblemKind, Section};

use super::settings;

settings! {
    /// `dubbo.logger`: what is logged, and how (`docs/spec/config.md` §1.20). The log goes to the console.
    pub struct LoggerConfig {
        /// `level`, by default `info`: the least important events that are logged.
        level: Option<LogLevel>,
        /// `format`, by default `text`.
        format: Option<LogFormat>,
    }
}

impl LoggerConfig {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        s.no_effect(
            "driver",
            "it chooses a logging library of Go; here it is `tracing`",
        );
        s.unsupported("file");
        s.unsupported("trace-integration");
        for appender in s.list("appender").unwrap_or_default() {
            match appender.as_str() {
                "console" => {}
                "file" => {
                    let message = "`file` is not supported yet; `console` is";
                    s.error("appender", ProblemKind::Unsupported, message);
                }
                _ => {
                    let message = format!("expected `console`, found `{appender}`");
                    s.error("appender", ProblemKind::Type, message);
                }
            }
        }
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
        }
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
