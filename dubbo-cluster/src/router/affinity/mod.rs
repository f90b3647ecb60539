//! `affinity`: calls stay with providers that have a parameter in common with the consumer, if enough of them do.
//!
//! There are rules for a service, for the application that provides it, and for the one that calls
//! (`docs/spec/cluster.md` §4.7).

mod rule;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use dubbo_core::{
    cluster::{Candidates, NodeList, Router},
    invocation::Invocation,
    url::Url,
};

pub(super) use self::rule::Rule;
use super::{
    listen::{Listen, Nobody, Story},
    rules::{OfProviders, Rules, Slot},
};
use crate::rules::key::{self, Subject};

/// Goes by what consumer and providers have in common.
struct AffinityRouter {
    /// Of the service, of those who provide it, and of the consumer; in this order.
    rules: [Rules<Rule, Box<[u32]>>; 3],
}

impl AffinityRouter {
    fn apply(&self, candidates: &mut Candidates, consumer: &Url, listen: &mut impl Listen) {
        for rules in &self.rules {
            rules.each(candidates, listen, |slot, rule, candidates, listen| {
                let list = candidates.list();
                let places = slot.index(rule, list, consumer, || rule.places(list, consumer));
                rule.apply(&places, consumer, candidates, listen);
            });
        }
    }
}

impl Router for AffinityRouter {
    fn priority(&self) -> i32 {
        -10
    }

    fn is_idle(&self) -> bool {
        self.rules.iter().all(Rules::is_empty)
    }

    fn route(&self, candidates: &mut Candidates, consumer: &Url, _invocation: &Invocation) {
        self.apply(candidates, consumer, &mut Nobody);
    }

    fn explain(
        &self,
        candidates: &Candidates,
        consumer: &Url,
        _invocation: &Invocation,
    ) -> Option<String> {
        let mut story = Story::default();
        self.apply(&mut candidates.clone(), consumer, &mut story);
        story.told()
    }

    fn listed(&self, nodes: &Arc<NodeList>) {
        self.rules.iter().for_each(|rules| rules.listed(nodes));
    }
}

impl fmt::Debug for AffinityRouter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AffinityRouter")
            .field("rules", &self.rules)
            .finish()
    }
}

dubbo_core::extension!(dyn Router, "affinity", |cx| {
    let book = cx.shared();
    let one = |key| Rules::One(Slot::new(&book, key, Rule::parse));
    let service = one(key::affinity(Subject::Service(&cx.url.service_key())));
    let consumer = one(of_application(
        cx.url.param("application").unwrap_or_default(),
    ));
    let providers = OfProviders::new(Arc::clone(&book), of_application, Rule::parse);
    Ok(Arc::new(AffinityRouter {
        rules: [service, Rules::OfProviders(providers), consumer],
    }))
});

fn of_application(application: &str) -> String {
    key::affinity(Subject::Application(application))
}
