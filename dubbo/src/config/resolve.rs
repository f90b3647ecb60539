use std::collections::BTreeMap;

use super::{Config, Layered as _, MethodConfig, ReferenceConfig, ServiceConfig};

impl Config {
    /// What applies to a service that goes by any of `names`, the strongest first: usually the id given in code, the
    /// handler's type name and the interface.
    ///
    /// From strong to weak (`docs/spec/config.md` §2.3): `code`; the entry of `provider.services` that has one of the
    /// names, or else one of them as its `interface`; what `provider` sets for all; group and version of the application.
    pub fn service_settings(&self, names: &[&str], code: ServiceConfig) -> ServiceConfig {
        let mut service = code;
        let interface_of = |entry: &ServiceConfig| entry.interface.clone();
        if let Some(entry) = find(&self.provider.services, names, interface_of) {
            service.complete_from(entry);
        }
        service.complete_from(&self.provider.defaults);
        service.group.complete_from(&self.application.group);
        service.version.complete_from(&self.application.version);
        service
    }

    /// What applies to a reference that goes by any of `names`, the strongest first: usually the id given in code, the
    /// client's type name and the interface.
    ///
    /// From strong to weak (`docs/spec/config.md` §2.3): `code`; the entry of `consumer.references` that has one of the
    /// names, or else one of them as its `interface`; what `consumer` sets for all; group and version of the application.
    pub fn reference_settings(&self, names: &[&str], code: ReferenceConfig) -> ReferenceConfig {
        let mut reference = code;
        let interface_of = |entry: &ReferenceConfig| entry.interface.clone();
        if let Some(entry) = find(&self.consumer.references, names, interface_of) {
            reference.complete_from(entry);
        }
        let consumer = &self.consumer;
        reference.filter.complete_from(&consumer.filter);
        reference.registry_ids.complete_from(&consumer.registry_ids);
        reference.protocol.complete_from(&consumer.protocol);
        reference.timeout.complete_from(&consumer.request_timeout);
        reference.check.complete_from(&consumer.check);
        reference.group.complete_from(&self.application.group);
        reference.version.complete_from(&self.application.version);
        reference
    }
}

impl ReferenceConfig {
    /// What applies to one method: its own entry, then what the reference sets.
    pub fn method_settings(&self, name: &str) -> MethodConfig {
        let mut method = self.methods.get(name).cloned().unwrap_or_default();
        method.complete_from(&MethodConfig {
            timeout: self.timeout,
            retries: self.retries,
            loadbalance: self.loadbalance.clone(),
            sticky: self.sticky,
            weight: None,
        });
        method
    }
}

fn find<'e, T>(
    entries: &'e BTreeMap<String, T>,
    names: &[&str],
    interface_of: impl Fn(&T) -> Option<String>,
) -> Option<&'e T> {
    let by_name = names.iter().find_map(|name| entries.get(*name));
    by_name.or_else(|| {
        entries.values().find(|entry| {
            interface_of(entry).is_some_and(|interface| names.contains(&interface.as_str()))
        })
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::{ApplicationConfig, ConsumerConfig, ProviderConfig};

    #[test]
    fn the_nearest_setting_of_a_service_wins() {
        let config = Config::new()
            .application(ApplicationConfig::new().group("app-group").version("1.10"))
            .provider(
                ProviderConfig::new()
                    .defaults(
                        ServiceConfig::new()
                            .loadbalance("roundrobin")
                            .weight(7)
                            .param("a", "provider"),
                    )
                    .service(
                        "Greeter",
                        ServiceConfig::new()
                            .interface("demo.Greeter")
                            .group("")
                            .weight(0)
                            .param("b", "entry"),
                    ),
            );
        for names in [&["x", "Greeter"][..], &["x", "demo.Greeter"]] {
            let service = config.service_settings(names, ServiceConfig::new().param("a", "code"));
            assert_eq!(service.interface.as_deref(), Some("demo.Greeter"));
            assert_eq!(service.weight, Some(0), "an explicit zero is a setting");
            assert_eq!(
                service.group.as_deref(),
                Some(""),
                "an explicit empty text is one, too"
            );
            assert_eq!(service.version.as_deref(), Some("1.10"));
            assert_eq!(service.loadbalance.as_deref(), Some("roundrobin"));
            assert_eq!(service.params["a"], "code");
            assert_eq!(service.params["b"], "entry");
        }
        let other = config.service_settings(&["Other"], ServiceConfig::new());
        assert_eq!((other.interface, other.weight), (None, Some(7)));
    }

    #[test]
    fn the_nearest_timeout_of_a_call_wins() {
        let seconds = Duration::from_secs;
        let config = Config::new().consumer(
            ConsumerConfig::new().request_timeout(seconds(3)).reference(
                "Users",
                ReferenceConfig::new()
                    .timeout(seconds(2))
                    .retries(0)
                    .method("Get", MethodConfig::new().timeout(seconds(1))),
            ),
        );
        let users = config.reference_settings(&["Users"], ReferenceConfig::new());
        assert_eq!(users.method_settings("Get").timeout, Some(seconds(1)));
        assert_eq!(users.method_settings("Get").retries, Some(0));
        assert_eq!(users.method_settings("List").timeout, Some(seconds(2)));
        let others = config.reference_settings(&["Others"], ReferenceConfig::new());
        assert_eq!(others.method_settings("List").timeout, Some(seconds(3)));
        let code = ReferenceConfig::new().timeout(Duration::ZERO);
        assert_eq!(
            config.reference_settings(&["Users"], code).timeout,
            Some(Duration::ZERO)
        );
    }
}
