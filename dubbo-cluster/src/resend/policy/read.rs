//! Reading a document of policies: every mistake is noted with its place (`docs/spec/cluster.md` §7.2).

use std::{collections::BTreeMap, sync::Arc};

use dubbo_core::yaml::{ProblemKind, Section, nearest};

use super::{
    DEFAULT_NAME, Idempotency, Match, Mode, NamedPolicy, PolicyDocument, PolicyOptions, RetryOn,
    Target, guards,
};
use crate::resend::{
    backoff::Backoff,
    budget::BudgetOptions,
    dead_letter::{DeadLetterOptions, LostOptions},
    health::{BreakerOptions, EjectionOptions, Guards, RecoveryOptions, WeightOptions},
    hedge::HedgeOptions,
    pool::PoolOptions,
};

/// What policies name.
struct Named {
    budgets: BTreeMap<Arc<str>, BudgetOptions>,
    breakers: BTreeMap<Arc<str>, BreakerOptions>,
    ejections: BTreeMap<Arc<str>, EjectionOptions>,
    recoveries: BTreeMap<Arc<str>, RecoveryOptions>,
    weights: BTreeMap<Arc<str>, WeightOptions>,
}

impl PolicyDocument {
    /// Reads the section `dubbo.retry`, or a document that is nothing else.
    pub fn read(s: &mut Section<'_, '_>) -> Self {
        let named = Named {
            budgets: shared(s.entries("budgets", BudgetOptions::read)),
            breakers: shared(s.entries("breakers", guards::breaker)),
            ejections: shared(s.entries("ejections", guards::ejection)),
            recoveries: shared(s.entries("recoveries", guards::recovery)),
            weights: shared(s.entries("weights", guards::weights)),
        };
        let mode = s.choice("mode", &MODES).unwrap_or_default();
        let budget = reference(s, "budget", "budgets", &named.budgets, None);
        if mode == Mode::Strict && budget.is_some() {
            let message = "is for mode `compat`; a strict policy has one of its own";
            s.error("budget", ProblemKind::Conflict, message);
        }
        let pools = s.entries("pools", |s| {
            let name = s
                .path()
                .segments()
                .last()
                .map_or("", |name| name)
                .to_owned();
            PoolOptions::read(&name, s)
        });
        let has_letters = s.node("dead-letter").is_some();
        Self {
            mode,
            budget,
            policies: shared(s.entries("policies", |s| NamedPolicy {
                matching: s.section("match", Match::read),
                options: PolicyOptions::read(s, &named),
            })),
            pools: shared(pools),
            dead_letter: has_letters.then(|| s.section("dead-letter", DeadLetterOptions::read)),
            budgets: named.budgets,
        }
    }
}

impl PolicyOptions {
    fn read(s: &mut Section<'_, '_>, named: &Named) -> Self {
        let default = Self::default();
        let target = s.parse("target", "`other`, `same` or `same-then-other(n)`", target);
        let has_backoff = s.node("backoff").is_some();
        let backoff = has_backoff.then(|| {
            let like = match target {
                Some(Target::Same) => Backoff::SAME,
                _ => Backoff::STRICT,
            };
            s.section("backoff", |s| Backoff::read(s, like))
        });
        let honours_pushback = s.choice("pushback", &PUSHBACK);
        let budget = reference(s, "budget", "budgets", &named.budgets, default.budget);
        if target == Some(Target::Same) && budget.is_none() {
            let message =
                "`target: same` needs a budget: a provider that fails is hurt by being asked again";
            s.error("budget", ProblemKind::Conflict, message);
        }
        Self {
            max_attempts: s.integer("max-attempts", 1..=1_000),
            target,
            per_attempt_timeout: positive(s, "per-attempt-timeout"),
            total_timeout: positive(s, "total-timeout"),
            min_attempt_budget: s
                .duration("min-attempt-budget")
                .unwrap_or(default.min_attempt_budget),
            idempotency: s.choice("idempotency", &IDEMPOTENCY).unwrap_or_default(),
            retry_on: s.section("retry-on", RetryOn::read),
            backoff,
            honours_pushback: honours_pushback.unwrap_or(default.honours_pushback),
            budget,
            hedge: s.section("hedge", hedge),
            guards: named.guards(s),
            lost: lost(s),
        }
    }
}

impl Named {
    fn guards(&self, s: &mut Section<'_, '_>) -> Guards {
        let guards = Guards {
            breaker: chosen(s, "breaker", "breakers", &self.breakers),
            ejection: chosen(s, "ejection", "ejections", &self.ejections),
            recovery: chosen(s, "recovery", "recoveries", &self.recoveries),
            weights: chosen(s, "weights", "weights", &self.weights),
        };
        if guards.recovery.is_some() && guards.breaker.is_none() && guards.ejection.is_none() {
            let message = "comes after a breaker or an ejection, and the policy has neither";
            s.error("recovery", ProblemKind::Conflict, message);
        }
        guards
    }
}

/// What the name under `key` stands for in `defined`, if there is a name.
fn chosen<T: Copy + Default>(
    s: &mut Section<'_, '_>,
    key: &'static str,
    place: &str,
    defined: &BTreeMap<Arc<str>, T>,
) -> Option<T> {
    let name = reference(s, key, place, defined, None)?;
    Some(defined.get(&name).copied().unwrap_or_default())
}

fn hedge(s: &mut Section<'_, '_>) -> Option<HedgeOptions> {
    let enabled = s.bool("enabled").unwrap_or(false);
    let max_attempts = s.integer("max-attempts", 2..=5).unwrap_or(2);
    let delay = s.duration("delay");
    match HedgeOptions::new(max_attempts, delay) {
        Ok(options) => enabled.then_some(options),
        Err(error) => {
            s.error("delay", ProblemKind::Type, error.to_string());
            None
        }
    }
}

/// What becomes of calls that are given up, if anything is said about them.
fn lost(s: &mut Section<'_, '_>) -> Option<LostOptions> {
    let keys = ["dead-letter", "outcome", "compensate"];
    let is_said = keys.map(|key| s.node(key).is_some()).contains(&true);
    let options = LostOptions::read(s);
    is_said.then_some(options)
}

/// The name under `key` of something in `defined`, `default` where nothing is said; `None` is `none`. What is called
/// `default` need not be defined.
fn reference<T>(
    s: &mut Section<'_, '_>,
    key: &'static str,
    place: &str,
    defined: &BTreeMap<Arc<str>, T>,
    default: Option<Arc<str>>,
) -> Option<Arc<str>> {
    let Some(name) = s.string(key) else {
        return default;
    };
    if name.eq_ignore_ascii_case("none") {
        return None;
    }
    if name != DEFAULT_NAME && !defined.contains_key(&*name) {
        let all = defined.keys().map(|name| &**name);
        let all: Vec<&str> = all.chain([DEFAULT_NAME, "none"]).collect();
        let meant = nearest(&name, all.iter().copied());
        let meant = meant.map_or_else(String::new, |meant| format!(" (did you mean `{meant}`?)"));
        let message = format!(
            "`{place}` has no `{name}`{meant}; there are {}",
            all.join(", ")
        );
        s.error(key, ProblemKind::UnknownName, message);
    }
    Some(name.into())
}

fn positive(s: &mut Section<'_, '_>, key: &'static str) -> Option<std::time::Duration> {
    let duration = s.duration(key)?;
    if duration.is_zero() {
        let message = "is 0, and no attempt would be made; leave it out for no limit of its own";
        s.error(key, ProblemKind::Type, message);
    }
    Some(duration)
}

fn target(text: &str) -> Option<Target> {
    match text {
        "other" => Some(Target::Other),
        "same" => Some(Target::Same),
        _ => {
            let times = text.strip_prefix("same-then-other(")?.strip_suffix(')')?;
            let times = times.trim().parse().ok()?;
            (1..=100)
                .contains(&times)
                .then_some(Target::SameThenOther(times))
        }
    }
}

fn shared<T>(by_name: BTreeMap<String, T>) -> BTreeMap<Arc<str>, T> {
    let entries = by_name.into_iter();
    entries.map(|(name, value)| (name.into(), value)).collect()
}

const MODES: [(&str, Mode); 2] = [("compat", Mode::Compat), ("strict", Mode::Strict)];

const PUSHBACK: [(&str, bool); 2] = [("honour", true), ("ignore", false)];

const IDEMPOTENCY: [(&str, Idempotency); 4] = [
    ("assume", Idempotency::Assume),
    ("declared", Idempotency::Declared),
    ("keyed", Idempotency::Keyed),
    ("never", Idempotency::Never),
];
