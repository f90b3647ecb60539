//! The configured registries, as plugins.

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    extension::Extensions,
    registry::{Registry, RegistryError},
    url::Url,
};

use crate::{
    config::{Config, RegistryConfig, defaults},
    error::Error,
};

/// One registry and what the configuration calls it.
pub(super) struct NamedRegistry {
    pub(super) id: String,
    pub(super) plugin: Arc<dyn Registry>,
    timeout: Duration,
}

impl NamedRegistry {
    /// Bounds a request to the registry by its `timeout`.
    pub(super) async fn within<T>(
        &self,
        operation: &str,
        request: impl Future<Output = Result<T, RegistryError>>,
    ) -> Result<T, RegistryError> {
        let answer = tokio::time::timeout(self.timeout, request).await;
        answer.unwrap_or_else(|_| {
            let url = self.plugin.url();
            let address = format!("{}://{}", url.protocol(), url.address());
            let reason = format!("no answer within {} ms", self.timeout.as_millis());
            Err(RegistryError::new(operation, address, reason))
        })
    }
}

/// Makes the registries that are not switched off. None of them connects yet.
pub(super) fn create(
    config: &Config,
    extensions: &Extensions,
) -> Result<Vec<NamedRegistry>, Error> {
    config
        .registries
        .iter()
        .filter(|(_, registry)| !registry.is_off())
        .map(|(id, registry)| {
            let url = url(id, registry);
            Ok(NamedRegistry {
                id: id.clone(),
                plugin: extensions.create::<dyn Registry>(url.protocol(), &url)?,
                timeout: registry.timeout.unwrap_or(defaults::REGISTRY_TIMEOUT),
            })
        })
        .collect()
}

/// Those that a service or reference asks for: all of them when it names none.
pub(super) fn chosen<'a>(
    all: &'a [NamedRegistry],
    ids: Option<&'a [String]>,
) -> impl Iterator<Item = (usize, &'a NamedRegistry)> {
    let ids = ids.filter(|ids| !ids.is_empty());
    all.iter()
        .enumerate()
        .filter(move |(_, registry)| ids.is_none_or(|ids| ids.contains(&registry.id)))
}

fn url(id: &str, registry: &RegistryConfig) -> Url {
    let hosts = registry.hosts();
    let (first, backups) = hosts.split_first().unwrap_or((&id, &[]));
    let plugin = registry.plugin().unwrap_or_default();
    let mut url: Url = format!("{plugin}://{first}")
        .parse()
        .unwrap_or_else(|_| Url::new(plugin, *first));
    if !backups.is_empty() {
        url = url.with_param("backup", backups.join(","));
    }
    let user = registry.username.as_deref().unwrap_or_default();
    if let Some(password) = &registry.password {
        url = url.with_credentials(user, password.expose());
    } else if !user.is_empty() {
        url = url.with_credentials(user, "");
    }
    let named = [
        ("group", registry.group.as_deref()),
        ("namespace", registry.namespace.as_deref()),
    ];
    for (key, value) in named {
        if let Some(value) = value {
            url = url.with_param(key, value);
        }
    }
    url.with_params(
        registry
            .params
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str())),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registrys_settings_are_in_its_url() {
        let registry = RegistryConfig::at("nacos://10.0.0.1:8848, 10.0.0.2:8848")
            .namespace("dev")
            .group("g")
            .username("u")
            .password("p")
            .param("namespace", "wins");
        assert_eq!(
            url("n", &registry).to_string(),
            "nacos://u:p@10.0.0.1:8848?backup=10.0.0.2:8848&group=g&namespace=wins"
        );
        assert_eq!(
            url("local", &RegistryConfig::memory()).to_string(),
            "memory://local"
        );
    }
}
