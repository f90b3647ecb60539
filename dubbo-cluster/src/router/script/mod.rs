//! `script`: a rule in JavaScript chooses among the providers of an application (`docs/spec/cluster.md` §4.6).
//!
//! A script runs on the thread of the call, within a budget of time, steps and memory, in an engine that can reach
//! nothing but what it is given; one that fails changes nothing. Without the feature `script` there is no engine, and a
//! script rule is refused.

#[cfg(not(feature = "script"))]
mod absent;
#[cfg(feature = "script")]
mod engine;
#[cfg(feature = "script")]
mod rule;
#[cfg(all(test, feature = "script"))]
mod tests;

use std::{fmt, sync::Arc};

use dubbo_core::{
    cluster::{Candidates, NodeList, Router},
    invocation::Invocation,
    url::Url,
};

#[cfg(not(feature = "script"))]
pub(super) use self::absent::Rule;
#[cfg(feature = "script")]
pub(super) use self::rule::Rule;
use super::{
    listen::{Listen, Nobody, Story},
    rules::{OfProviders, Rules},
};
use crate::rules::key;

/// Has scripts choose.
struct ScriptRouter {
    rules: Rules<Rule>,
}

impl ScriptRouter {
    fn apply(
        &self,
        candidates: &mut Candidates,
        invocation: &Invocation,
        listen: &mut impl Listen,
    ) {
        self.rules
            .each(candidates, listen, |_slot, rule, candidates, listen| {
                Rule::apply(rule, invocation, candidates, listen);
            });
    }
}

impl Router for ScriptRouter {
    fn priority(&self) -> i32 {
        110
    }

    fn is_idle(&self) -> bool {
        self.rules.is_empty()
    }

    fn route(&self, candidates: &mut Candidates, _consumer: &Url, invocation: &Invocation) {
        self.apply(candidates, invocation, &mut Nobody);
    }

    /// Runs the script once more.
    fn explain(
        &self,
        candidates: &Candidates,
        _consumer: &Url,
        invocation: &Invocation,
    ) -> Option<String> {
        let mut story = Story::default();
        self.apply(&mut candidates.clone(), invocation, &mut story);
        story.told()
    }

    fn listed(&self, nodes: &Arc<NodeList>) {
        self.rules.listed(nodes);
    }
}

impl fmt::Debug for ScriptRouter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptRouter")
            .field("rules", &self.rules)
            .finish()
    }
}

dubbo_core::extension!(dyn Router, "script", |cx| {
    let rules = OfProviders::new(cx.shared(), key::script, Rule::parse);
    Ok(Arc::new(ScriptRouter {
        rules: Rules::OfProviders(rules),
    }))
});
