//! Why there is no provider: what was asked of whom, what came back, and since when.

use std::{fmt, sync::Arc, time::Duration};

use dubbo_core::{
    cluster::Node, registry::RegistryError, service::ServiceKey, status::Status, url::Url,
};
use tokio::time::Instant;

/// The error of a call for which there is nobody. No handler has seen it.
pub(super) fn no_provider(service: &ServiceKey, why: &dyn fmt::Display) -> Status {
    Status::unavailable(format!("no provider available for {service}: {why}")).not_processed()
}

/// Why none of `nodes` can be called, all of which are out of reach.
pub(super) fn none_available(origin: &str, nodes: &[Node]) -> String {
    let reasons = nodes.iter().map(|node| {
        let invoker = &node.invoker;
        invoker
            .why_unavailable()
            .unwrap_or_else(|| named(invoker.url()))
    });
    format!(
        "none of {} from {origin} can be reached: {}",
        nodes.len(),
        some_of(reasons)
    )
}

/// What messages call the provider at `url`.
pub(super) fn named(url: &Url) -> String {
    format!("{}://{}", url.protocol(), url.address())
}

/// What a directory has been told by its registry, kept for the day when somebody asks.
#[derive(Debug, Clone)]
pub(super) struct View {
    /// How many providers the registry listed last; `None` when it never answered.
    pub(super) listed: Option<usize>,
    /// Those of them that cannot be used.
    pub(super) skipped: Vec<Skipped>,
    /// Since when there is nobody to call.
    pub(super) empty_since: Instant,
    /// A provider that was there before.
    pub(super) last: Option<String>,
    /// Why the registry does not answer now.
    pub(super) failing: Option<Failing>,
    /// Whether the directory was closed.
    pub(super) closed: bool,
}

/// A provider that the registry lists and that cannot be used.
#[derive(Debug, Clone)]
pub(super) struct Skipped {
    /// Its protocol and address.
    pub(super) provider: String,
    /// What is wrong with it.
    pub(super) reason: String,
}

/// An outage of the registry.
#[derive(Debug, Clone)]
pub(super) struct Failing {
    pub(super) error: Arc<RegistryError>,
    pub(super) since: Instant,
}

impl View {
    /// Nothing was heard so far.
    pub(super) fn unanswered(now: Instant) -> Self {
        Self {
            listed: None,
            skipped: Vec::new(),
            empty_since: now,
            last: None,
            failing: None,
            closed: false,
        }
    }

    /// Why nobody can be called, when that is so.
    pub(super) fn explain(&self, registry: &str, now: Instant) -> String {
        if self.closed {
            return "the reference is closed".to_owned();
        }
        let mut why = match (self.listed, &self.last) {
            (None, _) => format!("{registry} has not answered yet"),
            (Some(0), None) => format!(
                "{registry} lists none, and has listed none for {}; check that a provider runs and is registered \
                 there under this interface, group and version",
                ago(now, self.empty_since)
            ),
            (Some(0), Some(last)) => format!(
                "{registry} has listed none for {}; the last one was {last}",
                ago(now, self.empty_since)
            ),
            (Some(listed), _) => format!(
                "{registry} lists {listed}, and none of them can be used: {}",
                self.skipped_text()
            ),
        };
        if let Some(Failing { error, since }) = &self.failing {
            let failing = format!("; it has been failing for {}: {error}", ago(now, *since));
            why.push_str(&failing);
        }
        why
    }

    fn skipped_text(&self) -> String {
        some_of(
            self.skipped
                .iter()
                .map(|skipped| format!("{} ({})", skipped.provider, skipped.reason)),
        )
    }
}

/// The first few, and how many more there are.
fn some_of(texts: impl ExactSizeIterator<Item = String>) -> String {
    let more = texts.len().saturating_sub(SHOWN);
    let shown = texts.take(SHOWN).collect::<Vec<_>>().join(", ");
    if more > 0 {
        format!("{shown} and {more} more")
    } else {
        shown
    }
}

fn ago(now: Instant, then: Instant) -> String {
    let tenths = now.duration_since(then).as_millis() / 100 * 100;
    format!(
        "{:?}",
        Duration::from_millis(u64::try_from(tenths).unwrap_or(u64::MAX))
    )
}

const SHOWN: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_says_who_was_asked_what_came_back_and_since_when() {
        let start = Instant::now();
        let now = start + Duration::from_millis(12_345);
        let unanswered = View::unanswered(start);
        let empty = View {
            listed: Some(0),
            ..unanswered.clone()
        };
        let failing = Failing {
            error: Arc::new(RegistryError::new("subscribe", "nacos://r:8848", "refused")),
            since: start + Duration::from_secs(2),
        };
        let skipped = |count: usize| View {
            listed: Some(count),
            skipped: (1..=count)
                .map(|n| Skipped {
                    provider: format!("dubbo://p:{n}"),
                    reason: "wanted `tri`".to_owned(),
                })
                .collect(),
            ..unanswered.clone()
        };
        for (view, want) in [
            (unanswered.clone(), "registry R has not answered yet"),
            (
                View {
                    failing: Some(failing.clone()),
                    ..unanswered.clone()
                },
                "registry R has not answered yet; it has been failing for 10.3s: subscribe at nacos://r:8848: refused",
            ),
            (
                empty.clone(),
                "registry R lists none, and has listed none for 12.3s; check that a provider runs and is registered \
                 there under this interface, group and version",
            ),
            (
                View {
                    last: Some("tri://p:1".to_owned()),
                    failing: Some(failing),
                    ..empty
                },
                "registry R has listed none for 12.3s; the last one was tri://p:1; it has been failing for 10.3s: \
                 subscribe at nacos://r:8848: refused",
            ),
            (
                skipped(1),
                "registry R lists 1, and none of them can be used: dubbo://p:1 (wanted `tri`)",
            ),
            (
                skipped(5),
                "registry R lists 5, and none of them can be used: dubbo://p:1 (wanted `tri`), dubbo://p:2 (wanted `tri`), \
                 dubbo://p:3 (wanted `tri`) and 2 more",
            ),
            (
                View {
                    closed: true,
                    ..unanswered.clone()
                },
                "the reference is closed",
            ),
        ] {
            assert_eq!(view.explain("registry R", now), want);
        }
    }
}
