//! The log of the process: where its events go, which of them, and how they are written (`docs/spec/config.md` §1.20, §5.5).
//!
//! The subscriber of `tracing` is one for the whole process. That of the `logger` section is installed by the first
//! instance that has one, unless the program has set up its own; what any instance says of the log later is said of this
//! one.

mod file;
mod layer;
mod line;
mod output;

use std::{
    io::IsTerminal as _,
    sync::{Arc, OnceLock},
    time::Duration,
};

use tracing::{Dispatch, subscriber::NoSubscriber};
use tracing_subscriber::{Layer, Registry, layer::SubscriberExt as _};

pub use self::layer::NotOurs;
pub(crate) use self::line::time;
use self::{layer::Log, output::Output};
use crate::{
    config::{LogLevel, LoggerConfig, Problem},
    error::Error,
};

/// Has events of `level`, and more important ones, be logged from now on, until somebody says another level.
///
/// # Errors
///
/// The program logs by itself, or there is no log: no instance has been built with a `logger` section.
pub fn set_level(level: LogLevel) -> Result<(), NotOurs> {
    INSTALLED.get().ok_or(NotOurs(()))?.set_level(level);
    Ok(())
}

/// The least important events that are logged now; `None` when the program logs by itself, or there is no log.
pub fn level() -> Option<LogLevel> {
    INSTALLED.get().map(|log| log.level())
}

/// What is logged now, where and how; `None` when the program logs by itself, or there is no log.
pub(crate) fn current() -> Option<LoggerConfig> {
    INSTALLED.get().map(|log| log.current())
}

/// Something else that the spans and events of the process are for, such as what exports traces, with a filter of its own.
pub(crate) type Observer = Box<dyn Layer<Registry> + Send + Sync>;

/// Logs as `config` says, and tells `observers` of all that they want, unless the program has set up `tracing` by itself or
/// the configuration asks for neither.
///
/// # Errors
///
/// The file that is to be written cannot be opened.
pub(crate) fn install(config: &LoggerConfig, observers: Vec<Observer>) -> Result<(), Error> {
    if *config == LoggerConfig::new() && observers.is_empty() {
        return Ok(());
    }
    let is_free = tracing::dispatcher::get_default(Dispatch::is::<NoSubscriber>);
    if INSTALLED.get().is_some() || !is_free {
        leave_alone();
        return Ok(());
    }
    let log = Arc::new(Log::new(config, Output::open(config)?));
    let lines = Arc::clone(&log).layer();
    // An empty list of them would want nothing, for the others too.
    let observers = (!observers.is_empty()).then_some(observers);
    let subscriber = Registry::default().with(observers).with(lines);
    if tracing::subscriber::set_global_default(subscriber).is_ok() {
        // Nobody else gets here: of those that set it one wins.
        let _ = INSTALLED.set(log);
    } else {
        leave_alone();
    }
    Ok(())
}

/// Logs as `config` says from now on.
///
/// # Errors
///
/// The program logs by itself, or the file that is to be written cannot be opened; all stays as it was.
pub(crate) fn change(config: &LoggerConfig) -> Result<(), String> {
    if INSTALLED.get().is_none() {
        install(config, Vec::new()).map_err(|error| error.to_string())?;
    }
    let log = INSTALLED.get().ok_or_else(|| NotOurs(()).to_string())?;
    log.change(config).map_err(|error| error.to_string())
}

/// Waits until what was logged by now is in its file, but no longer than `patience`; it blocks the thread as long. Whether
/// it is: at once where no file is written.
pub(crate) fn flush(patience: Duration) -> bool {
    INSTALLED.get().is_none_or(|log| log.flush(patience))
}

/// The same without blocking a thread that runs tasks.
pub(crate) async fn flushed(patience: Duration) {
    if INSTALLED.get().is_some_and(|log| log.has_file()) {
        let flushed = tokio::task::spawn_blocking(move || flush(patience));
        // The runtime may be about to end, and the program with it.
        let _ = flushed.await;
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
        let log = Arc::new(Log::new(&config, Output::console(&config)));
        let subscriber = Registry::default().with(log.layer());
        tracing::subscriber::with_default(subscriber, warn);
    } else {
        warn();
    }
}

fn leave_alone() {
    tracing::debug!(
        "the process has a log already; the `logger` section of this instance is left to it"
    );
}

/// Whether lines of the console may have colours.
fn has_colours() -> bool {
    std::io::stderr().is_terminal()
}

static INSTALLED: OnceLock<Arc<Log>> = OnceLock::new();

#[cfg(test)]
mod tests;
