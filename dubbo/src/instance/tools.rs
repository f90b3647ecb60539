//! What tools need that know services by name alone: clients of descriptors that come at run time, and what registries list.

use std::{fmt, sync::Arc};

use dubbo_cluster::migration::Path;
use dubbo_core::{
    call::Stub,
    discovery::{ServiceDiscovery, ServiceInstance},
    metadata::MetadataReport,
    registry::{Registry, RegistryError},
    service::{ServiceDescriptor, ServiceKey},
    url::Url,
};
use dubbo_metadata::model::MetadataInfo;

use super::{Inner, Instance, builder::fetch, refer::Named, registries::NamedRegistry};
use crate::{config::ReferenceConfig, error::Error};

/// A registry of the configuration, as its plugins: for tools that look into it. They end with the instance.
#[derive(Clone)]
#[non_exhaustive]
pub struct RegistryTools {
    /// What the configuration calls it.
    pub id: String,
    /// Where it is, such as `nacos://10.0.0.1:8848`.
    pub address: String,
    /// Where services stand by their interfaces, if it is used in that way.
    pub interfaces: Option<Arc<dyn Registry>>,
    /// Where applications stand, if it is used in that way.
    pub applications: Option<Arc<dyn ServiceDiscovery>>,
    /// Where metadata and mappings are kept, if they are kept there.
    pub report: Option<Arc<dyn MetadataReport>>,
}

/// The providers of one service that one registry lists.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Listed {
    /// Where the registry is, such as `nacos://10.0.0.1:8848`.
    pub registry: String,
    /// Whether they were looked for by the application or by the interface.
    pub path: Path,
    /// The providers; an error says why nobody knows.
    pub providers: Result<Vec<Url>, Arc<RegistryError>>,
}

impl Instance {
    /// A client of the service of `descriptor`, which may have been made at run time; messages are those of any
    /// [`Adapter`](crate::spi::payload::Adapter), and methods have the positions that they have in it. Options from code win
    /// over those of the reference that is called like the interface.
    ///
    /// # Errors
    ///
    /// As [`refer`](Self::refer).
    pub async fn refer_described(
        &self,
        descriptor: &Arc<ServiceDescriptor>,
        options: ReferenceConfig,
    ) -> Result<Stub, Error> {
        let named = Named::Type(descriptor.interface().to_owned(), Box::new(options));
        self.0.refer(descriptor, named).await
    }

    /// The registries that are not switched off, as their plugins.
    pub fn registries(&self) -> Vec<RegistryTools> {
        let reports = self.0.registries.reports();
        let of = |registry: &NamedRegistry| RegistryTools {
            id: registry.id.clone(),
            address: registry.url.origin(),
            interfaces: registry.interfaces().cloned(),
            applications: registry.discovery().cloned(),
            report: reports
                .iter()
                .find(|(id, _)| *id == registry.id)
                .map(|(_, report)| Arc::clone(report)),
        };
        let all = self.0.registries.chosen(None);
        all.map(|(_, registry)| of(registry)).collect()
    }

    /// What the application of `instance`, which a registry of this one lists, serves at the revision that it names: as the
    /// instance itself says it, or where it cannot be asked, as it stands in a metadata report.
    ///
    /// # Errors
    ///
    /// The instance names no revision, or neither it nor a report tells what that has.
    pub async fn metadata_of(&self, instance: &ServiceInstance) -> Result<MetadataInfo, Error> {
        let (application, address) = (&instance.application, instance.id());
        let failed = |reason: String| {
            let operation = format!("read what {application} serves");
            Error::Registry(RegistryError::new(operation, address.clone(), reason))
        };
        let Some(revision) = instance.metadata.get(REVISION) else {
            return Err(failed(format!("it does not say `{REVISION}`")));
        };
        let fetch = fetch(&self.0.config, &self.0.protocols);
        let asked = match fetch.fetch(instance, revision).await {
            Ok(info) => return Ok(info),
            Err(error) => error,
        };
        for (_, report) in self.0.registries.reports() {
            if let Ok(Some(json)) = report.app(application, revision).await {
                return Ok(MetadataInfo::from_json(&json)?);
            }
        }
        let source = std::error::Error::source(&asked).map(|source| format!(": {source}"));
        let why = source.unwrap_or_default();
        Err(failed(format!(
            "{asked}{why}, and no metadata report has its revision {revision}"
        )))
    }

    /// The providers of `service` that the registries list now, before any rule or router looks at them: one answer for
    /// each registry and each way in which it is used. `service` is a service key, `group/interface:version`; the interface
    /// `*` asks for those of every interface, group and version, which only registries by interfaces can answer.
    ///
    /// # Errors
    ///
    /// `service` is no service key. What goes wrong at a registry is its answer.
    pub async fn listed(&self, service: &str) -> Result<Vec<Listed>, Error> {
        let key: ServiceKey = service.parse().map_err(|error| Error::Refer {
            service: ServiceKey::new(service),
            reason: format!("{error}"),
        })?;
        let mut all = Vec::new();
        for (_, registry) in self.0.registries.chosen(None) {
            for path in Path::BOTH {
                if registry.only_path().is_none_or(|only| only == path) {
                    all.push(Listed {
                        registry: registry.url.origin(),
                        path,
                        providers: self.0.providers(registry, path, &key).await,
                    });
                }
            }
        }
        Ok(all)
    }
}

impl Inner {
    async fn providers(
        &self,
        registry: &NamedRegistry,
        path: Path,
        service: &ServiceKey,
    ) -> Result<Vec<Url>, Arc<RegistryError>> {
        let mut config = ReferenceConfig::new();
        config.group = service.group().map(str::to_owned);
        config.version = service.version().map(str::to_owned);
        if service.interface() == ANY {
            config.group.get_or_insert_with(|| ANY.to_owned());
            config.version.get_or_insert_with(|| ANY.to_owned());
        }
        self.config.complete_reference(&mut config);
        let consumer = self.consumer_url(&config, service.interface());
        let snapshot = match (path, registry.interfaces()) {
            // Read without being shown among the consumers.
            (Path::Interface, Some(interfaces)) => interfaces.lookup(&consumer).await?,
            _ => registry.subscribe(path, &consumer).await?.current().state?,
        };
        Ok(snapshot.providers.iter().cloned().collect())
    }
}

impl fmt::Debug for RegistryTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistryTools")
            .field("id", &self.id)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Whatever it is, in questions to a registry by interfaces.
const ANY: &str = "*";

/// Under which revision an instance serves what it serves.
const REVISION: &str = "dubbo.metadata.revision";
