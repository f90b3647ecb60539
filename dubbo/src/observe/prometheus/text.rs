//! Numbers as Prometheus reads them, and which of them are made of others (`docs/spec/config.md` §5.2).

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
};

use tokio::time::Instant;

use super::{
    cells::{Summary, Times},
    recorder::{Cells, Family},
    window::Window,
};

/// One of the numbers of a summary.
type Part = fn(&Summary) -> f64;

/// A page, as it is written.
pub(super) struct Page {
    text: String,
    window: Window,
    now: Instant,
    helps: HashMap<String, String>,
}

impl Page {
    pub(super) fn new(window: Window, now: Instant, helps: HashMap<String, String>) -> Self {
        Self {
            text: String::new(),
            window,
            now,
            helps,
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// Writes all numbers of one name, and what is made of them.
    pub(super) fn family(&mut self, name: &str, family: &Family) {
        let (window, now) = (self.window, self.now);
        match family {
            Family::Counts(cells) => {
                self.all(name, "counter", cells, |cell| Some(cell.get()));
                if !is_windowed(name) {
                    return;
                }
                if window.aggregates {
                    let name = format!("{name}_aggregate");
                    self.all(&name, "gauge", cells, |cell| {
                        Some(cell.recent(now, window).0)
                    });
                }
                if let Some(side) = name.strip_suffix("_requests_total") {
                    self.all(&format!("{side}_qps_total"), "gauge", cells, |cell| {
                        let (count, time) = cell.recent(now, window);
                        Some(a_second(count, time.as_secs_f64()))
                    });
                }
            }
            Family::Levels(cells) => self.all(name, "gauge", cells, |cell| Some(cell.get())),
            Family::Times(cells) => match name.strip_suffix("_rt_milliseconds") {
                Some(of) => self.times(of, cells),
                None => self.summaries(name, cells),
            },
        }
    }

    /// What something took, as Dubbo has it: many gauges.
    fn times(&mut self, of: &str, cells: &Cells<Times>) {
        let (window, aggregates) = (self.window, self.window.aggregates);
        let since: [(&str, Part); 4] = [
            ("sum", |all| all.sum),
            ("min", |all| all.least),
            ("max", |all| all.most),
            ("avg", |all| all.average),
        ];
        for (what, get) in since {
            let name = format!("{of}_rt_milliseconds_{what}");
            self.all(&name, "gauge", cells, |cell| Some(get(&cell.total())));
        }
        let name = format!("{of}_rt_milliseconds_last");
        self.all(&name, "gauge", cells, |cell| Some(cell.last()));
        if !is_of_calls(of) {
            return;
        }
        for (what, get) in since.iter().skip(1).filter(|_| aggregates) {
            let name = format!("{of}_rt_{what}_milliseconds_aggregate");
            self.all(&name, "gauge", cells, |cell| {
                Some(get(&cell.recent(window, []).0))
            });
        }
        for (what, quantile) in QUANTILES {
            let name = format!("{of}_rt_milliseconds_{what}");
            self.all(&name, "gauge", cells, |cell| {
                let (_, values) = cell.recent(window, [quantile]);
                values.map(|[value]| value)
            });
        }
    }

    /// What is measured and is not about calls.
    fn summaries(&mut self, name: &str, cells: &Cells<Times>) {
        self.head(name, "summary");
        for (labels, cell) in cells {
            let (_, values) = cell.recent(self.window, QUANTILES.map(|(_, quantile)| quantile));
            for ((_, quantile), value) in QUANTILES.iter().zip(values.into_iter().flatten()) {
                let comma = if labels.is_empty() { "" } else { "," };
                let labels = format!("{labels}{comma}quantile=\"{quantile}\"");
                self.line(name, &labels, value);
            }
            let all = cell.total();
            self.line(&format!("{name}_sum"), labels, all.sum);
            self.line(&format!("{name}_count"), labels, all.count);
        }
    }

    /// Writes what there is to write of each cell.
    fn all<T, V: std::fmt::Display>(
        &mut self,
        name: &str,
        kind: &str,
        cells: &BTreeMap<String, T>,
        value: impl Fn(&T) -> Option<V>,
    ) {
        self.head(name, kind);
        for (labels, cell) in cells {
            if let Some(value) = value(cell) {
                self.line(name, labels, value);
            }
        }
    }

    fn head(&mut self, name: &str, kind: &str) {
        if let Some(help) = self.helps.get(name) {
            let help = help.replace('\\', "\\\\").replace('\n', "\\n");
            let _ = writeln!(self.text, "# HELP {name} {help}");
        }
        let _ = writeln!(self.text, "# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = if labels.is_empty() {
            writeln!(self.text, "{name} {value}")
        } else {
            writeln!(self.text, "{name}{{{labels}}} {value}")
        };
    }
}

/// Whether the last minutes of a count are shown beside it.
pub(super) fn is_windowed(name: &str) -> bool {
    ["dubbo_provider_requests_", "dubbo_consumer_requests_"]
        .iter()
        .any(|of| name.starts_with(of))
}

/// Whether something that takes time is a call.
fn is_of_calls(of: &str) -> bool {
    matches!(
        of,
        "dubbo_provider" | "dubbo_consumer" | "dubbo_consumer_attempt"
    )
}

/// Whether a number is one of those that dubbo-go has for a whole application.
pub(super) fn is_of_application(name: &str) -> bool {
    ["dubbo_metadata_push_num_", "dubbo_metadata_store_provider_"]
        .iter()
        .any(|of| name.starts_with(of))
        || matches!(
            name,
            "dubbo_push_rt_milliseconds" | "dubbo_store_provider_interface_rt_milliseconds"
        )
}

/// Whether a number is about metadata, and so of those that `metrics.enable-metadata` is about.
pub(super) fn is_of_metadata(name: &str) -> bool {
    [
        "dubbo_metadata_",
        "dubbo_mapping_",
        "dubbo_push_rt_",
        "dubbo_store_provider_",
        "dubbo_subscribe_rt_",
    ]
    .iter()
    .any(|of| name.starts_with(of))
}

/// A name with what Prometheus does not take in names replaced.
pub(super) fn name(name: &str) -> String {
    sane(name, |c| {
        c.is_ascii_alphanumeric() || matches!(c, '_' | ':')
    })
    .into_owned()
}

/// The name of a label, likewise.
pub(super) fn label(name: &str) -> String {
    sane(name, |c| c.is_ascii_alphanumeric() || c == '_').into_owned()
}

/// Labels as they are written.
pub(super) fn labels(labels: &[(String, String)]) -> String {
    let written = labels.iter().map(|(name, value)| {
        let value = value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    });
    written.collect::<Vec<_>>().join(",")
}

fn sane(name: &str, allowed: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_sane = name.chars().all(&allowed) && !name.starts_with(|c: char| c.is_ascii_digit());
    if is_sane && !name.is_empty() {
        return Cow::Borrowed(name);
    }
    let first = name.chars().next().filter(|c| !c.is_ascii_digit());
    let before = if first.is_none() { "_" } else { "" };
    let rest = name.chars().map(|c| if allowed(c) { c } else { '_' });
    Cow::Owned(before.chars().chain(rest).collect())
}

#[expect(clippy::cast_precision_loss, reason = "nobody reads that many digits")]
fn a_second(count: u64, seconds: f64) -> f64 {
    // What has just begun has no rate yet.
    if seconds < 1e-3 {
        0.0
    } else {
        count as f64 / seconds
    }
}

const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)];
