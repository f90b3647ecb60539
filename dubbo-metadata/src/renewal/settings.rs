//! What the URL of a report says about renewing what is in it.

use std::time::Duration;

use dubbo_core::url::{Key, Url, UrlError};

use super::schedule::DAY;

/// The parameters of a report's URL, as dubbo-go has them and with Dubbo Java's spelling of the first one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Whether metadata is renewed at all. `cycle-report`, or `cycle.report`; default true.
    pub(crate) renews: bool,
    /// Whether what is published says when, so that it need not be renewed at once, and stale metadata is looked for when
    /// the instance has come. `metadata.renew-on-startup`, default true.
    pub(crate) on_startup: bool,
    /// Whether stale metadata is removed. `metadata.gc.enabled`, default true.
    pub(crate) collects: bool,
    /// How old stale metadata is. `metadata.gc.window`, 1 to 365 days, else 5.
    pub(crate) window: Duration,
}

impl Settings {
    /// Reads the URL of a report.
    ///
    /// # Errors
    ///
    /// A switch is neither `true` nor `false`.
    pub(crate) fn of(report: &Url) -> Result<Self, UrlError> {
        let renews = match report.param(CYCLE_REPORT.name) {
            Some(_) => report.get(&CYCLE_REPORT)?,
            None => report.get(&CYCLE_REPORT_OF_GO)?,
        };
        Ok(Self {
            renews,
            on_startup: report.get(&ON_STARTUP)?,
            collects: report.get(&COLLECTS)?,
            window: DAY * window(report.param(WINDOW)),
        })
    }
}

/// As dubbo-go reads it: what is no number of days that can be meant is the default.
fn window(days: Option<&str>) -> u32 {
    let Some(text) = days.filter(|days| !days.is_empty()) else {
        return DEFAULT_WINDOW;
    };
    if let Ok(days @ 1..=365) = text.trim().parse() {
        return days;
    }
    tracing::warn!(
        "`{WINDOW}` of a metadata report is {text:?}, which is not 1 to 365 days; {DEFAULT_WINDOW} are taken"
    );
    DEFAULT_WINDOW
}

const CYCLE_REPORT: Key<bool> = switch("cycle-report");
const CYCLE_REPORT_OF_GO: Key<bool> = switch("cycle.report");
const ON_STARTUP: Key<bool> = switch("metadata.renew-on-startup");
const COLLECTS: Key<bool> = switch("metadata.gc.enabled");
const WINDOW: &str = "metadata.gc.window";
const DEFAULT_WINDOW: u32 = 5;

const fn switch(name: &'static str) -> Key<bool> {
    Key {
        name,
        default: || true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str) -> Result<Settings, UrlError> {
        Settings::of(&format!("memory://here?{query}").parse().expect(query))
    }

    #[test]
    fn each_switch_is_on_until_it_is_turned_off() {
        for (query, want) in [
            ("", [true, true, true]),
            ("cycle-report=false", [false, true, true]),
            ("cycle.report=false", [false, true, true]),
            ("cycle-report=true&cycle.report=false", [true, true, true]),
            ("metadata.renew-on-startup=false", [true, false, true]),
            ("metadata.gc.enabled=false", [true, true, false]),
        ] {
            let settings = of(query).expect(query);
            let Settings {
                renews,
                on_startup,
                collects,
                ..
            } = settings;
            assert_eq!([renews, on_startup, collects], want, "{query}");
        }
        let error = of("cycle-report=maybe").expect_err("neither").to_string();
        assert!(
            error.contains("cycle-report") && error.contains("maybe"),
            "{error}"
        );
    }

    #[test]
    fn the_window_is_one_to_365_days_else_five() {
        for (text, want) in [
            ("", 5),
            ("1", 1),
            ("30", 30),
            ("365", 365),
            ("0", 5),
            ("366", 5),
            ("-1", 5),
            ("a week", 5),
        ] {
            let settings = of(&format!("metadata.gc.window={text}")).expect(text);
            assert_eq!(settings.window, Duration::from_hours(24) * want, "{text}");
        }
    }
}
