//! `mesh`: virtual services send calls to subsets of providers, which destination rules describe.
//!
//! A provider application has one text with several documents (`docs/spec/cluster.md` §4.8).

mod call;
mod document;
mod rule;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use dubbo_core::{
    cluster::{Candidates, NodeList, Router},
    invocation::Invocation,
    url::Url,
};

use self::rule::Index;
pub(super) use self::{
    document::documents,
    rule::{Asked, Rule},
};
use super::{
    listen::{Listen, Nobody, Story},
    rules::{OfProviders, Rules},
};
use crate::{loadbalance::Chance, rules::key};

/// Goes by virtual services and destination rules.
struct MeshRouter {
    rules: Rules<Rule, Index>,
    chance: Chance,
}

impl MeshRouter {
    fn apply(
        &self,
        candidates: &mut Candidates,
        consumer: &Url,
        invocation: &Invocation,
        listen: &mut impl Listen,
    ) {
        let asked = Asked {
            consumer,
            invocation,
            chance: &self.chance,
        };
        self.rules
            .each(candidates, listen, |slot, rule, candidates, listen| {
                let list = candidates.list();
                let index = slot.index(rule, list, consumer, || rule.index(list));
                rule.apply(&asked, &index, candidates, listen);
            });
    }
}

impl Router for MeshRouter {
    fn priority(&self) -> i32 {
        -50
    }

    fn is_idle(&self) -> bool {
        self.rules.is_empty()
    }

    fn route(&self, candidates: &mut Candidates, consumer: &Url, invocation: &Invocation) {
        self.apply(candidates, consumer, invocation, &mut Nobody);
    }

    fn explain(
        &self,
        candidates: &Candidates,
        consumer: &Url,
        invocation: &Invocation,
    ) -> Option<String> {
        let mut story = Story::default();
        self.apply(&mut candidates.clone(), consumer, invocation, &mut story);
        story.told()
    }

    fn listed(&self, nodes: &Arc<NodeList>) {
        self.rules.listed(nodes);
    }
}

impl fmt::Debug for MeshRouter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MeshRouter")
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

dubbo_core::extension!(dyn Router, "mesh", |cx| {
    let rules = OfProviders::new(cx.shared(), key::mesh, Rule::parse);
    Ok(Arc::new(MeshRouter {
        rules: Rules::OfProviders(rules),
        chance: Chance::new(),
    }))
});
