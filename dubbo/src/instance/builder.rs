//! From a file and code to an instance that can start.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
    sync::Arc,
};

use dubbo_core::{
    extension::{BoxError, ExtensionContext, ExtensionError, ExtensionPoint, Extensions},
    protocol::Protocol,
    provider::Service,
    url::Url,
};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{
    Inner, Instance, Phase, Protocols, Running, activity::Activity, refer::unknown_method,
    registries,
};
use crate::{
    config::{
        Config, ConsumerConfig, Draft, Environment, Layered as _, LoadOptions, LoggerConfig,
        ProblemKind, ProtocolConfig, RegistryConfig, ServiceConfig, ShutdownConfig, defaults,
    },
    error::Error,
};

/// Collects what an [`Instance`] is made of. Nothing starts before [`Instance::start`].
///
/// Settings from code win over those from the environment, which win over those from the file.
#[derive(Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct InstanceBuilder {
    draft: Draft,
    code: Config,
    extensions: Result<Extensions, ExtensionError>,
    provided: Vec<Provided>,
}

/// A service and its options: from code at first, complete once built.
#[derive(Debug)]
pub(super) struct Provided {
    pub(super) service: Service,
    pub(super) config: ServiceConfig,
}

impl InstanceBuilder {
    pub(super) fn new() -> Self {
        Self {
            draft: Draft::default(),
            code: Config::new(),
            extensions: Extensions::linked(),
            provided: Vec::new(),
        }
    }

    pub(super) fn load(path: Option<PathBuf>) -> Result<Self, Error> {
        let options = path.map_or_else(LoadOptions::search, LoadOptions::path);
        let draft = crate::config::read(&options.environment(Environment::of_process()))?;
        Ok(Self {
            draft,
            ..Self::new()
        })
    }

    /// `application.name`.
    pub fn application(mut self, name: impl Into<String>) -> Self {
        self.code.application = self.code.application.name(name);
        self
    }

    /// Adds to the protocol called `id`, or adds that protocol.
    pub fn protocol(mut self, id: impl Into<String>, options: ProtocolConfig) -> Self {
        self.code = self.code.protocol(id, options);
        self
    }

    /// Adds to the registry called `id`, or adds that registry.
    pub fn registry(mut self, id: impl Into<String>, options: RegistryConfig) -> Self {
        self.code = self.code.registry(id, options);
        self
    }

    /// Sets what applies to every reference.
    pub fn consumer(mut self, options: ConsumerConfig) -> Self {
        self.code.consumer = options;
        self
    }

    /// Sets how the instance ends.
    pub fn shutdown(mut self, options: ShutdownConfig) -> Self {
        self.code.shutdown = options;
        self
    }

    /// Sets what is logged. Without it and without a `logger` section, logging is left to the program.
    pub fn logger(mut self, options: LoggerConfig) -> Self {
        self.code.logger = options;
        self
    }

    /// Adds a plugin to this instance alone, or replaces the linked one of that name.
    pub fn extension<T: ?Sized + ExtensionPoint>(
        mut self,
        name: &'static str,
        make: impl Fn(&ExtensionContext<'_>) -> Result<Arc<T>, BoxError> + Send + Sync + 'static,
    ) -> Self {
        if let Ok(extensions) = &mut self.extensions {
            extensions.register(name, make);
        }
        self
    }

    /// Serves `service`: a generated server around a handler.
    ///
    /// Its options are those of the service in the configuration that is called like the handler's type, or else is of
    /// the same interface; without one, the provider's defaults.
    pub fn provide(self, service: impl Into<Service>) -> Self {
        self.provide_with(service, ServiceConfig::new())
    }

    /// Serves `service` with options from code. They win over those of the configuration.
    pub fn provide_with(mut self, service: impl Into<Service>, options: ServiceConfig) -> Self {
        self.provided.push(Provided {
            service: service.into(),
            config: options,
        });
        self
    }

    /// The instance, if everything about it is right.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] with all that is wrong in the file and in code: unknown keys, wrong types, ids and plugins that
    /// are not there, services without a handler. Nothing has been started then.
    pub fn build(self) -> Result<Instance, Error> {
        let extensions = self.extensions?;
        let mut draft = self.draft;
        let mut config = self.code;
        config.complete_from(&draft.config);
        if config.protocols.is_empty() && !self.provided.is_empty() {
            config = config.protocol(defaults::PROTOCOL, ProtocolConfig::new());
        }
        let provided = complete_services(self.provided, &mut config, &mut draft);
        draft.config = config;
        let loaded = draft.check(&extensions)?;
        for warning in &loaded.warnings {
            tracing::warn!("{warning}");
        }

        let config = loaded.config;
        let protocols = create_protocols(&extensions)?;
        let registries = registries::create(&config, &extensions)?;
        Ok(Instance(Arc::new(Inner {
            config,
            extensions,
            provided,
            protocols,
            registries,
            activity: Activity::new(),
            running: Mutex::new(Running::default()),
            phase: watch::Sender::new(Phase::Built),
        })))
    }
}

/// Completes each service's options from the configuration, and puts the result in its place there, to be checked with
/// the rest.
fn complete_services(
    provided: Vec<Provided>,
    config: &mut Config,
    draft: &mut Draft,
) -> Vec<Provided> {
    let mut unserved: BTreeSet<String> = config.provider.services.keys().cloned().collect();
    let mut complete = BTreeMap::new();
    let mut services = Vec::with_capacity(provided.len());
    for mut provided in provided {
        let names = [
            provided.service.implementation(),
            provided.service.descriptor().interface(),
        ];
        let mut name = names[0].to_owned();
        if let Some((entry, configured)) = config.provider.find(names) {
            entry.clone_into(&mut name);
            provided.config.complete_from(configured);
        }
        config.complete_service(&mut provided.config);
        unserved.remove(&name);
        let path = format!("dubbo.provider.services.{name}");
        let descriptor = provided.service.descriptor();
        if let Some(unknown) = unknown_method(provided.config.methods.keys(), descriptor) {
            draft.note(ProblemKind::UnknownName, &path, unknown, true);
        }
        let interface = descriptor.interface().to_owned();
        provided.config.interface.get_or_insert(interface);
        while complete.contains_key(&name) {
            name.push('\'');
        }
        complete.insert(name, provided.config.clone());
        services.push(provided);
    }
    for name in unserved {
        // A program that provides nothing may share its file with one that does.
        let fatal = !services.is_empty();
        let path = format!("dubbo.provider.services.{name}");
        let message = "no handler is provided for it: pass one to `provide` whose type has this name or whose \
                       interface is this one's";
        draft.note(ProblemKind::Missing, &path, message, fatal);
        config.provider.services.remove(&name);
    }
    config.provider.services.extend(complete);
    services
}

/// Every linked protocol, once: a protocol is used to serve, to call, or both.
fn create_protocols(extensions: &Extensions) -> Result<Protocols, ExtensionError> {
    let mut protocols: Protocols = HashMap::new();
    for name in extensions.names::<dyn Protocol>() {
        let plugin = extensions.create::<dyn Protocol>(name, &Url::new(name, "localhost"))?;
        protocols.insert(name.to_ascii_lowercase(), plugin);
    }
    Ok(protocols)
}

impl Inner {
    /// The protocol called `name`, in any case. Aliases lead to the same value as the name.
    pub(super) fn protocol(&self, name: &str) -> Result<Arc<dyn Protocol>, Error> {
        let canonical = self.extensions.canonical::<dyn Protocol>(name)?;
        Ok(Arc::clone(&self.protocols[&canonical.to_ascii_lowercase()]))
    }
}
