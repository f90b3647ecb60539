//! The `logger` section: where events go and which.

use std::io::IsTerminal as _;

use tracing::{Dispatch, subscriber::NoSubscriber};
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use crate::config::{LogFormat, LogLevel, LoggerConfig, Problem};

/// Logs to standard error as `config` says, unless the program has set up logging of its own or says nothing about it.
pub(crate) fn install(config: &LoggerConfig) {
    if config.level.is_none() && config.format.is_none() {
        return;
    }
    let subscriber = subscriber(config, std::io::stderr, std::io::stderr().is_terminal());
    if tracing::subscriber::set_global_default(subscriber).is_err() {
        tracing::debug!("the program logs by itself; the `logger` section is left to it");
    }
}

/// Logs what is doubtful in a configuration; on standard error if nobody has set up a log, or it would be lost.
pub(crate) fn warn(doubtful: &[Problem]) {
    let warn = || {
        for problem in doubtful {
            tracing::warn!("{problem}");
        }
    };
    let unheard = tracing::dispatcher::get_default(Dispatch::is::<NoSubscriber>);
    if unheard && !doubtful.is_empty() {
        let config = LoggerConfig::new().level(LogLevel::Warn);
        let colours = std::io::stderr().is_terminal();
        tracing::subscriber::with_default(subscriber(&config, std::io::stderr, colours), warn);
    } else {
        warn();
    }
}

fn subscriber<W>(
    config: &LoggerConfig,
    writer: W,
    colours: bool,
) -> Box<dyn tracing::Subscriber + Send + Sync>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let level = match config.level.unwrap_or(LogLevel::Info) {
        LogLevel::Trace => "trace",
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
    };
    let lines = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(level))
        .with_writer(writer)
        .with_ansi(colours);
    match config.format.unwrap_or(LogFormat::Text) {
        LogFormat::Json => Box::new(lines.json().finish()),
        LogFormat::Text => Box::new(lines.finish()),
    }
}

#[cfg(test)]
mod tests {
    use std::{io, sync::Arc};

    use parking_lot::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(config: &LoggerConfig) -> String {
        let memory = Memory::default();
        let writer = memory.clone();
        let subscriber = subscriber(config, move || writer.clone(), false);
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(answer = 42, "hello");
            tracing::warn!("careful");
        });
        let bytes = memory.0.lock().clone();
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn the_level_decides_what_is_logged_and_the_format_how() {
        let info = logged(&LoggerConfig::new());
        assert!(
            info.contains("hello answer=42") && info.contains("careful"),
            "{info}"
        );

        let warn = logged(&LoggerConfig::new().level(LogLevel::Warn));
        assert!(
            !warn.contains("hello") && warn.contains("careful"),
            "{warn}"
        );

        let json = logged(&LoggerConfig::new().format(LogFormat::Json));
        assert!(
            json.starts_with('{') && json.contains(r#""answer":42"#),
            "{json}"
        );
    }
}
