//! `tag`: calls with a tag go to providers with that tag.
//!
//! A call's tag is its attachment `dubbo.tag`, or that of the consumer's URL. A provider's is what it says of itself, or
//! what the rule of its application gives to it. Calls without a tag go to providers without one; so do calls with a tag
//! that nobody has, unless they are told to stay away (`docs/spec/cluster.md` §4.5).

mod index;
mod request;
mod rule;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use dubbo_core::{
    cluster::{Candidates, NodeList, Router},
    invocation::Invocation,
    url::Url,
};

pub(super) use self::{
    index::{For, Index},
    request::Request,
    rule::Rule,
};
use super::{
    listen::{Listen, Nobody, Story},
    per_list::{PerList, Ready},
    rules::OfProviders,
};
use crate::rules::key;

/// Goes by the tags of calls and providers.
struct TagRouter {
    rules: OfProviders<Rule>,
    index: PerList<Counting, Index>,
}

/// The rules that count, by application.
type Counting = Vec<(Arc<str>, Arc<Rule>)>;

impl TagRouter {
    /// The tags of `list` under the rules that count now.
    fn index(&self, list: &Arc<NodeList>) -> Ready<Counting, Index> {
        let slots = self.rules.slots();
        let counting = || {
            slots.iter().filter_map(|of| {
                let rule = of.slot.rule().filter(|rule| rule.is_on())?;
                Some((Arc::clone(&of.application), rule))
            })
        };
        let is_current = |known: &Counting| {
            let mut known = known.iter();
            let same = counting().all(|(of, rule)| {
                let known = known.next();
                known.is_some_and(|known| known.0 == of && Arc::ptr_eq(&known.1, &rule))
            });
            same && known.next().is_none()
        };
        self.index.get(list, is_current, || {
            let rules: Counting = counting().collect();
            let by_application = rules.iter();
            let by_application: Vec<_> = by_application
                .map(|(of, rule)| (For::Application(of), rule))
                .collect();
            let index = Index::new(list, &by_application);
            (rules, index)
        })
    }

    fn apply(
        &self,
        candidates: &mut Candidates,
        consumer: &Url,
        invocation: &Invocation,
        listen: &mut impl Listen,
    ) {
        let index = self.index(candidates.list());
        Request::of(consumer, invocation).apply(&index, candidates, listen);
    }
}

impl Router for TagRouter {
    fn priority(&self) -> i32 {
        100
    }

    fn route(&self, candidates: &mut Candidates, consumer: &Url, invocation: &Invocation) {
        self.apply(candidates, consumer, invocation, &mut Nobody);
    }

    /// With the rules that say who has which tag: what is there under their keys.
    fn explain(
        &self,
        candidates: &Candidates,
        consumer: &Url,
        invocation: &Invocation,
    ) -> Option<String> {
        let mut story = Story::default();
        self.apply(&mut candidates.clone(), consumer, invocation, &mut story);
        let slots = self.rules.slots();
        let slots = slots.iter().filter(|of| of.slot.rule().is_some());
        let rules: Vec<_> = slots.map(|of| of.slot.name()).collect();
        story.told().map(|told| match rules.as_slice() {
            [] => told,
            rules => format!("{}: {told}", rules.join(", ")),
        })
    }

    fn listed(&self, nodes: &Arc<NodeList>) {
        self.rules.listed(nodes);
        // The first call finds it ready.
        let _ = self.index(nodes);
    }
}

impl fmt::Debug for TagRouter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TagRouter")
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

dubbo_core::extension!(dyn Router, "tag", |cx| {
    Ok(Arc::new(TagRouter {
        rules: OfProviders::new(cx.shared(), key::tag, Rule::parse),
        index: PerList::default(),
    }))
});

/// Says a tag: in attachments and in URLs.
const TAG: &str = "dubbo.tag";
