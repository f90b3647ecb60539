//! The rules that a router goes by.

use std::{collections::BTreeSet, fmt, sync::Arc};

use arc_swap::{ArcSwap, Guard};
use dubbo_core::{
    cluster::{Candidates, Node, NodeList},
    url::Url,
};

use super::{
    listen::{Listen, Under},
    per_list::{PerList, Ready},
};
use crate::rules::{Followed, RuleBook, RuleError};

/// Reads the rule under a key.
pub(super) type Parse<R> = fn(key: &str, text: &str) -> Result<R, RuleError>;

/// The rules of one router, of which each has an `I` for a list, a consumer and the rule.
pub(super) enum Rules<R, I = ()> {
    /// One rule for all providers.
    One(Slot<R, I>),
    /// A rule for the providers of each application.
    OfProviders(OfProviders<R, I>),
}

impl<R: Send + Sync + 'static, I> Rules<R, I> {
    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::One(slot) => slot.rule().is_none(),
            Self::OfProviders(slots) => slots.is_empty(),
        }
    }

    /// Learns whose rules are meant.
    pub(super) fn listed(&self, nodes: &NodeList) {
        if let Self::OfProviders(slots) = self {
            slots.listed(nodes);
        }
    }

    /// Has `apply` narrow those of `candidates` that each rule is for.
    pub(super) fn each<L: Listen>(
        &self,
        candidates: &mut Candidates,
        listen: &mut L,
        mut apply: impl FnMut(&Slot<R, I>, &Arc<R>, &mut Candidates, &mut Under<'_, L>),
    ) {
        let mut run = |slot: &Slot<R, I>, rule: &Arc<R>, candidates: &mut Candidates| {
            let name = || slot.name();
            apply(slot, rule, candidates, &mut Under::new(&name, listen));
        };
        match self {
            Self::One(slot) => {
                if let Some(rule) = slot.rule() {
                    run(slot, &rule, candidates);
                }
            }
            Self::OfProviders(slots) => {
                let slots = slots.slots();
                for OfProvider { application, slot } in &**slots {
                    let Some(rule) = slot.rule() else { continue };
                    if slots.len() == 1 {
                        run(slot, &rule, candidates);
                    } else {
                        part(candidates, application, |part| run(slot, &rule, part));
                    }
                }
            }
        }
    }
}

impl<R, I> fmt::Debug for Rules<R, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(slot) => slot.fmt(f),
            Self::OfProviders(slots) => slots.fmt(f),
        }
    }
}

/// The rule under one key, as it changes.
pub(super) struct Slot<R, I = ()> {
    key: String,
    followed: Followed<R>,
    index: PerList<(Arc<R>, Url), I>,
}

impl<R: Send + Sync + 'static, I> Slot<R, I> {
    pub(super) fn new(book: &RuleBook, key: String, parse: Parse<R>) -> Self {
        let name = key.clone();
        Self {
            followed: book.follow(&key, move |text| parse(&name, text)),
            key,
            index: PerList::default(),
        }
    }

    /// The rule, if there is one. It takes no lock.
    pub(super) fn rule(&self) -> Option<Arc<R>> {
        self.followed.current()
    }

    /// What `rule` says about `list` to `consumer`, made by `make` once for the three.
    pub(super) fn index(
        &self,
        rule: &Arc<R>,
        list: &Arc<NodeList>,
        consumer: &Url,
        make: impl FnOnce() -> I,
    ) -> Ready<(Arc<R>, Url), I> {
        let is_current = |(of, asked): &(Arc<R>, Url)| Arc::ptr_eq(of, rule) && asked == consumer;
        self.index.get(list, is_current, || {
            ((Arc::clone(rule), consumer.clone()), make())
        })
    }

    /// What messages call the rule: its key, and who says it.
    pub(super) fn name(&self) -> String {
        let source = self.followed.source();
        let source = source.map_or_else(String::new, |source| format!(" ({source})"));
        format!("{}{source}", self.key)
    }
}

impl<R, I> fmt::Debug for Slot<R, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Slot").field(&self.key).finish()
    }
}

/// The rules of the applications that provide, each for its own providers.
pub(super) struct OfProviders<R, I = ()> {
    book: Arc<RuleBook>,
    key: fn(&str) -> String,
    parse: Parse<R>,
    slots: ArcSwap<Vec<OfProvider<R, I>>>,
}

/// The rule of one application that provides.
pub(super) struct OfProvider<R, I = ()> {
    pub(super) application: Arc<str>,
    pub(super) slot: Arc<Slot<R, I>>,
}

impl<R: Send + Sync + 'static, I> OfProviders<R, I> {
    pub(super) fn new(book: Arc<RuleBook>, key: fn(&str) -> String, parse: Parse<R>) -> Self {
        Self {
            book,
            key,
            parse,
            slots: ArcSwap::default(),
        }
    }

    /// Follows the rules of those who provide `nodes`. When nobody provides, those from before are still followed: they
    /// are there at once when somebody comes back.
    pub(super) fn listed(&self, nodes: &NodeList) {
        let applications: BTreeSet<&str> = nodes.iter().filter_map(application).collect();
        let slots = self.slots.load();
        let known = slots.iter().map(|of| &*of.application);
        if nodes.is_empty() || known.eq(applications.iter().copied()) {
            return;
        }
        let followed = applications.into_iter().map(|application| {
            let known = slots.iter().find(|of| *of.application == *application);
            let slot = known.map(|of| Arc::clone(&of.slot));
            OfProvider {
                application: application.into(),
                slot: slot.unwrap_or_else(|| {
                    Arc::new(Slot::new(&self.book, (self.key)(application), self.parse))
                }),
            }
        });
        let followed = followed.collect();
        self.slots.store(Arc::new(followed));
    }

    /// The applications that provide, by name. Reading it takes no lock.
    pub(super) fn slots(&self) -> Guard<Arc<Vec<OfProvider<R, I>>>> {
        self.slots.load()
    }

    /// Whether none of them has a rule.
    pub(super) fn is_empty(&self) -> bool {
        let slots = self.slots.load();
        slots.iter().all(|of| of.slot.rule().is_none())
    }
}

impl<R, I> fmt::Debug for OfProviders<R, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slots = self.slots.load();
        f.debug_list()
            .entries(slots.iter().map(|of| &of.slot))
            .finish()
    }
}

/// Has `narrow` narrow those of `candidates` that `of` provides; the others stay.
fn part(candidates: &mut Candidates, of: &str, narrow: impl FnOnce(&mut Candidates)) {
    let is_of = |node: &Node| application(node) == Some(of);
    let mut part = candidates.narrowed(is_of);
    if part.is_empty() {
        return;
    }
    narrow(&mut part);
    let mut kept = part.iter().peekable();
    candidates.retain(|node| {
        let stays = kept.next_if(|kept| std::ptr::eq(*kept, node));
        stays.is_some() || !is_of(node)
    });
}

/// The application that provides `node`, as it says of itself.
pub(super) fn application(node: &Node) -> Option<&str> {
    let name = node.said.param("application");
    name.filter(|name| !name.is_empty())
}
