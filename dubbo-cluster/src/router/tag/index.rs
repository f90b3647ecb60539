//! Who of a list has which tag.

use std::{collections::HashMap, sync::Arc};

use dubbo_core::cluster::NodeList;

use super::{super::rules::application, TAG, rule::Rule};

/// The tags of a list under the rules of the applications in it.
#[derive(Debug, Default)]
pub(in super::super) struct Index {
    /// By tag, who has it: by a rule that says so, and of the applications whose rule does not know it by itself.
    tags: HashMap<Box<str>, Tagged>,
    /// Who has no tag: those that calls without one go to. `None`: nobody has any.
    untagged: Option<Vec<u32>>,
}

/// Who has one tag.
#[derive(Debug, Default)]
pub(super) struct Tagged {
    pub(super) places: Vec<u32>,
    /// Whether a rule says who has it.
    pub(super) is_of_rule: bool,
    /// Whether that rule lets nobody else take its calls.
    pub(super) force: bool,
}

/// Whose providers a rule is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum For<'a> {
    All,
    Application(&'a str),
}

impl Index {
    /// What holds for `list` under `rules`, which are all switched on.
    pub(in super::super) fn new(list: &NodeList, rules: &[(For<'_>, &Arc<Rule>)]) -> Self {
        let mut tags = HashMap::<Box<str>, Tagged>::new();
        for (_, rule) in rules {
            for name in rule.names() {
                let tagged = tags.entry(name.into()).or_default();
                tagged.is_of_rule = true;
                tagged.force |= rule.head.force;
            }
        }
        let mut untagged = Vec::new();
        for (place, node) in (0..).zip(list.iter()) {
            let mut is_tagged = false;
            let mut add = |name: &str| {
                let known = tags.contains_key(name);
                let tagged = if known {
                    tags.get_mut(name)
                } else {
                    Some(tags.entry(name.into()).or_default())
                };
                // Two entries of a rule may give one tag.
                if let Some(tagged) = tagged.filter(|of| of.places.last() != Some(&place)) {
                    tagged.places.push(place);
                }
                is_tagged = true;
            };
            let rule = rules.iter().find(|(of, _)| match of {
                For::All => true,
                For::Application(of) => application(node) == Some(of),
            });
            let own = node.url.param(TAG).filter(|tag| !tag.is_empty());
            if let Some((_, rule)) = rule {
                rule.tags_of(node).for_each(&mut add);
                if let Some(own) = own.filter(|own| !rule.names().any(|name| name == *own)) {
                    add(own);
                }
            } else if let Some(own) = own {
                add(own);
            }
            if !is_tagged && own.is_none() {
                untagged.push(place);
            }
        }
        let is_plain = untagged.len() == list.len();
        Self {
            tags,
            untagged: (!is_plain).then_some(untagged),
        }
    }

    /// Who has `tag`, and how that is called. Of a tag with levels, `a|b`, the longest beginning that a rule knows counts,
    /// unless `is_forced`.
    pub(super) fn tagged<'t>(&self, tag: &'t str, is_forced: bool) -> Option<(&'t str, &Tagged)> {
        let mut level = tag;
        loop {
            let tagged = self.tags.get(level).filter(|tagged| tagged.is_of_rule);
            if let Some(tagged) = tagged {
                return Some((level, tagged));
            }
            match level.rsplit_once(LEVELS) {
                Some((shorter, _)) if !is_forced => level = shorter,
                _ => return self.tags.get(tag).map(|tagged| (tag, tagged)),
            }
        }
    }

    /// Who has no tag; `None` when that is everybody.
    pub(super) fn untagged(&self) -> Option<&[u32]> {
        self.untagged.as_deref()
    }
}

/// What stands between the levels of a tag.
const LEVELS: char = '|';
