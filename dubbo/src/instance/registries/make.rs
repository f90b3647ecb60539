//! From the configuration to registries and stores of metadata.

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    discovery::ServiceDiscovery, extension::Extensions, metadata::MetadataReport,
    registry::Registry, url::Url,
};
use dubbo_metadata::{
    consumer::{Consumer, ConsumerOptions, Fetch, FetchSlots},
    instance::Storage,
    provider::{Provider, ProviderOptions},
};

use super::{Application, NamedRegistry, Reports, Roads, url};
use crate::{
    config::{Config, MetadataType, RegistryConfig, RegistryType, defaults},
    error::Error,
    instance::export::{application_name, now_millis},
};

/// What registries are made from.
pub(super) struct Make<'m> {
    pub(super) config: &'m Config,
    pub(super) extensions: &'m Extensions,
    pub(super) fetch: &'m Arc<dyn Fetch>,
    pub(super) reports: &'m Reports,
    pub(super) slots: &'m FetchSlots,
}

impl Make<'_> {
    pub(super) fn registry(
        &self,
        id: &str,
        registry: &RegistryConfig,
    ) -> Result<NamedRegistry, Error> {
        let url = url::of(id, registry, &self.config.metadata);
        let kind = registry.type_or_default(self.extensions);
        let interface = (kind != RegistryType::Service)
            .then(|| self.extensions.create::<dyn Registry>(url.protocol(), &url));
        let application = (kind != RegistryType::Interface).then(|| self.application(id, &url));
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
            timeout: registry.timeout.unwrap_or(defaults::REGISTRY_TIMEOUT),
            check: registry.check.unwrap_or(defaults::CHECK),
            url,
        })
    }

    fn application(&self, id: &str, url: &Url) -> Result<Application, Error> {
        let config = self.config;
        let (own, metadata) = (&config.application, &config.metadata);
        let discovery = self
            .extensions
            .create::<dyn ServiceDiscovery>(url.protocol(), url)?;
        let started = u64::try_from(now_millis()).unwrap_or(u64::MAX);

        let mut provider = ProviderOptions::new(
            application_name(config),
            id,
            Arc::clone(&discovery),
            started,
            fastrand::u64(..),
        );
        provider.reports.clone_from(self.reports);
        provider.tag.clone_from(&own.tag);
        provider.environment.clone_from(&own.environment);
        provider.algorithm = metadata.revision_algorithm.unwrap_or_default();
        provider.port_mode = metadata.port_mode.unwrap_or_default();
        let timings = &mut provider.timings;
        timings.publish = metadata.publish_timeout.unwrap_or(timings.publish);
        let mut publish = Duration::ZERO;
        if own.metadata_type == Some(MetadataType::Remote) {
            provider.storage = Storage::Remote;
            publish = timings.publish;
        }

        let mut consumer = ConsumerOptions::new(id, Arc::clone(&discovery), Arc::clone(self.fetch));
        consumer.reports.clone_from(self.reports);
        consumer.fetch_slots = self.slots.clone();
        let lists = url.param("subscribed-services").unwrap_or_default();
        let names = lists
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty());
        consumer.subscribed_services = names.map(str::to_owned).collect();
        consumer.empty_protection = url.param("enable-empty-protection") == Some("true");
        consumer.fetch_timeout = metadata.fetch_timeout.unwrap_or(consumer.fetch_timeout);
        consumer.stale_grace = metadata.stale_grace.unwrap_or(consumer.stale_grace);
        if let Some(concurrency) = metadata.fetch_concurrency {
            consumer.fetch_concurrency = usize::try_from(concurrency).unwrap_or(usize::MAX);
        }
        Ok(Application {
            discovery,
            provider: Provider::new(provider)?,
            consumer: Consumer::new(consumer),
            publish,
        })
    }
}

/// The stores of metadata: that of `metadata-report`, and each registry that can be one.
pub(super) fn reports(config: &Config, extensions: &Extensions) -> Result<Reports, Error> {
    let mut reports = Vec::new();
    let mut add = |id: &str, registry: &RegistryConfig| -> Result<(), Error> {
        let url = url::of(id, registry, &config.metadata);
        let report = extensions.create::<dyn MetadataReport>(url.protocol(), &url)?;
        reports.push((id.to_owned(), report));
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
