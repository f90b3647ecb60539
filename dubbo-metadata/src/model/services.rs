//! The services of an application, found by what consumers ask for.

use std::{
    collections::{BTreeMap, HashMap, btree_map},
    fmt,
    ops::Deref,
    sync::{Arc, OnceLock},
};

use dubbo_core::service::ServiceKey;

use super::ServiceInfo;

/// The services of one application by their [match keys](ServiceInfo::match_key): a map that never changes.
///
/// Because it does not, what finds services in it is made once, when it is first asked.
#[derive(Clone, Default)]
pub struct Services {
    by_match_key: BTreeMap<String, Arc<ServiceInfo>>,
    index: OnceLock<Index>,
}

/// What finds services: lists in the order of the map.
#[derive(Clone, Default)]
struct Index {
    by_interface: HashMap<String, Vec<Arc<ServiceInfo>>>,
    by_service_key: HashMap<String, Vec<Arc<ServiceInfo>>>,
}

impl Services {
    /// Those of `interface`, in whatever group, version and protocol.
    pub fn of_interface(&self, interface: &str) -> &[Arc<ServiceInfo>] {
        let found = self.index().by_interface.get(interface);
        found.map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn of_key(&self, service_key: &str) -> &[Arc<ServiceInfo>] {
        let found = self.index().by_service_key.get(service_key);
        found.map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn matching<'s>(
        &'s self,
        pattern: &'s ServiceKey,
    ) -> impl Iterator<Item = &'s Arc<ServiceInfo>> {
        let (all, indexed) = match pattern.interface() {
            ANY => (Some(self.by_match_key.values()), &[][..]),
            interface => (None, self.of_interface(interface)),
        };
        let candidates = all.into_iter().flatten().chain(indexed);
        candidates.filter(|service| {
            let provided = ServiceKey::new(service.name.as_str())
                .with_group(&service.group)
                .with_version(&service.version);
            pattern.wants(&provided)
        })
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let mut index = Index::default();
            for service in self.by_match_key.values() {
                for (list, key) in [
                    (&mut index.by_interface, service.name.clone()),
                    (&mut index.by_service_key, service.service_key()),
                ] {
                    list.entry(key).or_default().push(Arc::clone(service));
                }
            }
            index
        })
    }
}

impl Deref for Services {
    type Target = BTreeMap<String, Arc<ServiceInfo>>;

    fn deref(&self) -> &Self::Target {
        &self.by_match_key
    }
}

impl FromIterator<Arc<ServiceInfo>> for Services {
    /// Of two services with one match key the last one counts.
    fn from_iter<I: IntoIterator<Item = Arc<ServiceInfo>>>(services: I) -> Self {
        let keyed = services
            .into_iter()
            .map(|service| (service.match_key(), service));
        Self {
            by_match_key: keyed.collect(),
            index: OnceLock::new(),
        }
    }
}

impl<'s> IntoIterator for &'s Services {
    type Item = (&'s String, &'s Arc<ServiceInfo>);
    type IntoIter = btree_map::Iter<'s, String, Arc<ServiceInfo>>;

    fn into_iter(self) -> Self::IntoIter {
        self.by_match_key.iter()
    }
}

impl PartialEq for Services {
    fn eq(&self, other: &Self) -> bool {
        self.by_match_key == other.by_match_key
    }
}

impl Eq for Services {}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.by_match_key.fmt(f)
    }
}

const ANY: &str = "*";

#[cfg(test)]
mod tests {
    use super::*;

    fn services(keys: &[&str]) -> Services {
        let service = |key: &&str| {
            let (service, protocol) = key.rsplit_once(':').expect("a protocol");
            let service: ServiceKey = service.parse().expect("a service key");
            Arc::new(ServiceInfo {
                name: service.interface().to_owned(),
                group: service.group().unwrap_or_default().to_owned(),
                version: service.version().unwrap_or_default().to_owned(),
                protocol: protocol.to_owned(),
                ..ServiceInfo::default()
            })
        };
        keys.iter().map(service).collect()
    }

    fn keys<'s>(found: impl IntoIterator<Item = &'s Arc<ServiceInfo>>) -> Vec<String> {
        found.into_iter().map(|s| s.match_key()).collect()
    }

    const ALL: [&str; 7] = [
        "a.B:tri",
        "a.B:dubbo",
        "a.C:tri",
        "a.D:1:tri",
        "f/a.B:1:tri",
        "g/a.B:1:tri",
        "g/a.B:2:dubbo",
    ];

    #[test]
    fn services_are_found_by_their_key_on_every_protocol() {
        let services = services(&ALL);
        for (key, want) in [
            ("a.B", &["a.B:dubbo", "a.B:tri"][..]),
            ("a.D:1", &["a.D:1:tri"]),
            ("g/a.B:2", &["g/a.B:2:dubbo"]),
            ("g/a.B", &[]),
            ("*/a.B:*", &[]),
            ("a.D", &[]),
        ] {
            assert_eq!(keys(services.of_key(key)), want, "{key}");
        }
    }

    #[test]
    fn services_are_found_by_patterns() {
        let services = services(&ALL);
        for (pattern, want) in [
            ("a.B", &["a.B:dubbo", "a.B:tri"][..]),
            ("*/a.B:1", &["f/a.B:1:tri", "g/a.B:1:tri"]),
            ("g/a.B:1,2", &["g/a.B:1:tri", "g/a.B:2:dubbo"]),
            ("*", &["a.B:dubbo", "a.B:tri", "a.C:tri"]),
            ("a.D:2", &[]),
            ("g/*:*", &["g/a.B:1:tri", "g/a.B:2:dubbo"]),
            ("*/a.E:*", &[]),
        ] {
            let pattern: ServiceKey = pattern.parse().expect("a service key");
            assert_eq!(keys(services.matching(&pattern)), want, "{pattern}");
        }
        assert_eq!(services.of_interface("a.B").len(), 5);
    }

    #[test]
    fn what_finds_services_is_made_once_and_is_no_part_of_their_value() {
        let (asked, other) = (services(&ALL), services(&ALL));
        let first = asked.of_interface("a.B").as_ptr();
        assert_eq!(asked.of_interface("a.B").as_ptr(), first);
        assert_eq!(asked, other);
    }
}
