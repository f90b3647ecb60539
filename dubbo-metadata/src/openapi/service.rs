//! The services that a document is about, and which of them a caller wants.

use std::sync::Arc;

use dubbo_core::service::{ServiceDescriptor, ServiceKey};

/// A service that is exported.
#[derive(Debug, Clone)]
pub struct Documented {
    /// What it is called by.
    pub key: ServiceKey,
    /// The group of documents that it is in; most are in [`DEFAULT_GROUP`].
    pub group: String,
    /// Its methods.
    pub descriptor: Arc<ServiceDescriptor>,
}

/// Which services a document is to be about: those that fit everything that is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// The group of documents, or the service's own group. Empty is any.
    pub group: String,
    /// The service's version. Empty is any.
    pub version: String,
    /// One of these tags, which are interfaces. None is any.
    pub tags: Vec<String>,
    /// One of these interfaces, or below one of these packages. None is any.
    pub services: Vec<String>,
}

impl Filter {
    pub(super) fn takes(&self, service: &Documented) -> bool {
        let key = &service.key;
        let interface = key.interface();
        let own_group = key.group().unwrap_or_default();
        (self.group.is_empty() || [&*service.group, own_group].contains(&&*self.group))
            && (self.version.is_empty() || key.version() == Some(&*self.version))
            && (self.tags.is_empty() || self.tags.iter().any(|tag| tag == interface))
            && (self.services.is_empty() || self.services.iter().any(|one| is_of(interface, one)))
    }
}

/// Whether `interface` is `name`, or in the package of that name.
fn is_of(interface: &str, name: &str) -> bool {
    interface
        .strip_prefix(name.trim_end_matches('.'))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The group of documents of services that name none, as in dubbo-go.
pub const DEFAULT_GROUP: &str = "default";

#[cfg(test)]
mod tests {
    use super::*;

    fn service(key: &str, group: &str) -> Documented {
        let key: ServiceKey = key.parse().expect(key);
        Documented {
            descriptor: Arc::new(ServiceDescriptor::new(
                key.interface().to_owned(),
                Vec::new(),
            )),
            key,
            group: group.to_owned(),
        }
    }

    #[test]
    fn a_service_has_to_fit_everything_and_one_of_each_list() {
        let services = [
            service("a.B", DEFAULT_GROUP),
            service("g/a.C:1.0.0", DEFAULT_GROUP),
            service("a.b.D:1.0.0", "partners"),
        ];
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        for (group, version, tags, names, want) in [
            ("", "", &[][..], &[][..], &["a.B", "a.C", "a.b.D"][..]),
            (DEFAULT_GROUP, "", &[], &[], &["a.B", "a.C"]),
            ("g", "", &[], &[], &["a.C"]),
            ("partners", "", &[], &[], &["a.b.D"]),
            ("", "1.0.0", &[], &[], &["a.C", "a.b.D"]),
            ("", "", &["a.B", "a.C"], &[], &["a.B", "a.C"]),
            ("", "", &["a"], &[], &[]),
            ("", "", &[], &["a.B", "a.b."], &["a.B", "a.b.D"]),
            ("", "", &[], &["a"], &["a.B", "a.C", "a.b.D"]),
            ("", "", &[], &["a.", "x"], &["a.B", "a.C", "a.b.D"]),
            ("", "1.0.0", &["a.B"], &["a.B"], &[]),
            ("nobody", "", &[], &[], &[]),
        ] {
            let filter = Filter {
                group: group.to_owned(),
                version: version.to_owned(),
                tags: texts(tags),
                services: texts(names),
            };
            let taken: Vec<_> = services
                .iter()
                .filter(|service| filter.takes(service))
                .map(|service| service.key.interface())
                .collect();
            assert_eq!(taken, want, "{filter:?}");
        }
    }
}
