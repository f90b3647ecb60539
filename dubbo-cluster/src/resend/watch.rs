//! Who looks after the providers of one service, and stops calls to it.

use std::sync::{Arc, OnceLock};

use dubbo_core::{
    cluster::Node,
    service::{MethodRef, ServiceDescriptor, ServiceKey},
};

use super::health::{BreakerOptions, BreakerState, Forced, Health, HealthGroup, ServiceBreaker};

/// The health of one service's providers, and the breakers of its methods. All references of the service have one.
pub(super) struct Watch {
    service: ServiceKey,
    group: HealthGroup,
    /// By the number of the method, and last for those that the service does not know.
    breakers: Box<[OnceLock<ServiceBreaker>]>,
}

impl Watch {
    pub(super) fn new(service: &ServiceKey, descriptor: &Arc<ServiceDescriptor>) -> Self {
        let methods = descriptor.methods().len();
        Self {
            service: service.clone(),
            group: HealthGroup::new(service.to_string()),
            breakers: (0..=methods).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The methods whose breakers are not closed.
    pub(super) fn broken(&self) -> impl Iterator<Item = (String, BreakerState)> {
        let breakers = self.breakers.iter().filter_map(OnceLock::get);
        let states = breakers.map(|breaker| (breaker.name().to_owned(), breaker.state()));
        states.filter(|(_, state)| *state != BreakerState::Closed)
    }

    /// Whether it has a place for each method of `descriptor`.
    pub(super) fn knows(&self, descriptor: &ServiceDescriptor) -> bool {
        self.breakers.len() == descriptor.methods().len() + 1
    }

    pub(super) fn force(&self, forced: Forced) {
        self.group.force(forced);
    }

    /// The health of `node`, made with the first question. `None` where a plugin has put one of its own.
    pub(super) fn health<'n>(&self, node: &'n Node) -> Option<&'n Health> {
        let address = || node.invoker.url().address();
        node.state.health(|| Health::new(&self.group, address()))
    }

    /// Says how many providers there are.
    pub(super) fn listed(&self, count: usize) {
        self.group.listed(count);
    }

    /// The breaker of `method`.
    pub(super) fn breaker(&self, method: &MethodRef, options: &BreakerOptions) -> &ServiceBreaker {
        let last = self.breakers.len() - 1;
        let breaker = &self.breakers[method.index().min(last)];
        breaker.get_or_init(|| {
            let name = format!("{}.{}", self.service, method.name());
            ServiceBreaker::new(name, options)
        })
    }
}
