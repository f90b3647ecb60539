//! One line of a log, as text for people and as JSON, with the names that dubbo-go's zap gives (`docs/spec/config.md` §5.5).

use std::{
    error::Error,
    fmt::{self, Write as _},
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Map, Value};
use tracing::{
    Event, Level,
    field::{Field, Visit},
};

use super::layer::Trace;

/// What a line says.
pub(super) struct Line {
    level: Level,
    at: SystemTime,
    /// The last folder and the name of the file, with the line in it.
    place: String,
    target: String,
    message: String,
    fields: Vec<(&'static str, Value)>,
    pub(super) trace: Option<Trace>,
}

impl Line {
    pub(super) fn of(event: &Event<'_>, at: SystemTime) -> Self {
        let metadata = event.metadata();
        let mut line = Self {
            level: *metadata.level(),
            at,
            place: place(metadata.file(), metadata.line()),
            target: metadata.target().to_owned(),
            message: String::new(),
            fields: Vec::new(),
            trace: None,
        };
        event.record(&mut line);
        line
    }

    /// A warning of the log itself.
    pub(super) fn warning(message: String, at: SystemTime) -> Self {
        Self {
            level: Level::WARN,
            at,
            place: place(Some(file!()), Some(line!())),
            target: module_path!().to_owned(),
            message,
            fields: Vec::new(),
            trace: None,
        }
    }

    /// Four columns with tabs between them: time, level, place, and what is said. Nothing in it begins another line.
    pub(super) fn text(&self, has_colours: bool) -> String {
        let mut text = String::with_capacity(160);
        let level = self.level.as_str();
        let (begin, end) = if has_colours {
            (colour(self.level), "\x1b[0m")
        } else {
            ("", "")
        };
        let time = time(self.at);
        // Texts cannot fail to be written.
        let _ = write!(
            text,
            "{time}\t{begin}{level}{end}\t{}\t[{}] ",
            self.place, self.target
        );
        put_plain(&mut text, &self.message);
        for (name, value) in &self.fields {
            let _ = write!(text, " {name}=");
            match value {
                Value::String(value) => put_plain(&mut text, value),
                other => drop(write!(text, "{other}")),
            }
        }
        for (name, value) in self.trace.iter().flat_map(of_trace) {
            let _ = write!(text, " {name}=");
            put_plain(&mut text, value);
        }
        text.push('\n');
        text
    }

    /// One object.
    pub(super) fn json(&self) -> String {
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| {
            // What an event calls like one of ours is said beside it.
            let name = if object.contains_key(name) {
                format!("field.{name}")
            } else {
                name.to_owned()
            };
            object.insert(name, value);
        };
        put("level", self.level.as_str().into());
        put("time", time(self.at).into());
        put("line", self.place.as_str().into());
        put("target", self.target.as_str().into());
        put("msg", self.message.as_str().into());
        for (name, value) in self.trace.iter().flat_map(of_trace) {
            put(name, value.into());
        }
        for (name, value) in &self.fields {
            put(name, value.clone());
        }
        let mut text = Value::Object(object).to_string();
        text.push('\n');
        text
    }

    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        match field.name() {
            "message" => {
                let value = value.into();
                self.message = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
            }
            name => self.fields.push((name, value.into())),
        }
    }
}

impl Visit for Line {
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        match i64::try_from(value) {
            Ok(value) => self.put(field, value),
            Err(_) => self.put(field, value.to_string()),
        }
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        match u64::try_from(value) {
            Ok(value) => self.put(field, value),
            Err(_) => self.put(field, value.to_string()),
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        if value.is_finite() {
            self.put(field, value);
        } else {
            self.put(field, value.to_string());
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.put(field, value.to_string());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}"));
    }
}

/// As OpenTelemetry's flags are written: 01 for a trace that is recorded.
fn of_trace(trace: &Trace) -> impl Iterator<Item = (&'static str, &str)> {
    let flags = match trace.is_sampled {
        Some(true) => "01",
        Some(false) => "00",
        None => "",
    };
    let all = [
        ("trace_id", trace.id.as_str()),
        ("span_id", &trace.span_id),
        ("trace_flags", flags),
    ];
    all.into_iter().filter(|(_, value)| !value.is_empty())
}

/// Writes `words` without anything that a terminal or a reader of lines obeys.
fn put_plain(text: &mut String, words: &str) {
    for character in words.chars() {
        if character.is_control() {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
    }
}

fn place(file: Option<&str>, line: Option<u32>) -> String {
    let Some(file) = file else {
        return "?".to_owned();
    };
    let mut parts = file.rsplitn(3, ['/', '\\']);
    let (name, folder) = (parts.next().unwrap_or(file), parts.next());
    let line = line.unwrap_or_default();
    match folder {
        Some(folder) => format!("{folder}/{name}:{line}"),
        None => format!("{name}:{line}"),
    }
}

/// In UTC, which needs no table of time zones: `2026-03-01 23:59:07`.
pub(crate) fn time(at: SystemTime) -> String {
    let seconds = at
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (days, second) = (seconds / DAY, seconds % DAY);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// Year, month and day of the day that comes so many days after 1970-01-01.
pub(super) fn date(days: u64) -> (u64, u64, u64) {
    // Years that begin in March end with the day that some of them have not; 400 of them are alike.
    let days = days + DAYS_BEFORE_1970;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1460 + day / 36524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + next, month, day)
}

/// As zap's console has them; what is less than zap knows is cyan.
fn colour(level: Level) -> &'static str {
    match level {
        Level::ERROR => "\x1b[31m",
        Level::WARN => "\x1b[33m",
        Level::INFO => "\x1b[34m",
        Level::DEBUG => "\x1b[35m",
        Level::TRACE => "\x1b[36m",
    }
}

pub(super) const DAY: u64 = 24 * 3600;

/// From March 1 of the year 0 on.
const DAYS_BEFORE_1970: u64 = 719_468;

const DAYS_OF_400_YEARS: u64 = 146_097;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn line(message: &str, fields: Vec<(&'static str, Value)>) -> Line {
        Line {
            level: Level::INFO,
            at: UNIX_EPOCH + Duration::from_secs(1_772_409_547),
            place: place(Some("dubbo/src/instance/export.rs"), Some(47)),
            target: "dubbo::instance".to_owned(),
            message: message.to_owned(),
            fields,
            trace: None,
        }
    }

    #[test]
    fn a_day_is_counted_as_calendars_do() {
        for (days, want) in [
            (0, (1970, 1, 1)),
            (58, (1970, 2, 28)),
            (59, (1970, 3, 1)),
            (789, (1972, 2, 29)),
            (10_956, (1999, 12, 31)),
            (11_016, (2000, 2, 29)),
            (20_513, (2026, 3, 1)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ] {
            assert_eq!(date(days), want, "{days}");
        }
    }

    #[test]
    fn a_text_has_four_columns_and_is_one_line_whatever_is_in_it() {
        let fields = vec![("n", Value::from(7)), ("who", Value::from("a\nb\x1b[0m"))];
        let line = line("hello\tyou", fields);
        let want = "2026-03-01 23:59:07\tINFO\tinstance/export.rs:47\t[dubbo::instance] hello\\tyou n=7 who=a\\nb\\u{1b}[0m\n";
        assert_eq!(line.text(false), want);
        assert!(line.text(true).contains("\t\x1b[34mINFO\x1b[0m\t"));
    }

    #[test]
    fn an_object_has_the_names_of_zap_and_none_of_them_twice() {
        let fields = vec![("n", Value::from(7)), ("level", Value::from("own"))];
        let mut line = line("hello", fields);
        line.trace = Some(Trace {
            id: "4bf92f3577b34da6a3ce929d0e0e4736".to_owned(),
            span_id: "00f067aa0ba902b7".to_owned(),
            is_sampled: Some(true),
        });
        let object: Value = serde_json::from_str(&line.json()).expect("JSON");
        let want = serde_json::json!({
            "level": "INFO", "time": "2026-03-01 23:59:07", "line": "instance/export.rs:47",
            "target": "dubbo::instance", "msg": "hello", "n": 7, "field.level": "own",
            "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "span_id": "00f067aa0ba902b7", "trace_flags": "01",
        });
        assert_eq!(object, want);
    }
}
