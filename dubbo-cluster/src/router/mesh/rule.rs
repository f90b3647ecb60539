//! Virtual services and destination rules.

use std::collections::{BTreeMap, HashMap};

use dubbo_core::{
    cluster::{Candidates, NodeList},
    invocation::Invocation,
    service::ServiceKey,
    url::Url,
    yaml::{ProblemKind, Section},
};

use super::{
    super::{listen::Listen, per_list::places},
    call::CallMatch,
    document::documents,
};
use crate::{
    loadbalance::Chance,
    rules::{RuleError, StringMatch, read},
};

/// What a text says about the providers of one application (`docs/spec/cluster.md` §4.8).
#[derive(Debug, Default)]
pub(in super::super) struct Rule {
    routes: Vec<Route>,
    /// Parameters that describe a subset, by its name.
    subsets: BTreeMap<String, BTreeMap<String, String>>,
}

/// Who asks for what.
pub(in super::super) struct Asked<'a> {
    pub(in super::super) consumer: &'a Url,
    pub(in super::super) invocation: &'a Invocation,
    pub(in super::super) chance: &'a Chance,
}

/// Who of a list is in each subset.
#[derive(Debug)]
pub(in super::super) struct Index(HashMap<String, Box<[u32]>>);

/// How calls of some services go.
#[derive(Debug)]
struct Route {
    name: String,
    /// One of them, if there are any.
    services: Vec<StringMatch>,
    details: Vec<Detail>,
}

/// How some calls of them go.
#[derive(Debug)]
struct Detail {
    name: String,
    /// All of them.
    matches: Vec<CallMatch>,
    to: Vec<Destination>,
}

/// Where calls go, and where in its place when nobody is there.
#[derive(Debug)]
struct Destination {
    /// Subsets, each in place of the one before; `None` is everybody.
    subsets: Vec<Option<String>>,
    weight: u32,
}

impl Rule {
    pub(in super::super) fn parse(key: &str, text: &str) -> Result<Self, RuleError> {
        let mut rule = Self::default();
        let mut problems = Vec::new();
        for document in documents(text) {
            if let Err(error) = read(key, &document, |s| rule.read(s)) {
                problems.extend(error.problems);
            }
        }
        if problems.is_empty() {
            Ok(rule)
        } else {
            Err(RuleError::of(problems))
        }
    }

    /// Takes in one document.
    fn read(&mut self, s: &mut Section<'_, '_>) {
        s.string("apiVersion");
        let name = s.node("metadata").is_some();
        let name = s.section("metadata", |s| s.string("name")).filter(|_| name);
        if name.is_none() {
            s.error(
                "metadata",
                ProblemKind::Missing,
                "a document needs `metadata.name`",
            );
        }
        let router = name.as_deref().and_then(|name| name.split_once('.'));
        if let Some((_, router)) = router.filter(|(_, router)| *router != STANDARD) {
            let why = format!("it is for the router `{router}`, and there is only `{STANDARD}`");
            s.no_effect("spec", &why);
            s.string("kind");
            return;
        }
        let kinds = [
            ("DestinationRule", Kind::Destination),
            ("VirtualService", Kind::Service),
        ];
        match s.choice("kind", &kinds) {
            Some(Kind::Destination) => s.section("spec", |s| self.read_destinations(s)),
            Some(Kind::Service) => s.section("spec", |s| self.read_services(s)),
            None => {
                let message = "a document is a `VirtualService` or a `DestinationRule`";
                s.error("kind", ProblemKind::Missing, message);
            }
        }
    }

    fn read_destinations(&mut self, s: &mut Section<'_, '_>) {
        s.string("host");
        s.no_effect("trafficPolicy", "neither does Dubbo Java go by it");
        let subsets = s.items("subsets", |s| {
            let name = s.string("name").unwrap_or_default();
            if name.is_empty() {
                s.error("name", ProblemKind::Missing, "a subset needs a name");
            }
            s.no_effect("trafficPolicy", "neither does Dubbo Java go by it");
            (name, s.texts("labels"))
        });
        self.subsets.extend(subsets);
    }

    fn read_services(&mut self, s: &mut Section<'_, '_>) {
        s.list("hosts");
        let routes = s.items("dubbo", |s| Route {
            name: s.string("name").unwrap_or_default(),
            services: s
                .items("services", StringMatch::read)
                .into_iter()
                .flatten()
                .collect(),
            details: s.items("routedetail", |s| Detail {
                name: s.string("name").unwrap_or_default(),
                matches: s.items("match", CallMatch::read),
                to: s.items("route", Destination::read),
            }),
        });
        self.routes.extend(routes);
    }

    /// Who of `list` is in each subset.
    pub(in super::super) fn index(&self, list: &NodeList) -> Index {
        let subsets = self.subsets.iter().map(|(name, labels)| {
            let has = |(key, value): (&String, &String), url: &Url| url.param(key) == Some(value);
            let is_in = |url: &Url| labels.iter().all(|label| has(label, url));
            (name.clone(), places(list, |node| is_in(&node.said)))
        });
        Index(subsets.collect())
    }

    /// Keeps those of `candidates` that the call goes to. `index` is one of this rule for their list.
    pub(in super::super) fn apply(
        &self,
        asked: &Asked<'_>,
        index: &Index,
        candidates: &mut Candidates,
        listen: &mut impl Listen,
    ) {
        let service = &asked.invocation.service;
        let route = self.routes.iter().find(|route| route.is_for(service));
        let Some(route) = route else {
            listen.step(|| "no route is for this service".to_owned(), candidates);
            return;
        };
        let mut details = route.details.iter();
        let Some(detail) = details.find(|detail| detail.is_for(asked)) else {
            listen.step(
                || format!("route `{}` is not for this call", route.name),
                candidates,
            );
            return;
        };
        let weights = detail.to.iter().map(|to| u64::from(to.weight));
        let total: u64 = weights.sum();
        let chosen = (total > 0).then(|| asked.chance.rng().u64(..total));
        let chosen = chosen.and_then(|unit| holder(unit, &detail.to));
        // Who is not there is stood in for by its own fallbacks, and then by any other.
        let in_turn = chosen.into_iter().chain(&detail.to);
        let mut subsets = in_turn.flat_map(|to| &to.subsets);
        let found = subsets.find_map(|subset| {
            let kept = index.keep(subset.as_deref(), candidates);
            (!kept.is_empty()).then_some((subset, kept))
        });
        let name = || match detail.name.as_str() {
            "" => route.name.clone(),
            detail => format!("{}/{detail}", route.name),
        };
        if let Some((subset, kept)) = found {
            *candidates = kept;
            let what = || match subset {
                Some(subset) => format!("`{}` goes to the subset `{subset}`", name()),
                None => format!("`{}` goes to all", name()),
            };
            listen.step(what, candidates);
        } else {
            let what = || format!("`{}` goes to nobody who is there, so all are kept", name());
            listen.step(what, candidates);
        }
    }
}

impl Route {
    /// Services are named as their interface, with or without version and group.
    fn is_for(&self, service: &ServiceKey) -> bool {
        let interface = service.interface();
        let version = service
            .version()
            .map(|version| format!("{interface}:{version}"));
        let is_one = |name: &str| self.services.iter().any(|test| test.matches(Some(name)));
        self.services.is_empty()
            || is_one(interface)
            || version.is_some_and(|name| is_one(&name))
            || is_one(&service.to_string())
    }
}

impl Detail {
    fn is_for(&self, asked: &Asked<'_>) -> bool {
        let mut matches = self.matches.iter();
        matches.all(|test| test.meets(asked.consumer, asked.invocation))
    }
}

impl Destination {
    fn read(s: &mut Section<'_, '_>) -> Self {
        let weight = s.integer("weight", i64::MIN..=i64::from(u32::MAX));
        let weight = weight.and_then(|weight| u32::try_from(weight).ok());
        let mut subsets = Vec::new();
        s.section("destination", |s| read_chain(s, &mut subsets));
        Self {
            subsets,
            weight: weight.unwrap_or(1).max(1),
        }
    }
}

/// Reads a destination and those that stand in for it.
fn read_chain(s: &mut Section<'_, '_>, chain: &mut Vec<Option<String>>) {
    s.string("host");
    s.string("port");
    chain.push(s.string("subset"));
    if s.node("fallback").is_some_and(|node| !node.is_null()) {
        s.section("fallback", |s| {
            s.string("weight");
            // Dubbo Java has a destination with a weight here, its documentation one without.
            if s.node("destination").is_some() {
                s.section("destination", |s| read_chain(s, chain));
            } else {
                read_chain(s, chain);
            }
        });
    }
}

impl Index {
    fn keep(&self, subset: Option<&str>, candidates: &Candidates) -> Candidates {
        let mut kept = candidates.clone();
        if let Some(subset) = subset {
            kept.intersect(self.0.get(subset).map_or(&[], |places| places));
        }
        kept
    }
}

/// Who has the unit of weight `unit` of all.
fn holder(mut unit: u64, to: &[Destination]) -> Option<&Destination> {
    to.iter().find(|to| {
        let weight = u64::from(to.weight);
        let is_here = unit < weight;
        unit = unit.saturating_sub(weight);
        is_here
    })
}

/// What a document is.
#[derive(Clone, Copy)]
enum Kind {
    Destination,
    Service,
}

/// The router that documents are for whose name does not say another.
const STANDARD: &str = "standard";
