use std::{collections::BTreeMap, time::Duration};

use dubbo_core::{
    config_center::ConfigCenter, discovery::ServiceDiscovery, extension::Extensions,
    metadata::MetadataReport, registry::Registry, yaml::Section,
};

use super::{Config, Secret, provider::MAX_COUNT, settings};

settings! {
    /// `dubbo.registries.<id>`: one place where providers and consumers find each other (`docs/spec/config.md` §1.10).
    pub struct RegistryConfig {
        /// `protocol`: the registry's plugin. By default the scheme of `address`; one of the two is required.
        protocol: Option<String>,
        /// `address`: `host:port`, several with commas between them, or `scheme://host:port`. Empty or `N/A` switches the
        /// registry off. Optional for `memory`, whose address tells several of them in one process apart.
        address: Option<String>,
        /// `timeout`, by default 5 s: how long one request to the registry may take.
        timeout: Option<Duration>,
        /// `group`: a space of its own inside the registry.
        group: Option<String>,
        /// `namespace`: a space of its own inside the registry, for those that have them.
        namespace: Option<String>,
        /// `username`.
        username: Option<String>,
        /// `password`. Never printed.
        password: Option<Secret>,
        /// `params`: further parameters for the plugin. They win over the settings above.
        params[param]: BTreeMap<String, String>,
        /// `registry-type`: what is registered, and looked for. By default the application, as in dubbo-go; each interface
        /// where the registry has nothing else.
        registry_type: Option<RegistryType>,
        /// `register-mode`, by default that of the application: Dubbo Java's word for `registry-type`, which wins over it.
        register_mode: Option<RegistryType>,
        /// `check`, by default true: whether a start fails when the registry does not answer within `timeout`. If false,
        /// it is told later what it missed.
        check: Option<bool>,
        /// `ttl`, by default 60 s: how often what is registered and what is followed there is compared with what it
        /// should be, besides every time that the registry says something.
        ttl: Option<Duration>,
        /// `zone`: where the registry is. A call with the attachment `registry_zone` goes to providers of that zone's
        /// registries when there are any.
        zone: Option<String>,
        /// `weight`, by default 100, which 0 means too: the share of calls that go to this registry's providers, where
        /// several registries have some.
        weight: Option<u32>,
        /// `preferred`, by default false: whether calls go to this registry's providers as long as it has any.
        preferred: Option<bool>,
        /// `instance-filter`, by default none: the plugins that look at each list of instances from there before anybody
        /// else does, in this order ([`InstanceListFilter`](crate::spi::discovery::InstanceListFilter)).
        instance_filter: Option<Vec<String>>,
        /// `extend-params`, by default none: what this program adds, for its own routers and balancers, to what instances
        /// from there say of themselves. It wins over what an instance says, and what a service says wins over it.
        extend_params[extend_param]: BTreeMap<String, String>,
        /// `use-as-meta-report`, by default true: whether metadata and mappings are kept there, too.
        use_as_meta_report: Option<bool>,
        /// `use-as-config-center`, by default true: whether rules are looked for there, too: all of them where there is no
        /// `config-center`, and the migration rule of this application, where it is followed both ways, in any case.
        use_as_config_center: Option<bool>,
    }
}

impl RegistryConfig {
    /// The registry inside this process.
    pub fn memory() -> Self {
        Self::new().protocol("memory")
    }

    /// The registry at `scheme://host:port`.
    pub fn at(address: impl Into<String>) -> Self {
        Self::new().address(address)
    }

    /// The plugin's name: `protocol`, else the scheme of `address`.
    pub fn plugin(&self) -> Option<&str> {
        let named = self.protocol.as_deref().filter(|name| !name.is_empty());
        named.or_else(|| self.scheme())
    }

    /// The scheme of `address`, if it has one.
    pub fn scheme(&self) -> Option<&str> {
        let (scheme, _) = self.address.as_deref()?.split_once("://")?;
        Some(scheme.trim())
    }

    /// The hosts of `address`, without its scheme and without blanks. Empty if there is no address.
    pub fn hosts(&self) -> Vec<&str> {
        let address = self.address.as_deref().unwrap_or_default();
        let hosts = address
            .split_once("://")
            .map_or(address, |(_, hosts)| hosts);
        hosts
            .split(',')
            .map(str::trim)
            .filter(|host| !host.is_empty())
            .collect()
    }

    /// Whether the address is there to say that there is no registry: empty or `N/A`.
    pub fn is_off(&self) -> bool {
        self.address
            .as_deref()
            .map(str::trim)
            .is_some_and(|address| address.is_empty() || address.eq_ignore_ascii_case("N/A"))
    }

    /// What is registered and looked for: `register-mode`, else `registry-type`, else what the plugin can do.
    pub(crate) fn type_or_default(&self, config: &Config, extensions: &Extensions) -> RegistryType {
        let plugin = self.plugin().unwrap_or_default();
        let mode = self.register_mode.or(config.application.register_mode);
        mode.or(self.registry_type).unwrap_or_else(|| {
            let has_both = extensions.contains::<dyn Registry>(plugin);
            match extensions.contains::<dyn ServiceDiscovery>(plugin) {
                true if has_both && config.migration.enabled == Some(true) => RegistryType::All,
                true => RegistryType::Service,
                false => RegistryType::Interface,
            }
        })
    }

    /// Whether metadata and mappings are kept there.
    pub(crate) fn is_report(&self, extensions: &Extensions) -> bool {
        let plugin = self.plugin().unwrap_or_default();
        !self.is_off()
            && self.use_as_meta_report != Some(false)
            && extensions.contains::<dyn MetadataReport>(plugin)
    }

    /// Whether rules are looked for there.
    pub(crate) fn is_config_center(&self, extensions: &Extensions) -> bool {
        let plugin = self.plugin().unwrap_or_default();
        !self.is_off()
            && self.use_as_config_center != Some(false)
            && extensions.contains::<dyn ConfigCenter>(plugin)
    }

    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        s.no_effect("simplified", super::UNREAD_IN_GO);
        Self {
            protocol: s.string("protocol"),
            address: s.string("address"),
            timeout: s.duration("timeout"),
            group: s.string("group"),
            namespace: s.string("namespace"),
            username: s.string("username"),
            password: s.string("password").map(Secret::from),
            params: s.texts("params"),
            registry_type: s.choice("registry-type", &TYPES),
            register_mode: s.choice("register-mode", &TYPES),
            check: s.bool("check"),
            ttl: s.duration("ttl"),
            zone: s.string("zone"),
            weight: s.integer("weight", 0..=MAX_COUNT),
            preferred: s.bool("preferred"),
            instance_filter: s.list("instance-filter"),
            extend_params: s.texts("extend-params"),
            use_as_meta_report: s.bool("use-as-meta-report"),
            use_as_config_center: s.bool("use-as-config-center"),
        }
    }
}

/// What a provider registers, and what a consumer therefore looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegistryType {
    /// `all`: both. Consumers look for applications and for interfaces; which of them calls go by says the migration's rule
    /// ([`Instance::set_migration_rule`](crate::Instance::set_migration_rule)).
    All,
    /// `interface`: each service by its interface, with all its parameters.
    Interface,
    /// `service`: the application, whose metadata says what it serves. `instance`, as Dubbo Java has it, is the same.
    Service,
}

pub(super) const TYPES: [(&str, RegistryType); 4] = [
    ("all", RegistryType::All),
    ("instance", RegistryType::Service),
    ("interface", RegistryType::Interface),
    ("service", RegistryType::Service),
];
