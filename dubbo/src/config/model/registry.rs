use std::{collections::BTreeMap, time::Duration};

use dubbo_core::yaml::{ProblemKind, Section};

use super::{Secret, settings};

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
        /// `registry-type`: what is registered. By default each interface; `service`, dubbo-go's default, is not
        /// supported yet, and neither is `all`.
        registry_type: Option<RegistryType>,
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

    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        for key in ["ttl", "zone", "weight"] {
            s.unsupported(key);
        }
        for key in ["preferred", "use-as-meta-report", "use-as-config-center"] {
            s.unsupported_switch(key);
        }
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
            registry_type: read_type(s),
        }
    }
}

/// What a provider registers, and what a consumer therefore looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegistryType {
    /// `interface`: each service by its interface, with all its parameters.
    Interface,
}

fn read_type(s: &mut Section<'_, '_>) -> Option<RegistryType> {
    let kind = s.string("registry-type")?;
    match kind.to_ascii_lowercase().as_str() {
        "interface" => return Some(RegistryType::Interface),
        "all" | "service" => {
            let message = format!("`{kind}` is not supported yet; `interface` is");
            s.error("registry-type", ProblemKind::Unsupported, message);
        }
        _ => {
            let message = format!("expected `interface`, `service` or `all`, found `{kind}`");
            s.error("registry-type", ProblemKind::Type, message);
        }
    }
    None
}
