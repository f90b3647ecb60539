//! From a document to the policies of one service.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use dubbo_core::{
    extension::Extensions,
    service::{ServiceDescriptor, ServiceKey},
};
use tokio::time::Instant;

use super::{
    budget::{Budget, BudgetOptions},
    dead_letter::{DeadLetters, LostCalls, LostOptions},
    health::{BreakerState, Forced, Guards},
    policy::{Mode, Policy, PolicyDocument, PolicyOptions},
    pool::Pools,
    reference::{Choice, Resolved},
    watch::Watch,
};

/// The budgets and pools of an instance. What stays as it is keeps what it has counted, whatever else changes.
#[derive(Default)]
pub(super) struct Shelf {
    pools: Option<Pools>,
    budgets: HashMap<Place, Arc<Budget>>,
    watches: HashMap<ServiceKey, Arc<Watch>>,
}

/// The service, the name of the budget, the name of the pool.
type Place = (ServiceKey, Arc<str>, Arc<str>);

impl Shelf {
    /// The policies of `service` by `document`.
    pub(super) fn resolve(
        &mut self,
        document: &PolicyDocument,
        service: &ServiceKey,
        descriptor: &Arc<ServiceDescriptor>,
        extensions: &Extensions,
    ) -> Resolved {
        let pools = document
            .pools
            .iter()
            .map(|(name, options)| (&**name, options));
        let pools = Pools::new(pools, self.pools.as_ref());
        self.pools = Some(pools.clone());
        let mut make = |name: &Arc<str>, mode, options: PolicyOptions| {
            let budgets = self.budgets(document, service, options.budget.as_ref(), &pools);
            let name = Arc::clone(name);
            let lost = options.lost.as_ref();
            let lost = lost.and_then(|lost| found(lost, extensions, &name, service));
            let methods = descriptor.methods().len();
            let pools = pools.clone();
            Arc::new(Policy::new(
                name, mode, options, pools, budgets, methods, lost,
            ))
        };
        let by_name: BTreeMap<_, _> = document
            .policies
            .iter()
            .map(|(name, policy)| {
                let policy = make(name, Mode::Strict, policy.options.clone());
                (Arc::clone(name), policy)
            })
            .collect();
        let rest = match document.mode {
            Mode::Compat => {
                let options = PolicyOptions::compat(document.budget.clone());
                make(&Arc::from("compat"), Mode::Compat, options)
            }
            Mode::Strict => make(&Arc::from("strict"), Mode::Strict, PolicyOptions::default()),
        };
        let same = PolicyOptions::same(document.budget.clone());
        let same = make(&Arc::from("retrySame"), Mode::Compat, same);
        let methods = descriptor.methods().iter().map(|method| &*method.name);
        let methods = methods
            .chain([""])
            .map(|method| choice(document, &by_name, &rest, service, method))
            .collect();
        let any = |of: fn(&Guards) -> bool| {
            let mut policies = by_name.values().chain([&rest]);
            policies.any(|policy| of(&policy.options().guards))
        };
        Resolved {
            methods,
            same,
            is_guarded: any(|guards| !guards.is_empty()),
            weighs: any(|guards| guards.weights.is_some()),
            by_name,
        }
    }

    /// Who looks after the providers of `service`.
    pub(super) fn watch(
        &mut self,
        service: &ServiceKey,
        descriptor: &Arc<ServiceDescriptor>,
        forced: Forced,
    ) -> Arc<Watch> {
        let fresh = || Arc::new(Watch::new(service, descriptor));
        let watch = self.watches.entry(service.clone()).or_insert_with(fresh);
        if !watch.knows(descriptor) {
            // Another interface of the same name: a generic client and a generated one.
            *watch = fresh();
        }
        watch.force(forced);
        Arc::clone(watch)
    }

    /// Has a switch decide for all that are looked after.
    pub(super) fn force(&self, forced: Forced) {
        for watch in self.watches.values() {
            watch.force(forced);
        }
    }

    /// The methods whose breakers are not closed, whoever provides them.
    pub(super) fn broken(&self) -> Vec<(String, BreakerState)> {
        self.watches
            .values()
            .flat_map(|watch| watch.broken())
            .collect()
    }

    /// The budgets called `name` of `service`, one for each pool.
    fn budgets(
        &mut self,
        document: &PolicyDocument,
        service: &ServiceKey,
        name: Option<&Arc<str>>,
        pools: &Pools,
    ) -> Box<[Arc<Budget>]> {
        let Some(name) = name else {
            return Box::default();
        };
        let options = document.budgets.get(name).copied();
        let options = options.unwrap_or_else(BudgetOptions::default);
        let budgets = pools.iter().map(|pool| {
            let place = (service.clone(), Arc::clone(name), Arc::clone(pool.name()));
            let fresh = || Arc::new(Budget::new(options, Instant::now()));
            let budget = self.budgets.entry(place).or_insert_with(fresh);
            if *budget.options() != options {
                *budget = fresh();
            }
            Arc::clone(budget)
        });
        budgets.collect()
    }
}

/// What becomes of calls that the policy `name` gives up.
fn found(
    options: &LostOptions,
    extensions: &Extensions,
    name: &str,
    service: &ServiceKey,
) -> Option<(DeadLetters, LostCalls)> {
    let letters = extensions.shared::<DeadLetters>();
    match options.resolve(extensions, &letters) {
        Ok(lost) => Some((DeadLetters::clone(&letters), lost)),
        Err(error) => {
            tracing::error!(
                policy = name, %service, %error,
                "nothing becomes of calls that the policy gives up, for what it names cannot be had"
            );
            None
        }
    }
}

/// The policies for `method`: the most exact one, and before it those for traffic of a colour that are more exact.
fn choice(
    document: &PolicyDocument,
    by_name: &BTreeMap<Arc<str>, Arc<Policy>>,
    rest: &Arc<Policy>,
    service: &ServiceKey,
    method: &str,
) -> Choice {
    let fitting = document.policies.iter().filter_map(|(name, policy)| {
        let exactness = policy.matching.fits(service, method)?;
        Some((exactness, policy.matching.colour(), &by_name[name]))
    });
    let mut fitting: Vec<_> = fitting.collect();
    // Stable: of two that are as exact the first by name counts.
    fitting.sort_by_key(|(exactness, ..)| Reverse(*exactness));
    let uncoloured = fitting.iter().position(|(_, colour, _)| colour.is_none());
    let others = uncoloured.map_or(rest, |at| fitting[at].2);
    fitting.truncate(uncoloured.unwrap_or(fitting.len()));
    let coloured = fitting.into_iter().filter_map(|(_, colour, policy)| {
        let colour = colour?.clone();
        Some((colour, Arc::clone(policy)))
    });
    Choice {
        coloured: coloured.collect(),
        others: Arc::clone(others),
    }
}
