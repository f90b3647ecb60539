//! `condition-service`, `condition-provider-app`, `condition-app`: rules that say which calls go to which providers.
//!
//! `method=find* => region=hz` sends calls of some methods to some providers (`docs/spec/cluster.md` §4.2 to §4.4). There
//! are rules for a service, for the application that provides it, and for the one that calls; each has its own router.

mod grammar;
mod meets;
mod rule;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use dubbo_core::{
    cluster::{Candidates, NodeList, Router},
    extension::{BoxError, ExtensionContext},
    invocation::Invocation,
    url::{Key, Url, UrlError},
};

use self::rule::Index;
pub(super) use self::rule::{Asked, Rule};
use super::{
    listen::{Listen, Nobody, Story},
    rules::{OfProviders, Rules, Slot},
};
use crate::{
    loadbalance::Chance,
    rules::{
        RuleBook,
        key::{self, Subject},
    },
};

/// Goes by the conditions for a service, or for applications.
struct ConditionRouter {
    priority: i32,
    rules: Rules<Rule, Index>,
    /// Whether a condition that leaves nobody takes back all of its rule, as in dubbo-go.
    undo_all: bool,
    chance: Chance,
}

impl ConditionRouter {
    fn make(
        cx: &ExtensionContext<'_>,
        priority: i32,
        rules: impl FnOnce(Arc<RuleBook>) -> Rules<Rule, Index>,
    ) -> Result<Arc<dyn Router>, BoxError> {
        Ok(Arc::new(Self {
            priority,
            rules: rules(cx.shared()),
            undo_all: undoes_all(cx.url)?,
            chance: Chance::new(),
        }))
    }

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
            undo_all: self.undo_all,
            chance: &self.chance,
        };
        self.rules
            .each(candidates, listen, |slot, rule, candidates, listen| {
                let index = slot.index(rule, candidates.list(), consumer, || rule.index());
                rule.apply(&asked, &index, candidates, listen);
            });
    }
}

impl Router for ConditionRouter {
    fn priority(&self) -> i32 {
        self.priority
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

impl fmt::Debug for ConditionRouter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConditionRouter")
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

dubbo_core::extension!(dyn Router, "condition-service" | "service", |cx| {
    ConditionRouter::make(cx, OF_SERVICE, |book| {
        let service = cx.url.service_key();
        let key = key::condition(Subject::Service(&service));
        Rules::One(Slot::new(&book, key, Rule::parse))
    })
});

dubbo_core::extension!(
    dyn Router,
    "condition-provider-app" | "provider-app",
    |cx| ConditionRouter::make(cx, OF_PROVIDERS, |book| {
        Rules::OfProviders(OfProviders::new(book, of_application, Rule::parse))
    })
);

dubbo_core::extension!(dyn Router, "condition-app" | "app", |cx| {
    ConditionRouter::make(cx, OF_CONSUMER, |book| {
        let application = cx.url.param("application").unwrap_or_default();
        Rules::One(Slot::new(&book, of_application(application), Rule::parse))
    })
});

/// Whether `consumer` goes by rules as dubbo-go does: a condition that leaves nobody takes back all of its rule.
pub(super) fn undoes_all(consumer: &Url) -> Result<bool, UrlError> {
    consumer.get(&UNDO_ALL)
}

fn of_application(application: &str) -> String {
    key::condition(Subject::Application(application))
}

const OF_SERVICE: i32 = 140;
const OF_PROVIDERS: i32 = 145;
const OF_CONSUMER: i32 = 150;

/// What the consumer's URL says for dubbo-go's way with rules that leave nobody.
const UNDO_ALL: Key<bool> = Key {
    name: "compat.go-condition-undo-all",
    default: || false,
};
