//! `loggerInfo` and `switchLogLevel`.

use super::super::command::{Answer, Asked, Failure};
use crate::{
    config::{LogAppender, LogFormat, LogLevel, LoggerConfig},
    logging,
};

/// What the log of the process is, one fact a line.
pub(in crate::admin) fn logger_info(asked: &Asked<'_>) -> Answer {
    asked.at_most(0)?;
    let Some(config) = logging::current() else {
        return Err(Failure::NotFound(
            "the program logs by itself, or there is no `logger` section".to_owned(),
        ));
    };
    Ok(info(&config))
}

fn info(config: &LoggerConfig) -> String {
    let appenders = config.appenders().iter().map(|appender| match appender {
        LogAppender::Console => "console (standard error)".to_owned(),
        LogAppender::File => format!("file ({})", config.file.path().display()),
    });
    let appenders: Vec<_> = appenders.collect();
    let level = config.level.unwrap_or(LogLevel::Info);
    let format = match config.format.unwrap_or(LogFormat::Text) {
        LogFormat::Json => "json",
        LogFormat::Text => "text",
    };
    let traces = match config.trace_integration.enabled {
        Some(true) => "yes",
        _ => "no",
    };
    format!(
        "Available logger adapters: [tracing]. Current Adapter: [tracing]. Log level: {}\nappender: {}\nformat: {format}\n\
         traces: {traces}",
        format!("{level:?}").to_ascii_uppercase(),
        appenders.join(", ")
    )
}

/// Has what is as important as the first argument be logged, and what is more so.
pub(in crate::admin) fn switch_log_level(asked: &Asked<'_>) -> Answer {
    asked.at_most(1)?;
    set_log_level(asked.argument(0, "a level: trace, debug, info, warn or error")?)
}

/// The level by its name, or by the number that Dubbo Java has for it.
pub(in crate::admin) fn set_log_level(text: &str) -> Answer {
    let found = LEVELS
        .iter()
        .find(|(names, _)| names.iter().any(|name| name.eq_ignore_ascii_case(text)));
    let Some((names, level)) = found else {
        return Err(Failure::Bad(format!(
            "expected a level, trace, debug, info, warn or error, or 0 to 5, found `{text}`{}",
            if matches!(text, "6") || text.eq_ignore_ascii_case("off") {
                ": errors are always logged"
            } else {
                ""
            }
        )));
    };
    logging::set_level(*level).map_err(|error| Failure::Failed(error.to_string()))?;
    tracing::info!(level = names[0], "an operator has set the level of the log");
    Ok(format!("OK: logging from {} on", names[0]))
}

/// All names of each level. Java's `ALL` is 0.
const LEVELS: [(&[&str], LogLevel); 5] = [
    (&["trace", "1", "0", "all"], LogLevel::Trace),
    (&["debug", "2"], LogLevel::Debug),
    (&["info", "3"], LogLevel::Info),
    (&["warn", "4"], LogLevel::Warn),
    (&["error", "5"], LogLevel::Error),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LogFileConfig;

    #[test]
    fn a_log_is_told_with_its_level_appenders_and_format() {
        for (config, want) in [
            (
                LoggerConfig::new(),
                "Log level: INFO\nappender: console (standard error)\nformat: text\ntraces: no",
            ),
            (
                LoggerConfig::new()
                    .level(LogLevel::Debug)
                    .format(LogFormat::Json)
                    .appender(vec![LogAppender::Console, LogAppender::File])
                    .file(LogFileConfig::new().name("/var/log/shop.log".into())),
                "Log level: DEBUG\nappender: console (standard error), file (/var/log/shop.log)\nformat: json\ntraces: no",
            ),
        ] {
            let told = info(&config);
            assert!(told.ends_with(want), "{told}");
        }
    }
}
