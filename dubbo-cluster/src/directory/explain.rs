//! Why there is no provider: what was asked of whom, what came back, and since when.

use std::{fmt, sync::Arc, time::Duration};

use dubbo_core::{
    cluster::{Candidates, Node, NodeList},
    explain::Step,
    invocation::Invocation,
    registry::RegistryError,
    service::ServiceKey,
    status::Status,
    url::Url,
};
use tokio::time::Instant;

use crate::router::RouterChain;

/// The error of a call for which there is nobody. No handler has seen it.
pub(super) fn no_provider(service: &ServiceKey, why: &dyn fmt::Display) -> Status {
    Status::unavailable(format!("no provider available for {service}: {why}")).not_processed()
}

/// Why none of `nodes` can be called, all of which are out of reach.
pub(super) fn none_available(origin: &str, nodes: &[Node]) -> String {
    format!(
        "none of {} from {origin} can be reached: {}",
        nodes.len(),
        some_of(nodes.iter().map(why))
    )
}

/// The steps from `nodes` to those that can be called now: what `routers` leave for `call` of `consumer`, and who of them
/// can be reached.
pub(super) fn callable(
    nodes: &Arc<NodeList>,
    routers: &RouterChain,
    consumer: &Url,
    call: &Invocation,
) -> Vec<Step> {
    let mut left = Candidates::all(Arc::clone(nodes));
    let mut steps = routers.explain(&mut left, consumer, call);
    // Whom routers have left out nobody has to reach.
    if !left.is_empty() || nodes.is_empty() {
        steps.push(available(&left));
    }
    steps
}

fn available(nodes: &Candidates) -> Step {
    let (up, down): (Vec<_>, Vec<_>) = nodes.iter().partition(|node| node.invoker.is_available());
    let evidence = if down.is_empty() {
        format!("all of {} can be reached", nodes.len())
    } else {
        let reasons = some_of(down.iter().copied().map(why));
        format!(
            "{} of {} cannot be reached: {reasons}",
            down.len(),
            nodes.len()
        )
    };
    Step::leaving("available", evidence, up.len())
}

/// Why `node` cannot be called, or at least which it is.
fn why(node: &Node) -> String {
    let why = node.invoker.why_unavailable();
    why.unwrap_or_else(|| node.invoker.url().origin())
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
    /// How the list was found, where the registry has more to tell than the list.
    pub(super) steps: Arc<[Step]>,
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
            steps: Arc::default(),
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
        if let (None, Some(Failing { error, since })) = (self.listed, &self.failing) {
            return format!(
                "{registry} gives no list, for {}: {error}",
                ago(now, *since)
            );
        }
        let mut why = match (self.listed, &self.last) {
            (None, _) => format!("{registry} has not answered yet"),
            (Some(0), last) => {
                let since = ago(now, self.empty_since);
                let why = match last {
                    Some(last) => {
                        format!("{registry} has listed none for {since}; the last one was {last}")
                    }
                    None => format!("{registry} lists none, and has listed none for {since}"),
                };
                self.and_steps(why)
            }
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

    /// Adds where each road to providers became empty, or what to look at where the registry does not tell.
    fn and_steps(&self, mut why: String) -> String {
        if self.steps.is_empty() {
            if self.last.is_none() {
                why.push_str(
                    "; check that a provider runs and is registered there under this interface, group and version",
                );
            }
            return why;
        }
        let mut was_empty = false;
        for step in self.steps.iter() {
            // What comes after nothing is nothing. Another road to providers begins with something again.
            let is_empty = step.is_empty();
            if !(was_empty && is_empty) {
                why = format!("{why}; {step}");
            }
            was_empty = is_empty;
        }
        why
    }

    /// The steps up to the providers that can be used, of which there are `usable`.
    pub(super) fn steps(&self, registry: &str, usable: usize, now: Instant) -> Vec<Step> {
        let mut steps = match (&self.failing, self.listed) {
            // It answers, and what it says does not lead to a list.
            (Some(Failing { error, .. }), _) if !error.steps.is_empty() => {
                answering(registry, &error.steps)
            }
            (Some(Failing { error, since }), listed) => {
                let since = ago(now, *since);
                let evidence = format!("{registry} has been failing for {since}: {error}");
                vec![match listed {
                    Some(_) => Step::new("registry", evidence),
                    None => Step::leaving("registry", evidence, 0),
                }]
            }
            (None, None) => {
                let evidence = format!("{registry} has not answered yet");
                vec![Step::leaving("registry", evidence, 0)]
            }
            (None, Some(_)) => answering(registry, &self.steps),
        };
        let Some(listed) = self.listed else {
            return steps;
        };
        if self.failing.is_some() {
            let evidence = format!("the list from before stays, {usable} of {listed}");
            steps.push(Step::leaving("usable", evidence, usable));
            return steps;
        }
        let evidence = match self.skipped.len() {
            0 => format!("{listed} listed"),
            _ => format!("{listed} listed, without {}", self.skipped_text()),
        };
        steps.push(Step::leaving("usable", evidence, usable));
        steps
    }

    fn skipped_text(&self) -> String {
        some_of(
            self.skipped
                .iter()
                .map(|skipped| format!("{} ({})", skipped.provider, skipped.reason)),
        )
    }
}

/// The steps that begin with a registry that answers. One that has more to say about that says it itself.
fn answering(registry: &str, steps: &[Step]) -> Vec<Step> {
    if steps.first().is_some_and(|first| first.name == "registry") {
        return steps.to_vec();
    }
    let answers = Step::new("registry", format!("{registry} answers"));
    [answers].into_iter().chain(steps.iter().cloned()).collect()
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
                "registry R gives no list, for 10.3s: subscribe at nacos://r:8848: refused",
            ),
            (
                empty.clone(),
                "registry R lists none, and has listed none for 12.3s; check that a provider runs and is registered \
                 there under this interface, group and version",
            ),
            (
                View {
                    steps: [
                        Step::leaving("mapping", "a.B is provided by app", 1),
                        Step::leaving("instances", "app has none", 0),
                        Step::leaving("matching", "none", 0),
                    ]
                    .into(),
                    ..empty.clone()
                },
                "registry R lists none, and has listed none for 12.3s; mapping: a.B is provided by app -> 1; instances: \
                 app has none -> 0",
            ),
            (
                View {
                    steps: [
                        Step::leaving("mapping", "a.B is provided by app", 1),
                        Step::leaving("instances", "app has none", 0),
                        Step::leaving("matching", "none", 0),
                        Step::leaving("listed", "1 of a.B", 1),
                        Step::leaving("matching", "the group is g", 0),
                        Step::leaving("enabled", "none", 0),
                    ]
                    .into(),
                    ..empty.clone()
                },
                "registry R lists none, and has listed none for 12.3s; mapping: a.B is provided by app -> 1; instances: \
                 app has none -> 0; listed: 1 of a.B -> 1; matching: the group is g -> 0",
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

    #[test]
    fn that_a_registry_answers_is_said_once() {
        let registered = Step::leaving("registered", "nobody", 0);
        let own = Step::new("registry", "R answers, but for one list");
        for (steps, want) in [
            (vec![registered.clone()], "registry: registry R answers"),
            (
                vec![own, registered],
                "registry: R answers, but for one list",
            ),
        ] {
            let said = answering("registry R", &steps);
            let said: Vec<_> = said.iter().map(Step::to_string).collect();
            assert_eq!(said, [want, "registered: nobody -> 0"]);
        }
    }
}
