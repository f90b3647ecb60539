//! The migration of one reference as a state machine: no clock, no registry.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    MigrationStep, Path,
    compare::{Comparators, Comparison, Verdict},
    evidence::Evidence,
    path::Both,
    terms::Agreed,
    traffic::Failures,
};

/// Which step a reference is in, which it is to be in, and which path takes its calls.
#[derive(Debug)]
pub(super) struct Machine {
    comparators: Comparators,
    in_force: Agreed,
    wanted: Option<Wanted>,
    preferred: Preferred,
}

/// A forced step that is not taken yet.
#[derive(Debug)]
struct Wanted {
    terms: Agreed,
    /// When it is looked at for the first time.
    due: Instant,
    /// Why it could not be taken when it was looked at.
    refused: Option<String>,
}

/// The path that calls go by while both are followed.
#[derive(Debug)]
struct Preferred {
    /// `None` until the paths have been compared.
    path: Option<Path>,
    /// Whether both had answered when they were compared: only then it takes time to go back.
    settled: bool,
    /// Since when the comparison says to go back.
    failing_since: Option<Instant>,
    why: String,
}

/// What is known of the paths. One that is not followed yet has no evidence.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen<'s> {
    pub(super) evidence: Both<Option<&'s Evidence>>,
    pub(super) failures: Both<Failures>,
}

/// A change of the step, or a refusal of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StepChange {
    /// `None` for the first step of all.
    pub(super) origin: Option<MigrationStep>,
    pub(super) new: MigrationStep,
    pub(super) success: bool,
    pub(super) why: String,
}

impl Machine {
    /// A reference that begins with these terms, whatever they are: there is nothing to move from.
    pub(super) fn start(terms: Agreed, comparators: Comparators) -> (Self, StepChange) {
        let change = StepChange {
            origin: None,
            new: terms.step,
            success: true,
            why: format!("{} says so", terms.said_by),
        };
        let machine = Self {
            comparators,
            in_force: terms,
            wanted: None,
            preferred: Preferred::unknown(),
        };
        (machine, change)
    }

    pub(super) fn in_force(&self) -> &Agreed {
        &self.in_force
    }

    /// The step that is to be taken, and why it was refused if it was.
    pub(super) fn wanted(&self) -> Option<(MigrationStep, Option<&str>)> {
        let wanted = self.wanted.as_ref()?;
        Some((wanted.terms.step, wanted.refused.as_deref()))
    }

    /// The path that calls go by as long as it has an address.
    pub(super) fn preferred(&self) -> Path {
        let favoured = self.in_force.favoured();
        if self.in_force.step.is_forced() {
            return favoured;
        }
        self.preferred.path.unwrap_or(favoured)
    }

    /// Why that path.
    pub(super) fn why(&self) -> &str {
        if self.in_force.step.is_forced() {
            "the step leaves no other"
        } else {
            &self.preferred.why
        }
    }

    /// Whether `path` is to be followed.
    pub(super) fn needs(&self, path: Path) -> bool {
        let wanted = self.wanted.as_ref();
        self.in_force.step.needs(path) || wanted.is_some_and(|wanted| wanted.terms.step.needs(path))
    }

    /// When it has to look again, although nothing may have changed.
    pub(super) fn next_look(&self, now: Instant) -> Option<Instant> {
        let wanted = self.wanted.as_ref().and_then(|wanted| {
            let moments = [wanted.due, wanted.due + wanted.terms.delay];
            moments.into_iter().find(|moment| *moment > now)
        });
        let back = self
            .preferred
            .failing_since
            .map(|since| since + GO_BACK_AFTER);
        let failures = self
            .comparators
            .errors
            .then(|| now + LOOK_AT_FAILURES_EVERY);
        [wanted, back, failures].into_iter().flatten().min()
    }

    /// Takes in new terms. What was to be done before them is not done any more.
    pub(super) fn want(&mut self, terms: Agreed, now: Instant) -> Option<StepChange> {
        let is_wanted = self.wanted.as_ref().map(|wanted| &wanted.terms);
        if is_wanted == Some(&terms) || (is_wanted.is_none() && self.in_force == terms) {
            return None;
        }
        self.wanted = None;
        if self.in_force.is_same_step(&terms) {
            self.in_force = terms;
            return None;
        }
        if terms.step.is_forced() && terms.step != self.in_force.step {
            self.wanted = Some(Wanted {
                due: now + terms.delay,
                terms,
                refused: None,
            });
            return None;
        }
        let why = format!("{} says so", terms.said_by);
        Some(self.take(terms, why))
    }

    /// Looks at what the paths have to offer now.
    pub(super) fn look(&mut self, seen: &Seen<'_>, now: Instant) -> Option<StepChange> {
        let change = self.try_wanted(seen, now);
        if !self.in_force.step.is_forced() {
            let favoured = self.in_force.favoured();
            if let Some(verdict) = self.compare(favoured, self.in_force.threshold, seen) {
                let evidence = [seen.evidence.application, seen.evidence.interface];
                let all_answered = evidence.iter().flatten().all(|evidence| evidence.answered);
                self.preferred.update(favoured, verdict, now);
                self.preferred.settled = all_answered;
            }
        }
        change
    }

    fn try_wanted(&mut self, seen: &Seen<'_>, now: Instant) -> Option<StepChange> {
        let wanted = self.wanted.as_ref().filter(|wanted| wanted.due <= now)?;
        let terms = &wanted.terms;
        let to = terms.favoured();
        // A path that is still being opened is no reason to refuse.
        let new = (*seen.evidence.get(to))?;
        if terms.force {
            let has_addresses = new.addresses > 0;
            if !has_addresses && wanted.due + terms.delay > now {
                return None;
            }
            let why = format!("forced by {}", terms.said_by);
            let terms = terms.clone();
            return Some(self.take(terms, why));
        }
        let verdict = self.compare(to, terms.threshold, seen)?;
        if verdict.passes {
            let terms = terms.clone();
            return Some(self.take(terms, verdict.why));
        }
        let new = terms.step;
        let wanted = self.wanted.as_mut()?;
        let is_news = wanted.refused.is_none();
        wanted.refused = Some(verdict.why.clone());
        is_news.then_some(StepChange {
            origin: Some(self.in_force.step),
            new,
            success: false,
            why: verdict.why,
        })
    }

    fn take(&mut self, terms: Agreed, why: String) -> StepChange {
        let origin = Some(self.in_force.step);
        let new = terms.step;
        self.in_force = terms;
        self.wanted = None;
        self.preferred = Preferred::unknown();
        StepChange {
            origin,
            new,
            success: true,
            why,
        }
    }

    /// `None` as long as one of them is not followed.
    fn compare(&self, to: Path, threshold: f64, seen: &Seen<'_>) -> Option<Verdict> {
        let comparison = Comparison {
            to,
            new: (*seen.evidence.get(to))?,
            old: (*seen.evidence.get(to.other()))?,
            threshold,
            comparators: self.comparators,
            new_failures: *seen.failures.get(to),
            old_failures: *seen.failures.get(to.other()),
        };
        Some(comparison.verdict())
    }
}

impl Preferred {
    fn unknown() -> Self {
        Self {
            path: None,
            settled: false,
            failing_since: None,
            why: "the paths are not compared yet".to_owned(),
        }
    }

    /// Goes over at once when the comparison passes, and back only when it has failed for a while.
    fn update(&mut self, favoured: Path, verdict: Verdict, now: Instant) {
        let Verdict { passes, fails, why } = verdict;
        let is_there = self.settled && self.path == Some(favoured);
        if passes || !is_there {
            self.path = Some(if passes { favoured } else { favoured.other() });
            self.failing_since = None;
        } else if fails {
            let since = *self.failing_since.get_or_insert(now);
            if now.duration_since(since) >= GO_BACK_AFTER {
                self.path = Some(favoured.other());
                self.failing_since = None;
            }
        } else {
            self.failing_since = None;
        }
        self.why = why;
    }
}

/// So long the comparison must fail before calls go back to the other path.
const GO_BACK_AFTER: Duration = Duration::from_secs(10);

const LOOK_AT_FAILURES_EVERY: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
