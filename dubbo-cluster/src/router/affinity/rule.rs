//! Rules of affinity.

use dubbo_core::{
    cluster::{Candidates, NodeList},
    url::Url,
    yaml::{ProblemKind, Section},
};

use super::super::{
    document::{self, Head},
    listen::Listen,
    per_list::places,
};
use crate::rules::RuleError;

/// Which parameter calls go by, and how many have to have it in common (`docs/spec/cluster.md` §4.7).
#[derive(Debug)]
pub(in super::super) struct Rule {
    is_on: bool,
    key: String,
    /// In percent of those who are there.
    ratio: i64,
}

impl Rule {
    pub(in super::super) fn parse(key: &str, text: &str) -> Result<Self, RuleError> {
        document::rule(key, text, |s, _| {
            let head = Head::read(s);
            s.section("affinityAware", |s| Self::read(head, s))
        })
    }

    fn read(head: Head, s: &mut Section<'_, '_>) -> Self {
        let key = s.string("key").unwrap_or_default();
        if key.is_empty() && head.enabled {
            s.error(
                "key",
                ProblemKind::Missing,
                "needs the parameter that is compared",
            );
        }
        let ratio = s.integer("ratio", i64::MIN..=i64::MAX).unwrap_or(0);
        Self {
            is_on: head.enabled && (0..=100).contains(&ratio),
            key,
            ratio,
        }
    }

    /// Those of `list` that have the parameter in common with `consumer`.
    pub(in super::super) fn places(&self, list: &NodeList, consumer: &Url) -> Box<[u32]> {
        let own = self.of(consumer);
        places(list, |node| own.is_some() && self.of(&node.said) == own)
    }

    /// Keeps those of `candidates` that are in `places`, if they are enough.
    pub(in super::super) fn apply(
        &self,
        places: &[u32],
        consumer: &Url,
        candidates: &mut Candidates,
        listen: &mut impl Listen,
    ) {
        let Self { is_on, key, ratio } = self;
        if !is_on {
            let what = || format!("it is switched off (a ratio of {ratio} %)");
            listen.step(what, candidates);
            return;
        }
        let all = candidates.len();
        let mut kept = candidates.clone();
        kept.intersect(places);
        // Both are at most some millions.
        let is_enough = kept.len() as u128 * 100 >= all as u128 * u128::from(ratio.unsigned_abs());
        let near = kept.len();
        if is_enough && !kept.is_empty() {
            *candidates = kept;
        }
        let what = || match self.of(consumer) {
            Some(own) => format!("{near} of {all} have `{key}={own}`, and {ratio} % are enough"),
            None => format!("the consumer has no `{key}`"),
        };
        listen.step(what, candidates);
    }

    fn of<'u>(&self, url: &'u Url) -> Option<&'u str> {
        url.param(&self.key).filter(|value| !value.is_empty())
    }
}
