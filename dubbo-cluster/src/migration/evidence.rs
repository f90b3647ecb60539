//! What a path has to offer, counted.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use dubbo_core::{cluster::Node, service::ServiceKey};

/// The providers of one path, service by service: a reference to all groups matches several.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Evidence {
    pub(super) services: BTreeMap<ServiceKey, Offer>,
    /// How many addresses there are in all, each counted once.
    pub(super) addresses: usize,
    /// Whether the registry has ever answered. No addresses are none only then.
    pub(super) answered: bool,
}

/// Who serves one service, and how.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Offer {
    pub(super) addresses: usize,
    pub(super) methods: BTreeSet<String>,
    pub(super) protocols: BTreeSet<String>,
}

impl Evidence {
    /// Counts `nodes`. A provider with several URLs at one address is one address.
    pub(super) fn of(nodes: &[Node], answered: bool) -> Self {
        let mut services: BTreeMap<ServiceKey, Offer> = BTreeMap::new();
        let mut seen: HashSet<(ServiceKey, &str, Option<u16>)> = HashSet::new();
        let mut all: HashSet<(&str, Option<u16>)> = HashSet::new();
        for node in nodes {
            let url = node.invoker.url();
            let key = url.service_key();
            let offer = services.entry(key.clone()).or_default();
            all.insert((url.host(), url.port()));
            if seen.insert((key, url.host(), url.port())) {
                offer.addresses += 1;
            }
            if !offer.protocols.contains(url.protocol()) {
                offer.protocols.insert(url.protocol().to_owned());
            }
            let methods = url.param("methods").unwrap_or_default().split(',');
            for method in methods.map(str::trim).filter(|method| !method.is_empty()) {
                if !offer.methods.contains(method) {
                    offer.methods.insert(method.to_owned());
                }
            }
        }
        Self {
            services,
            addresses: all.len(),
            answered,
        }
    }
}

#[cfg(test)]
mod tests {
    use dubbo_core::cluster::NodeWeight;

    use super::*;
    use crate::testing::Scripted;

    #[test]
    fn metadata_a25_addresses_are_counted_once_for_each_service() {
        let nodes = [
            "tri://h:1/a.B?methods=x,y",
            "dubbo://h:1/a.B?methods=y,z",
            "tri://h:2/a.B",
            "tri://h:2/a.B?timestamp=2",
            "tri://h:2/a.B?group=g",
            "tri://i:2/a.B?version=1",
        ]
        .map(|text| {
            let url = text.parse().expect(text);
            Node::new(Scripted::of(url, []), NodeWeight::constant(1))
        });
        let evidence = Evidence::of(&nodes, true);
        let counts = evidence.services.iter();
        let counts: Vec<_> = counts
            .map(|(key, o)| format!("{key} {}", o.addresses))
            .collect();
        assert_eq!(counts, ["a.B 2", "a.B:1 1", "g/a.B 1"]);
        assert_eq!(evidence.addresses, 3);
        let offer = &evidence.services[&ServiceKey::new("a.B")];
        assert_eq!(Vec::from_iter(&offer.methods), ["x", "y", "z"]);
        assert_eq!(Vec::from_iter(&offer.protocols), ["dubbo", "tri"]);
    }
}
