//! Where the providers of a reference come from: its direct URLs, or the registries that it asks.

use std::sync::Arc;

use dubbo_cluster::{
    cluster::{ZoneAware, Zoned},
    configurator::LiveOverrides,
    directory::StaticDirectory,
    loadbalance::Random,
    migration::{MigrationDirectory, MigrationError},
    router::RouterChain,
};
use dubbo_core::{
    cluster::Directory, extension::BoxError, invoker::Invoker, service::ServiceKey, url::Url,
};
use futures_util::future::{select_ok, try_join_all};

use super::{
    INJVM, Inner,
    migration::ReferenceRoads,
    refer::{NO_MORE_CLIENTS, NodeMaker},
    registries::NamedRegistry,
    rules::ReferenceRules,
};
use crate::{
    config::{ReferenceConfig, defaults, direct_url},
    error::Error,
};

/// Who knows providers of a reference, and what it is beside others.
pub(super) struct Source {
    pub(super) directory: Arc<dyn Directory>,
    /// What overrides options of the reference there.
    overrides: LiveOverrides,
    preferred: bool,
    zone: Option<String>,
    weight: u32,
    is_of_registry: bool,
}

impl Source {
    fn direct(directory: Arc<dyn Directory>, overrides: LiveOverrides) -> Self {
        Self {
            directory,
            overrides,
            preferred: false,
            zone: None,
            weight: defaults::WEIGHT,
            is_of_registry: false,
        }
    }

    fn registry(
        directory: Arc<dyn Directory>,
        overrides: LiveOverrides,
        registry: &NamedRegistry,
    ) -> Self {
        Self {
            directory,
            overrides,
            preferred: registry.preferred,
            zone: registry.zone.clone(),
            weight: registry.weight,
            is_of_registry: true,
        }
    }

    /// Whether a registry knows who calls.
    pub(super) fn is_of_registry(&self) -> bool {
        self.is_of_registry
    }
}

/// One cluster over each source; over several of them one that chooses among registries.
pub(super) fn join(
    consumer: &Url,
    sources: Vec<Source>,
    cluster: impl Fn(Arc<dyn Directory>, &LiveOverrides) -> Result<Arc<dyn Invoker>, BoxError>,
) -> Result<Arc<dyn Invoker>, BoxError> {
    let clusters = sources.into_iter().map(|source| {
        Ok(Zoned {
            registry: source.directory.origin(),
            invoker: cluster(source.directory, &source.overrides)?,
            preferred: source.preferred,
            zone: source.zone,
            weight: source.weight,
        })
    });
    let mut clusters: Vec<_> = clusters.collect::<Result<_, BoxError>>()?;
    // A lone registry is asked in every case, but for a call that insists on another zone.
    let by_zone = consumer.param("cluster").is_some_and(ZoneAware::is_called);
    if clusters.len() == 1 && !by_zone {
        return Ok(clusters.remove(0).invoker);
    }
    let chance = Arc::new(Random::new());
    Ok(Arc::new(ZoneAware::new(consumer.clone(), clusters, chance)))
}

impl Inner {
    /// Who knows the providers: a directory for each registry that is asked, or one of direct URLs.
    pub(super) async fn sources(
        &self,
        config: &ReferenceConfig,
        unmatched: &str,
        consumer: &Url,
        make: NodeMaker,
        rules: &ReferenceRules,
    ) -> Result<Vec<Source>, Error> {
        let refused = |reason: String| Error::Refer {
            service: consumer.service_key(),
            reason,
        };
        let protocol = config.protocol.as_deref().unwrap_or(defaults::PROTOCOL);
        if let Some(urls) = direct_urls(config, protocol) {
            // Those from code have not been checked with the configuration.
            let urls = urls
                .iter()
                .map(|text| {
                    let url = direct_url(&self.extensions, text);
                    url.map(|url| complete(&url, protocol))
                })
                .collect::<Result<Vec<_>, _>>()
                .map_err(|faults| {
                    let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
                    refused(faults.join("; "))
                })?;
            let refer = move |url| make.clone().make(url);
            let overrides = rules.overrides();
            let routers = RouterChain::of(&self.extensions, consumer)?;
            let directory = StaticDirectory::refer_overridden(
                consumer.clone(),
                &urls,
                routers,
                &overrides,
                refer,
            );
            let directory = directory
                .await
                .map_err(|error| refused(error.to_string()))?;
            return Ok(vec![Source::direct(Arc::new(directory), overrides)]);
        }
        let chosen: Vec<_> = self
            .registries
            .chosen(config.registry_ids.as_deref())
            .collect();
        if chosen.is_empty() {
            return Err(refused(format!(
                "it has no `url`, and there is no registry to ask; set `url`, or add one to \
                 `dubbo.registries`{unmatched}"
            )));
        }
        let followed = chosen
            .into_iter()
            .map(|(_, registry)| self.followed(registry, consumer, make.clone(), rules));
        try_join_all(followed).await
    }

    /// The providers in one registry: by the one path that it is used by, or by both, joined by a migration.
    async fn followed(
        &self,
        registry: &Arc<NamedRegistry>,
        consumer: &Url,
        make: NodeMaker,
        rules: &ReferenceRules,
    ) -> Result<Source, Error> {
        let overrides = rules.overrides();
        let told = self.told.subscribes(consumer);
        let Some(path) = registry.only_path() else {
            let roads = ReferenceRoads {
                registry: Arc::clone(registry),
                consumer: consumer.clone(),
                make,
                readiness: self.readiness.clone(),
                overrides: overrides.clone(),
                extensions: self.extensions.clone(),
                _told: told,
            };
            let migration = self.registries.migration();
            let followed = MigrationDirectory::follow(
                consumer.clone(),
                &registry.url,
                migration,
                Arc::new(roads),
            )
            .await;
            let directory = followed.map_err(|error| match error {
                MigrationError::Registry(error) => Error::Registry(error),
                error => Error::Refer {
                    service: consumer.service_key(),
                    reason: error.to_string(),
                },
            })?;
            return Ok(Source::registry(Arc::new(directory), overrides, registry));
        };
        // Before anybody is asked: a router that cannot be made is a mistake of the configuration.
        let routers = RouterChain::of(&self.extensions, consumer)?;
        let subscription = registry.subscribe(path, consumer).await?.holding(told);
        let make = make.found_by(path, self.readiness.clone());
        let refer = move |url| make.clone().make(url);
        let directory = registry.directory(consumer, subscription, routers, &overrides, refer);
        let directory = directory.await;
        Ok(Source::registry(Arc::new(directory), overrides, registry))
    }

    /// Waits for the first available provider, wherever it comes from.
    pub(super) async fn check(
        &self,
        service: &ServiceKey,
        sources: &[Source],
    ) -> Result<(), Error> {
        let patience = self
            .current()
            .consumer
            .max_wait_time_for_service_discovery
            .unwrap_or(defaults::MAX_WAIT_TIME_FOR_SERVICE_DISCOVERY);
        let available = sources.iter().map(|source| {
            let mut availability = source.directory.availability();
            Box::pin(async move {
                let available = availability.wait_for(|available| *available).await;
                available.map(drop)
            })
        });
        tokio::select! {
            Ok(_) = select_ok(available) => return Ok(()),
            () = tokio::time::sleep(patience) => {}
            () = self.ending() => return Err(NO_MORE_CLIENTS),
        }
        let reasons: Vec<_> = sources
            .iter()
            .filter_map(|source| source.directory.why_unavailable())
            .collect();
        Err(Error::NoProvider {
            service: service.clone(),
            waited_millis: patience.as_millis(),
            reason: if reasons.is_empty() {
                "one came just now".to_owned()
            } else {
                reasons.join("; ")
            },
        })
    }
}

/// The addresses that a reference names itself. `injvm` needs none: its providers are in this instance.
fn direct_urls(config: &ReferenceConfig, protocol: &str) -> Option<Vec<String>> {
    let urls = config.url.clone().filter(|urls| !urls.is_empty());
    let within = || {
        let alone = config.registry_ids.as_ref().is_none_or(Vec::is_empty);
        (alone && protocol.eq_ignore_ascii_case(INJVM))
            .then(|| vec![format!("{INJVM}://localhost")])
    };
    urls.or_else(within)
}

/// `host:port` means the reference's protocol.
fn complete(url: &Url, protocol: &str) -> Url {
    if url.protocol().is_empty() {
        url.with_protocol(protocol)
    } else {
        url.clone()
    }
}
