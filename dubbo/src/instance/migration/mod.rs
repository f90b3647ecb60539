//! References that are followed by the application and by the interface, and how the program steers them.

mod readiness;

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use dubbo_cluster::{
    configurator::LiveOverrides,
    migration::{Meter, MigrationStatus, Path, Road, Roads, registration},
    router::RouterChain,
};
use dubbo_core::{extension::Extensions, registry::RegistryError, url::Url};

use super::{
    Inner, Instance, export::application_name, refer::NodeMaker, registries::NamedRegistry,
};
use crate::error::Error;

pub(super) use self::readiness::Readiness;
pub use self::readiness::{CallsSeen, ConsumerSeen};

impl Instance {
    /// How far the references of this application that are followed by the application and by the interface have come on
    /// their way from the one to the other: step, addresses, calls, and why. There are such references where the
    /// `registry-type` of a registry is `all`.
    pub fn migration_status(&self) -> MigrationStatus {
        self.0.registries.migration().status()
    }

    /// Sets the migration rule: YAML as Dubbo Java has it in a config center under `{application}.migration`. It counts
    /// until a newer one comes from there; an empty text takes it back.
    ///
    /// # Errors
    ///
    /// It is no rule, and the one before it stays in force; or no registry of this application is used both ways, so that
    /// there is nothing to migrate.
    pub fn set_migration_rule(&self, yaml: &str) -> Result<(), Error> {
        if !self.0.registries.can_migrate() {
            return Err(Error::State(
                "there is nothing to migrate: no registry is used both by interfaces and by applications; set \
                 `registry-type: all` for one, or `dubbo.migration.enabled`",
            ));
        }
        Ok(self.0.registries.migration().set_rule(yaml)?)
    }

    /// Which consumers have called the services of this program, and whether they had found it by the application or by the
    /// interface: services can be registered by the application alone once nobody calls by the interface any more.
    ///
    /// # Errors
    ///
    /// Nobody counts: `dubbo.migration.readiness` is off. It has to be on for consumers, too, so that they say it.
    pub fn migration_readiness(&self) -> Result<Vec<ConsumerSeen>, Error> {
        let readiness = self.0.readiness.as_ref();
        let readiness = readiness.ok_or(Error::State(
            "nobody counts who calls by which path: set `dubbo.migration.readiness: true`",
        ))?;
        Ok(readiness.seen())
    }
}

impl Inner {
    /// Tells in which ways the application is registered now, as Dubbo Java tells its reporters.
    pub(super) fn report_registrations(&self, registries: BTreeSet<usize>) {
        let application = application_name(&self.config);
        for index in registries {
            let registry = self.registries.get(index);
            let mode = match (registry.takes_interfaces(), registry.provider().is_some()) {
                (true, true) => "all",
                (true, false) => "interface",
                (false, _) => "instance",
            };
            tracing::info!(
                target: "dubbo::migration", kind = "registration", report = registration(application, mode),
                registry = registry.id, "registered by {mode}"
            );
        }
    }
}

/// The two ways to the providers of one reference in one registry.
pub(super) struct ReferenceRoads {
    pub(super) registry: Arc<NamedRegistry>,
    pub(super) consumer: Url,
    pub(super) make: NodeMaker,
    pub(super) readiness: Option<Arc<Readiness>>,
    pub(super) overrides: LiveOverrides,
    pub(super) extensions: Extensions,
    /// That the registry has been told of the consumer, for as long as that is so.
    pub(super) _told: Arc<Url>,
}

#[async_trait]
impl Roads for ReferenceRoads {
    async fn open(&self, path: Path, meter: Meter) -> Result<Road, RegistryError> {
        let subscription = self.registry.subscribe(path, &self.consumer).await?;
        let make = self.make.clone().found_by(path, self.readiness.clone());
        let refer = move |url| {
            let (make, meter) = (make.clone(), meter.clone());
            async move { Ok(meter.around(make.make(url).await?)) }
        };
        // Each list has routers of its own: they keep what they make of it.
        let routers = RouterChain::of(&self.extensions, &self.consumer);
        let routers = routers.map_err(|error| {
            let address = self.registry.url.origin();
            RegistryError::new(
                "make the routers of a reference",
                address,
                error.to_string(),
            )
            .refused()
        })?;
        let (registry, overrides) = (&self.registry, &self.overrides);
        let directory = registry.directory(&self.consumer, subscription, routers, overrides, refer);
        let directory = directory.await;
        Ok(Road {
            lists: directory.lists(),
            directory: Arc::new(directory),
        })
    }

    fn applications(&self) -> Vec<String> {
        self.registry.applications_of(&self.consumer)
    }
}
