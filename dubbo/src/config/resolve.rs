use std::collections::BTreeMap;

use super::{Config, ConsumerConfig, Layered as _, ProviderConfig, ReferenceConfig, ServiceConfig};

impl ProviderConfig {
    /// The entry of a service that goes by any of these names, the strongest first: usually the id given in code, the
    /// handler's type name and the interface. An entry is found by its own name, or else by its `interface`.
    pub fn find<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Option<(&str, &ServiceConfig)> {
        find(&self.services, names, |service| {
            service.interface.as_deref()
        })
    }
}

impl ConsumerConfig {
    /// The entry of a reference that goes by any of these names, the strongest first: usually the id given in code, the
    /// client's type name and the interface. An entry is found by its own name, or else by its `interface`.
    pub fn find<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Option<(&str, &ReferenceConfig)> {
        find(&self.references, names, |reference| {
            reference.interface.as_deref()
        })
    }
}

impl Config {
    /// Gives a service what `provider` sets for all, and the group, version and tag of the application
    /// (`docs/spec/config.md` §2.3).
    pub fn complete_service(&self, service: &mut ServiceConfig) {
        service.complete_from(&self.provider.defaults);
        service.complete_from(&ServiceConfig {
            group: self.application.group.clone(),
            version: self.application.version.clone(),
            tag: self.application.tag.clone(),
            ..ServiceConfig::default()
        });
    }

    /// Gives a reference what `consumer` sets for all, and the group and version of the application
    /// (`docs/spec/config.md` §2.3).
    pub fn complete_reference(&self, reference: &mut ReferenceConfig) {
        reference.complete_from(&ReferenceConfig {
            filter: self.consumer.filter.clone(),
            registry_ids: self.consumer.registry_ids.clone(),
            protocol: self.consumer.protocol.clone(),
            timeout: self.consumer.request_timeout,
            check: self.consumer.check,
            group: self.application.group.clone(),
            version: self.application.version.clone(),
            ..ReferenceConfig::default()
        });
        if self.consumer.adaptive_service == Some(true) {
            reference.cluster = Some(ADAPTIVE_CLUSTER.to_owned());
            reference.loadbalance = Some(ADAPTIVE_LOAD_BALANCE.to_owned());
        }
    }
}

/// What `consumer.adaptive-service` stands for, as in dubbo-go.
pub(super) const ADAPTIVE_CLUSTER: &str = "adaptiveService";
pub(super) const ADAPTIVE_LOAD_BALANCE: &str = "p2c";

fn find<'e, 'n, T>(
    entries: &'e BTreeMap<String, T>,
    names: impl IntoIterator<Item = &'n str>,
    interface_of: impl Fn(&T) -> Option<&str>,
) -> Option<(&'e str, &'e T)> {
    let names: Vec<_> = names.into_iter().collect();
    let by_name = names.iter().find_map(|name| entries.get_key_value(*name));
    let found = by_name.or_else(|| {
        entries
            .iter()
            .find(|(_, entry)| interface_of(entry).is_some_and(|name| names.contains(&name)))
    });
    found.map(|(name, entry)| (name.as_str(), entry))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::ApplicationConfig;

    #[test]
    fn an_entry_is_found_by_its_name_or_else_by_its_interface() {
        let service = |interface: &str| ServiceConfig::new().interface(interface);
        let provider = ProviderConfig::new()
            .service("a", service("demo.A"))
            .service("demo.A", service("demo.B"));
        for (names, want) in [
            (&["x", "a"][..], Some("demo.A")),
            (&["demo.A"], Some("demo.B")),
            (&["x", "demo.B"], Some("demo.B")),
            (&["x"], None),
        ] {
            let found = provider.find(names.iter().copied());
            assert_eq!(
                found.and_then(|(_, found)| found.interface.as_deref()),
                want,
                "{names:?}"
            );
        }
    }

    #[test]
    fn the_nearest_setting_of_a_service_wins() {
        let config = Config::new()
            .application(
                ApplicationConfig::new()
                    .group("app")
                    .version("1.10")
                    .tag("gray"),
            )
            .provider(
                ProviderConfig::new().defaults(
                    ServiceConfig::new()
                        .loadbalance("roundrobin")
                        .weight(7)
                        .param("a", "provider"),
                ),
            );
        let mut service = ServiceConfig::new()
            .group("")
            .weight(0)
            .param("a", "own")
            .param("b", "own");
        config.complete_service(&mut service);
        let want = ServiceConfig::new()
            .group("")
            .version("1.10")
            .tag("gray")
            .loadbalance("roundrobin")
            .weight(0)
            .param("a", "own")
            .param("b", "own");
        assert_eq!(
            service, want,
            "an explicit zero and an explicit empty text are settings"
        );
    }

    #[test]
    fn the_nearest_setting_of_a_reference_wins() {
        let seconds = Duration::from_secs;
        let config = Config::new()
            .application(ApplicationConfig::new().group("app"))
            .consumer(
                ConsumerConfig::new()
                    .request_timeout(seconds(3))
                    .check(false)
                    .filter(["audit"]),
            );
        for (own, want) in [
            (ReferenceConfig::new(), seconds(3)),
            (ReferenceConfig::new().timeout(seconds(1)), seconds(1)),
            (
                ReferenceConfig::new().timeout(Duration::ZERO),
                Duration::ZERO,
            ),
        ] {
            let mut reference = own;
            config.complete_reference(&mut reference);
            let want = ReferenceConfig::new()
                .timeout(want)
                .check(false)
                .filter(["audit"])
                .group("app");
            assert_eq!(reference, want);
        }
    }
}
