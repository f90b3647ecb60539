//! From the configuration to registries and stores of metadata.

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    discovery::ServiceDiscovery,
    extension::{ExtensionPoint, Extensions},
    metadata::MetadataReport,
    protocol::Protocol,
    registry::Registry,
    url::Url,
};
use dubbo_metadata::{
    consumer::{Consumer, ConsumerOptions, Fetch, FetchSlots},
    instance::{Customizers, Storage},
    model::ParamsFilters,
    provider::{Provider, ProviderOptions},
};

use super::{Application, Caches, NamedRegistry, Reports, Roads, Timeout, url};
use crate::{
    config::{Config, MetadataType, RegistryConfig, RegistryType, defaults},
    error::Error,
    instance::export::{application_name, now_millis},
    observe::tally::Tally,
};

/// What registries are made from.
pub(super) struct Make<'m> {
    pub(super) config: &'m Config,
    pub(super) extensions: &'m Extensions,
    pub(super) fetch: &'m Arc<dyn Fetch>,
    pub(super) reports: &'m Reports,
    pub(super) slots: &'m FetchSlots,
    pub(super) caches: &'m Caches,
}

impl Make<'_> {
    pub(super) fn registry(
        &self,
        id: &str,
        registry: &RegistryConfig,
    ) -> Result<NamedRegistry, Error> {
        let url = url::of(id, registry, &self.config.metadata);
        let kind = registry.type_or_default(self.config, self.extensions);
        let interface = (kind != RegistryType::Service)
            .then(|| self.extensions.create::<dyn Registry>(url.protocol(), &url));
        let application =
            (kind != RegistryType::Interface).then(|| self.application(id, registry, &url));
        Ok(NamedRegistry {
            id: id.to_owned(),
            preferred: registry.preferred.unwrap_or(false),
            zone: registry.zone.clone(),
            // dubbo-go's word for a weight that is not set is 0.
            weight: registry
                .weight
                .filter(|weight| *weight > 0)
                .unwrap_or(defaults::WEIGHT),
            roads: Roads {
                interface: interface.transpose()?,
                application: application.transpose()?,
            },
            timeout: Timeout::new(registry.timeout.unwrap_or(defaults::REGISTRY_TIMEOUT)),
            check: registry.check.unwrap_or(defaults::CHECK),
            tally: self.extensions.shared(),
            url,
        })
    }

    fn application(
        &self,
        id: &str,
        registry: &RegistryConfig,
        url: &Url,
    ) -> Result<Application, Error> {
        let discovery = self
            .extensions
            .create::<dyn ServiceDiscovery>(url.protocol(), url)?;
        let provider = self.provider(id, url, &discovery)?;
        let publish = match provider.storage {
            Storage::Remote => provider.timings.publish,
            _ => Duration::ZERO,
        };
        let consumer = self.consumer(id, registry, url, &discovery)?;
        Ok(Application {
            discovery,
            provider: Provider::new(provider)?,
            consumer: Consumer::new(consumer),
            publish,
        })
    }

    fn provider(
        &self,
        id: &str,
        url: &Url,
        discovery: &Arc<dyn ServiceDiscovery>,
    ) -> Result<ProviderOptions, Error> {
        let config = self.config;
        let (own, metadata) = (&config.application, &config.metadata);
        let started = u64::try_from(now_millis()).unwrap_or(u64::MAX);
        let mut options = ProviderOptions::new(
            application_name(config),
            id,
            Arc::clone(discovery),
            started,
            fastrand::u64(..),
        );
        options.reports.clone_from(self.reports);
        options.tag.clone_from(&own.tag);
        options.environment.clone_from(&own.environment);
        options.weight = own.weight;
        if let Some(protocol) = &own.protocol {
            let protocol = self.extensions.canonical::<dyn Protocol>(protocol)?;
            options.protocol = Some(protocol.to_owned());
        }
        for (label, value) in &config.labels {
            options.labels.insert(label, value)?;
        }
        let customizers = self.plugins(metadata.instance_customizer.as_deref(), url)?;
        options.customizers = Customizers::new(customizers)?;
        options.algorithm = metadata.revision_algorithm.unwrap_or_default();
        options.port_mode = metadata.port_mode.unwrap_or_default();
        options.params = ParamsFilters::new(self.extensions.clone())
            .keeping_secret(metadata.secret_params.iter().flatten());
        let timings = &mut options.timings;
        timings.publish = metadata.publish_timeout.unwrap_or(timings.publish);
        timings.quiet = metadata.publish_delay.unwrap_or(timings.quiet);
        let history = &mut options.history;
        if let Some(size) = metadata.info_cache_size {
            history.size = usize::try_from(size).unwrap_or(usize::MAX);
        }
        history.retention = metadata.info_cache_expire.unwrap_or(history.retention);
        options.gc_dry_run = metadata.gc_dry_run.unwrap_or(false);
        if own.metadata_type == Some(MetadataType::Remote) {
            options.storage = Storage::Remote;
        }
        Ok(options)
    }

    fn consumer(
        &self,
        id: &str,
        registry: &RegistryConfig,
        url: &Url,
        discovery: &Arc<dyn ServiceDiscovery>,
    ) -> Result<ConsumerOptions, Error> {
        let metadata = &self.config.metadata;
        let mut options = ConsumerOptions::new(id, Arc::clone(discovery), Arc::clone(self.fetch));
        options.reports.clone_from(self.reports);
        options.fetch_slots = self.slots.clone();
        options.cache = self.caches.of(url);
        options.filters = self.plugins(registry.instance_filter.as_deref(), url)?;
        options.extend_params.clone_from(&registry.extend_params);
        let lists = url.param("subscribed-services").unwrap_or_default();
        let names = lists
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty());
        options.subscribed_services = names.map(str::to_owned).collect();
        options.empty_protection = url.param("enable-empty-protection") == Some("true");
        options.fetch_timeout = metadata.fetch_timeout.unwrap_or(options.fetch_timeout);
        options.stale_grace = metadata.stale_grace.unwrap_or(options.stale_grace);
        if let Some(concurrency) = metadata.fetch_concurrency {
            options.fetch_concurrency = usize::try_from(concurrency).unwrap_or(usize::MAX);
        }
        Ok(options)
    }

    /// Makes the plugins of these names for the registry at `url`.
    fn plugins<T: ?Sized + ExtensionPoint>(
        &self,
        names: Option<&[String]>,
        url: &Url,
    ) -> Result<Vec<(String, Arc<T>)>, Error> {
        let mut plugins = Vec::new();
        for name in names.unwrap_or_default() {
            let plugin = self.extensions.create::<T>(name, url)?;
            plugins.push((self.extensions.canonical::<T>(name)?.to_owned(), plugin));
        }
        Ok(plugins)
    }
}

/// The stores of metadata: that of `metadata-report`, and each registry that can be one.
pub(super) fn reports(config: &Config, extensions: &Extensions) -> Result<Reports, Error> {
    let tally = extensions.shared::<Tally>();
    let mut reports = Vec::new();
    let mut add = |id: &str, registry: &RegistryConfig| -> Result<(), Error> {
        let url = url::of(id, registry, &config.metadata);
        let report = extensions.create::<dyn MetadataReport>(url.protocol(), &url)?;
        reports.push((id.to_owned(), tally.report(report)));
        Ok(())
    };
    if let Some(registry) = config.metadata_report.as_registry() {
        add(DEFAULT_REPORT, &registry)?;
    }
    for (id, registry) in &config.registries {
        if registry.is_report(extensions) {
            add(id, registry)?;
        }
    }
    Ok(reports)
}

/// The id of the report of `metadata-report`, as dubbo-go has it.
const DEFAULT_REPORT: &str = "default";
