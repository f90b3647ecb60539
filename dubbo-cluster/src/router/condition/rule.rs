//! Rules made of conditions.

use std::sync::OnceLock;

use dubbo_core::{
    cluster::{Candidates, NodeList},
    invocation::Invocation,
    url::Url,
    yaml::{ProblemKind, Section, Value},
};

use super::{
    super::{
        document::{self, Head, Mistakes},
        listen::Listen,
        per_list::places,
    },
    grammar::{Condition, Of, Side},
};
use crate::{loadbalance::Chance, rules::RuleError};

/// A rule of either form (`docs/spec/cluster.md` §4.3, §4.4).
#[derive(Debug)]
pub(in super::super) struct Rule {
    head: Head,
    body: Body,
}

#[derive(Debug)]
enum Body {
    /// Each condition narrows what the one before left.
    Narrow(Box<[Condition]>),
    /// Each one sends the calls that it is for to one of several parts.
    Split(Box<[Split]>),
}

#[derive(Debug)]
struct Split {
    /// `from.match`, as it was written.
    from: Box<str>,
    when: Side,
    to: Box<[Part]>,
}

#[derive(Debug)]
struct Part {
    /// `match`, as it was written.
    text: Box<str>,
    then: Side,
    weight: u32,
    /// Its number among all parts of the rule.
    number: usize,
}

/// Who asks for what.
pub(in super::super) struct Asked<'a> {
    pub(in super::super) consumer: &'a Url,
    pub(in super::super) invocation: &'a Invocation,
    /// Whether a condition that leaves nobody takes back all of its rule, as in dubbo-go.
    pub(in super::super) undo_all: bool,
    pub(in super::super) chance: &'a Chance,
}

/// Which providers of a list each condition or part means. Each is looked for once, when a call needs it.
#[derive(Debug)]
pub(in super::super) struct Index(Box<[OnceLock<Box<[u32]>>]>);

impl Rule {
    /// Reads the rule under `key`: a map in YAML, or conditions alone, one a line, as they were written before Dubbo 2.7.
    pub(in super::super) fn parse(key: &str, text: &str) -> Result<Self, RuleError> {
        if Self::is_bare(text) {
            return Self::parse_bare(key, text);
        }
        document::rule(key, text, Self::read)
    }

    /// Whether `text` is conditions without a map around them.
    pub(in super::super) fn is_bare(text: &str) -> bool {
        let first = text.lines().find(|line| !is_idle(line)).unwrap_or_default();
        let first = first.trim();
        let is_yaml = first.starts_with(['{', '[', '-', '"', '\'', '%'])
            || first.ends_with(':')
            || first.contains(": ");
        !is_yaml && first.contains("=>")
    }

    fn parse_bare(key: &str, text: &str) -> Result<Self, RuleError> {
        let mut mistakes = Mistakes::default();
        let conditions = (1..).zip(text.lines()).filter_map(|(line, text)| {
            let start = text.len() - text.trim_start().len();
            if is_idle(text) {
                return None;
            }
            let at = dubbo_core::yaml::Location::new(key, line, start + 1);
            let parsed = Condition::parse(text);
            parsed.map_err(|error| mistakes.note(&at, "", error)).ok()
        });
        let body = Body::Narrow(conditions.collect());
        mistakes.or(Self {
            head: Head::default(),
            body,
        })
    }

    pub(in super::super) fn read(s: &mut Section<'_, '_>, mistakes: &mut Mistakes) -> Self {
        let head = Head::read(s);
        let is_split = matches!(
            s.node("conditions").as_deref().map(|node| &node.value),
            Some(Value::Seq(items)) if items.iter().any(|item| item.as_map().is_some())
        );
        let body = if is_split {
            Body::Split(Split::read_all(s, mistakes))
        } else {
            let conditions = document::each(s, mistakes, "conditions", Condition::parse);
            if conditions.is_none() && head.enabled {
                s.error(
                    "conditions",
                    ProblemKind::Missing,
                    "a condition rule needs some",
                );
            }
            Body::Narrow(conditions.unwrap_or_default().into())
        };
        Self { head, body }
    }

    /// An index of a list that knows nothing yet.
    pub(in super::super) fn index(&self) -> Index {
        let conditions = match &self.body {
            Body::Narrow(conditions) => conditions.len(),
            Body::Split(splits) => splits.iter().map(|split| split.to.len()).sum(),
        };
        Index((0..conditions).map(|_| OnceLock::new()).collect())
    }

    /// Keeps those of `candidates` whom the rule wants. `index` is one of this rule for their list.
    pub(in super::super) fn apply(
        &self,
        asked: &Asked<'_>,
        index: &Index,
        candidates: &mut Candidates,
        listen: &mut impl Listen,
    ) {
        if !self.head.enabled {
            listen.step(|| "it is switched off".to_owned(), candidates);
            return;
        }
        let applied = match &self.body {
            Body::Narrow(conditions) => self.narrow(conditions, asked, index, candidates, listen),
            Body::Split(splits) => self.split(splits, asked, index, candidates, listen),
        };
        if !applied {
            listen.step(|| "no condition is for this call".to_owned(), candidates);
        }
    }

    /// Whether any condition was for the call.
    fn narrow(
        &self,
        conditions: &[Condition],
        asked: &Asked<'_>,
        index: &Index,
        candidates: &mut Candidates,
        listen: &mut impl Listen,
    ) -> bool {
        let original = candidates.clone();
        let mut applied = false;
        for (number, condition) in conditions.iter().enumerate() {
            if !condition.when.meets_call(asked.consumer, asked.invocation) {
                continue;
            }
            applied = true;
            let Condition { text, then, .. } = condition;
            let mut kept = candidates.clone();
            match then {
                Some(then) => kept.intersect(index.places(number, then, candidates.list(), asked)),
                None => kept.retain(|_| false),
            }
            // Who wants nobody at all means it, but for dubbo-go.
            let counts = !kept.is_empty() || self.head.force || (then.is_none() && !asked.undo_all);
            if counts {
                *candidates = kept;
                listen.step(|| format!("`{text}`"), candidates);
            } else if asked.undo_all {
                *candidates = original;
                let what =
                    || format!("`{text}` leaves nobody, which without force takes back the rule");
                listen.step(what, candidates);
                return true;
            } else {
                let what =
                    || format!("`{text}` leaves nobody, and without force it does not count then");
                listen.step(what, candidates);
            }
            if candidates.is_empty() {
                break;
            }
        }
        applied
    }

    /// Whether any split was for the call.
    fn split(
        &self,
        splits: &[Split],
        asked: &Asked<'_>,
        index: &Index,
        candidates: &mut Candidates,
        listen: &mut impl Listen,
    ) -> bool {
        let mut applied = false;
        for split in splits {
            if !split.when.meets_call(asked.consumer, asked.invocation) {
                continue;
            }
            applied = true;
            let from = &split.from;
            if split.to.is_empty() {
                candidates.retain(|_| false);
                let what = || format!("traffic-disabled: from `{from}` goes to nobody");
                listen.step(what, candidates);
                return true;
            }
            let parts = split.to.iter().map(|part| {
                let mut kept = candidates.clone();
                if !part.then.0.is_empty() {
                    let places = index.places(part.number, &part.then, candidates.list(), asked);
                    kept.intersect(places);
                }
                (part, kept)
            });
            let parts: Vec<_> = parts.filter(|(_, kept)| !kept.is_empty()).collect();
            let total: u64 = parts.iter().map(|(part, _)| u64::from(part.weight)).sum();
            let chosen = (total > 0).then(|| asked.chance.rng().u64(..total));
            let chosen = chosen.and_then(|unit| holder(unit, parts));
            if let Some((part, kept)) = chosen {
                *candidates = kept;
                let Part { text, weight, .. } = part;
                let what = || format!("from `{from}` to `{text}`, by {weight} of {total} chances");
                listen.step(what, candidates);
            } else if self.head.force {
                candidates.retain(|_| false);
                let what = || format!("from `{from}` goes to nobody who is there");
                listen.step(what, candidates);
                return true;
            } else {
                let what = || {
                    format!(
                        "from `{from}` goes to nobody who is there, and without force it does not count then"
                    )
                };
                listen.step(what, candidates);
            }
        }
        applied
    }
}

impl Split {
    fn read_all(s: &mut Section<'_, '_>, mistakes: &mut Mistakes) -> Box<[Self]> {
        let mut number = 0;
        let splits = s.items("conditions", |s| {
            let from = s.section("from", |s| s.string("match")).unwrap_or_default();
            let when = Side::parse_when(&from).unwrap_or_else(|error| {
                mistakes.note(s.at(), s.path().join("from.match").to_string(), error);
                Side::default()
            });
            let to = s.items("to", |s| {
                let text = s.string("match").unwrap_or_default();
                let weight = s.integer("weight", i64::MIN..=i64::from(u32::MAX));
                let then = Side::parse(&text, Of::Provider).unwrap_or_else(|error| {
                    mistakes.note(s.at(), s.path().join("match").to_string(), error);
                    Side::default()
                });
                number += 1;
                Part {
                    text: text.trim().into(),
                    then,
                    weight: weight
                        .and_then(|weight| u32::try_from(weight).ok())
                        .filter(|weight| *weight > 0)
                        .unwrap_or(DEFAULT_WEIGHT),
                    number: number - 1,
                }
            });
            Self {
                from: from.trim().into(),
                when,
                to: to.into(),
            }
        });
        splits.into()
    }
}

impl Index {
    fn places(&self, number: usize, then: &Side, list: &NodeList, asked: &Asked<'_>) -> &[u32] {
        let find = || places(list, |node| then.meets_provider(&node.said, asked.consumer));
        self.0[number].get_or_init(find)
    }
}

/// Who has the unit of weight `unit` of all.
fn holder(mut unit: u64, parts: Vec<(&Part, Candidates)>) -> Option<(&Part, Candidates)> {
    parts.into_iter().find(|(part, _)| {
        let weight = u64::from(part.weight);
        let is_here = unit < weight;
        unit = unit.saturating_sub(weight);
        is_here
    })
}

/// Whether there is nothing on a line.
fn is_idle(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// The share of a part that says none.
const DEFAULT_WEIGHT: u32 = 100;
