//! How the providers of a subscription were found, step by step, and why there are none.

use std::{collections::BTreeSet, sync::Arc};

use dubbo_core::{explain::Step, registry::RegistryError};

use super::{
    request::Request,
    view::{AppState, Serving},
};
use crate::{consumer::store::Metadata, mapping::resolver::Resolution};

/// What was seen on the way.
pub(super) struct Seen<'a> {
    pub(super) request: &'a Request,
    pub(super) resolution: &'a Resolution,
    /// The applications that are looked at, by name.
    pub(super) apps: Vec<(&'a str, Arc<AppState>)>,
    /// What is served of the interface and was not asked for: match keys.
    pub(super) instead: BTreeSet<&'a str>,
    /// How often an instance has no port for what was asked for.
    pub(super) portless: usize,
    /// How many providers are left.
    pub(super) providers: usize,
}

impl Seen<'_> {
    /// All steps, in their order.
    pub(super) fn steps(&self) -> Vec<Step> {
        vec![
            self.mapping(),
            self.instances(),
            self.metadata(),
            self.matching(),
        ]
    }

    /// Whether there may be providers that nobody here has seen.
    pub(super) fn is_uncertain(&self) -> bool {
        self.resolution.is_uncertain || self.apps.iter().any(|(_, app)| app.is_uncertain())
    }

    /// Why the registry does not answer now, if so. That it fails for some applications only is no outage.
    pub(super) fn outage(&self) -> Option<&Arc<RegistryError>> {
        let followed = self.apps.iter().filter(|(_, app)| app.refused.is_none());
        let mut failing = followed.map(|(_, app)| app.failing.as_ref());
        let first = failing.next()??;
        failing.all(|failing| failing.is_some()).then_some(first)
    }

    /// The error of having no provider because something is not known: what that is, and the steps as far as they lead.
    pub(super) fn pending(&self, steps: &[Step], registry: &str) -> RegistryError {
        let end = steps.iter().position(Step::is_empty);
        let steps = end.map_or(steps, |end| &steps[..=end]);
        RegistryError::new(format!("find {}", self.request), registry, self.unknown())
            .with_steps(steps)
    }

    /// The first that is not known, and the last reason for it.
    fn unknown(&self) -> String {
        let because = |cause: Option<String>| cause.map_or_else(String::new, |c| format!(": {c}"));
        if self.resolution.is_uncertain {
            let cause = because(self.resolution.failing.clone());
            return format!("who provides it is not known yet{cause}");
        }
        let is_unlisted = |app: &AppState| !app.listed && app.refused.is_none();
        if let Some((name, app)) = self.apps.iter().find(|(_, app)| is_unlisted(app)) {
            let cause = because(app.failing.as_ref().map(ToString::to_string));
            return format!("the instances of {name} are not known yet{cause}");
        }
        let revisions = self
            .apps
            .iter()
            .flat_map(|(name, app)| app.revisions.iter().map(move |revision| (name, revision)));
        let mut unknown = revisions.filter(|(_, one)| !matches!(one.metadata, Metadata::Ready(_)));
        let Some((name, revision)) = unknown.next() else {
            return "something is not known yet".to_owned();
        };
        let cause = because(revision.error().and_then(|error| error.last()));
        let revision = &revision.revision;
        format!("what {name} serves at revision {revision} is not known yet{cause}")
    }

    fn mapping(&self) -> Step {
        let mapped = &self.resolution.applications;
        let unmapped = self
            .apps
            .iter()
            .filter(|(name, _)| !mapped.iter().any(|mapped| mapped == name))
            .map(|(name, _)| (*name).to_owned());
        let mut evidence = self.resolution.evidence.clone();
        let unmapped = some_of(unmapped);
        if !unmapped.is_empty() {
            evidence.push_str("; still looked at, though not named any more: ");
            evidence.push_str(&unmapped);
        }
        Step::leaving("mapping", evidence, self.apps.len())
    }

    fn instances(&self) -> Step {
        let evidence = self.apps.iter().map(|(name, app)| {
            if let Some(error) = &app.refused {
                return format!(
                    "{name:?} is left out, because this registry cannot have it: {error}"
                );
            }
            let mut text = match (app.listed, app.instances.len()) {
                (false, _) => format!("those of {name} are not known yet"),
                (true, 0) => format!("{name} has none"),
                (true, count) => format!("{name} has {count}"),
            };
            if app.disabled > 0 {
                text = format!("{text} and {} that want no calls", app.disabled);
            }
            for (filter, count) in &app.left_out {
                text = format!("{text}; the filter `{filter}` took out {count}");
            }
            if let Some(error) = &app.failing {
                text = format!("{text}; the registry fails: {error}");
            }
            text
        });
        let evidence = some_of(evidence);
        Step::leaving(
            "instances",
            or_nothing(evidence),
            self.apps.iter().map(|(_, app)| app.instances.len()).sum(),
        )
    }

    fn metadata(&self) -> Step {
        let revisions = || {
            self.apps
                .iter()
                .flat_map(|(name, app)| app.revisions.iter().map(move |revision| (name, revision)))
        };
        let is_known = |metadata: &Metadata| matches!(metadata, Metadata::Ready(_));
        let all = revisions().count();
        let known = revisions().filter(|(_, r)| is_known(&r.metadata)).count();
        let unknown = revisions()
            .filter(|(_, revision)| !is_known(&revision.metadata))
            .map(|(name, revision)| {
                let why = match revision.error() {
                    Some(error) => format!("cannot be fetched: {error}"),
                    None => "is being fetched".to_owned(),
                };
                format!(
                    "revision {} of {name} ({}) {why}",
                    revision.revision,
                    counted(revision.instances, "instance")
                )
            });
        let mut evidence = match all {
            0 => "no instance has any".to_owned(),
            _ if known == all => format!("{} known", counted(known, "revision")),
            _ => format!(
                "{known} of {} known; {}",
                counted(all, "revision"),
                some_of(unknown)
            ),
        };
        let nothing = self.count(|serving| serving.nothing);
        if nothing > 0 {
            evidence = format!(
                "{evidence}; {} without services",
                counted(nothing, "instance")
            );
        }
        let stale = self.count(|serving| serving.stale);
        if stale > 0 {
            let stale = counted(stale, "instance");
            evidence = format!("{evidence}; {stale} taken for what they served before");
        }
        let left = self.count(|serving| serving.known + serving.stale);
        Step::leaving("metadata", evidence, left)
    }

    fn matching(&self) -> Step {
        let request = self.request;
        let mut evidence = match self.providers {
            0 if self.portless > 0 => request.to_string(),
            0 => format!("none serves {request}"),
            providers => format!("{request} is served in {}", counted(providers, "place")),
        };
        if self.portless > 0 {
            evidence = format!(
                "{evidence}; {} without a port for it",
                counted(self.portless, "instance")
            );
        }
        if self.providers == 0 && !self.instead.is_empty() {
            let instead = some_of(self.instead.iter().map(|key| (*key).to_owned()));
            evidence = format!("{evidence}; there is {instead}");
        }
        Step::leaving("matching", evidence, self.providers)
    }

    fn count(&self, which: impl Fn(&Serving) -> usize) -> usize {
        self.apps.iter().map(|(_, app)| which(&app.serving)).sum()
    }
}

/// The first few, and how many more there are.
fn some_of(texts: impl Iterator<Item = String>) -> String {
    let mut texts = texts;
    let shown: Vec<_> = texts.by_ref().take(SHOWN).collect();
    let more = texts.count();
    let shown = shown.join(", ");
    if more > 0 {
        format!("{shown} and {more} more")
    } else {
        shown
    }
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

fn or_nothing(evidence: String) -> String {
    if evidence.is_empty() {
        "there is no application to look at".to_owned()
    } else {
        evidence
    }
}

const SHOWN: usize = 3;
