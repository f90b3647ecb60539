use std::fs;

use tracing::{debug, debug_span, error, info, trace, warn};

use super::{file::tests::Folder, *};
use crate::config::{LogAppender, LogFileConfig, LogFormat, LogTraceConfig};

/// A log in a file alone, which those of the test write.
struct Written {
    folder: Folder,
    log: Arc<Log>,
}

impl Written {
    fn new(config: LoggerConfig) -> (Self, tracing::subscriber::DefaultGuard) {
        let folder = Folder::new();
        let config = in_file(&folder, "app.log", config);
        let output = Output::open(&config).expect("it can be opened");
        let log = Arc::new(Log::new(&config, output));
        let subscriber = Registry::default().with(Arc::clone(&log).layer());
        let guard = tracing::subscriber::set_default(subscriber);
        (Self { folder, log }, guard)
    }

    fn text(&self, name: &str) -> String {
        assert!(self.log.flush(Duration::from_secs(20)));
        fs::read_to_string(self.folder.path().join(name)).expect("text")
    }
}

fn in_file(folder: &Folder, name: &str, config: LoggerConfig) -> LoggerConfig {
    let file = LogFileConfig::new().name(folder.path().join(name));
    config.appender(vec![LogAppender::File]).file(file)
}

fn say_all(what: &str) {
    trace!(what, "of trace");
    debug!(what, "of debug");
    info!(what, "of info");
    warn!(what, "of warn");
    error!(what, "of error");
}

#[test]
fn the_level_can_be_changed_while_events_come() {
    let (written, _guard) = Written::new(LoggerConfig::new());
    assert_eq!(written.log.level(), LogLevel::Info);
    for (level, what, lines) in [
        (None, "a", 3),
        (Some(LogLevel::Debug), "b", 4),
        (Some(LogLevel::Error), "c", 1),
        (Some(LogLevel::Trace), "d", 5),
        (Some(LogLevel::Warn), "e", 2),
        (Some(LogLevel::Info), "f", 3),
    ] {
        if let Some(level) = level {
            written.log.set_level(level);
            assert_eq!(written.log.level(), level);
            assert_eq!(written.log.current().level, Some(level));
        }
        say_all(what);
        let text = written.text("app.log");
        let found = text
            .lines()
            .filter(|line| line.ends_with(&format!(" what={what}")));
        assert_eq!(found.count(), lines, "{level:?}: {text}");
    }
}

#[test]
fn form_and_place_can_be_changed_while_events_come() {
    let (written, _guard) = Written::new(LoggerConfig::new());
    info!("one");
    let elsewhere = LoggerConfig::new()
        .format(LogFormat::Json)
        .level(LogLevel::Warn);
    let elsewhere = in_file(&written.folder, "other.log", elsewhere);
    written.log.change(&elsewhere).expect("it can be opened");
    assert_eq!(written.log.current(), elsewhere);
    info!("two");
    warn!("three");
    let text = written.text("other.log");
    assert!(
        text.contains(r#""msg":"three""#) && !text.contains("two"),
        "{text}"
    );
    let impossible = in_file(&written.folder, "other.log/app.log", LoggerConfig::new());
    let error = written
        .log
        .change(&impossible)
        .expect_err("a file is no folder");
    for part in ["other.log/app.log", "`dubbo.logger.file.name`"] {
        assert!(error.to_string().contains(part), "{part} in {error}");
    }
    warn!("four");
    assert!(
        written.text("other.log").contains("four"),
        "what was there before goes on"
    );
    let first = fs::read_to_string(written.folder.path().join("app.log")).expect("text");
    assert!(first.contains("one") && !first.contains("three"), "{first}");
}

#[test]
fn a_line_within_a_call_says_its_trace_where_that_is_asked_for() {
    for enabled in [false, true] {
        let traces = LogTraceConfig::new().enabled(enabled);
        let config = LoggerConfig::new()
            .trace_integration(traces)
            .format(LogFormat::Json);
        let (written, _guard) = Written::new(config);
        let call = debug_span!(
            "provider",
            trace_id = tracing::field::Empty,
            span_id = tracing::field::Empty,
            sampled = tracing::field::Empty
        );
        call.record("trace_id", "4bf92f3577b34da6a3ce929d0e0e4736");
        call.record("span_id", "00f067aa0ba902b7");
        call.record("sampled", true);
        call.in_scope(|| debug_span!("of the program").in_scope(|| info!("within")));
        info!("outside");
        let text = written.text("app.log");
        let [within, outside] = &text.lines().collect::<Vec<_>>()[..] else {
            panic!("two lines: {text}");
        };
        for part in [
            r#""trace_id":"4bf92f3577b34da6a3ce929d0e0e4736""#,
            r#""span_id":"00f067aa0ba902b7""#,
            r#""trace_flags":"01""#,
        ] {
            assert_eq!(within.contains(part), enabled, "{part} in {within}");
        }
        assert!(!outside.contains("trace_id"), "{outside}");
    }
}
