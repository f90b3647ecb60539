//! What others cannot do, whoever is on the other side: found by running them with each other.

use crate::interop::route::Party;

use super::cell::{Cell, Level, Registry, Scenario};

/// Some of the cells: those that have all that is named.
struct Limit {
    registry: Option<Registry>,
    consumer: Option<Party>,
    provider: Option<Party>,
    scenario: fn(Scenario) -> bool,
    reason: &'static str,
}

/// Why a cell cannot work, if it cannot.
pub(in crate::interop) fn reason(cell: Cell) -> Option<&'static str> {
    let named = |party: Option<Party>, own: Party| party.is_none_or(|party| party == own);
    LIMITS
        .iter()
        .find(|limit| {
            limit.registry.is_none_or(|r| r == cell.registry)
                && named(limit.consumer, cell.route.consumer)
                && named(limit.provider, cell.route.provider)
                && (limit.scenario)(cell.scenario)
        })
        .map(|limit| limit.reason)
}

const ANY: Limit = Limit {
    registry: None,
    consumer: None,
    provider: None,
    scenario: |_| true,
    reason: "",
};
const LIMITS: &[Limit] = &[
    Limit {
        registry: Some(Registry::Etcd),
        consumer: Some(Party::Go),
        scenario: |scenario| scenario.level() == Level::Interface,
        reason: "dubbo-go's consumer does not hear from etcd of a provider by interface that comes back",
        ..ANY
    },
    Limit {
        registry: Some(Registry::Etcd),
        provider: Some(Party::Go),
        scenario: Scenario::is_outage,
        reason: "dubbo-go's provider does not register again in etcd when its lease was lost",
        ..ANY
    },
    Limit {
        registry: Some(Registry::Nacos),
        provider: Some(Party::Go),
        scenario: Scenario::is_outage,
        reason: "dubbo-go's provider does not register again in Nacos, or late, when the server was lost",
        ..ANY
    },
];
