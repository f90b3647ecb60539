//! What a registry's or a store's settings look like to its plugins.

use dubbo_core::url::Url;

use crate::config::{MetadataConfig, RegistryConfig};

/// The URL of the registry called `id`. Its plugins find there all that the configuration says of it.
pub(crate) fn of(id: &str, registry: &RegistryConfig, metadata: &MetadataConfig) -> Url {
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
    let millis = |duration: std::time::Duration| duration.as_millis().to_string();
    let named = [
        ("group", registry.group.clone()),
        ("namespace", registry.namespace.clone()),
        ("timeout", registry.timeout.map(millis)),
        ("ttl", registry.ttl.map(millis)),
        ("compat-go33", metadata.compat_go33.map(|on| on.to_string())),
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
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_registrys_settings_are_in_its_url() {
        let registry = RegistryConfig::at("nacos://10.0.0.1:8848, 10.0.0.2:8848")
            .namespace("dev")
            .group("g")
            .username("u")
            .password("p")
            .timeout(Duration::from_secs(2))
            .ttl(Duration::from_mins(1))
            .param("namespace", "wins");
        let metadata = MetadataConfig::new().compat_go33(false);
        assert_eq!(
            of("n", &registry, &metadata).to_string(),
            "nacos://u:p@10.0.0.1:8848?backup=10.0.0.2:8848&compat-go33=false&group=g&namespace=wins&timeout=2000&ttl=60000"
        );
        assert_eq!(
            of("local", &RegistryConfig::memory(), &MetadataConfig::new()).to_string(),
            "memory://local"
        );
    }
}
