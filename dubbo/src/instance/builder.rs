//! From a file and code to an instance that can start.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use ::http::{Request, Response};
use arc_swap::ArcSwap;
use bytes::Bytes;
use dubbo_core::{
    extension::{BoxError, ExtensionContext, ExtensionError, ExtensionPoint, Extensions},
    http::HttpBody,
    protocol::Protocol,
    provider::Service,
    url::Url,
};
use dubbo_metadata::consumer::Fetch;
use http_body::Body;
use parking_lot::Mutex;
use tokio::sync::watch;
use tower_service::Service as TowerService;

use super::{
    Inner, Instance, Phase, Protocols, Running,
    activity::Activity,
    definitions::Definitions,
    filters::Filters,
    hooks::Hooks,
    host::ToRegistry,
    http::{self, Mounted},
    migration::Readiness,
    operate::WeakInstance,
    presence::Places,
    probes::Probes,
    refer::unknown_method,
    registries::{Caches, Registries},
    reload::{Allowed, Built, Reload},
    resend::Resending,
    rules::Rules,
};
use crate::{
    admin::Admin,
    config::{
        ApplicationConfig, Config, ConfigCenterConfig, ConfigErrors, ConfiguredRule,
        ConsumerConfig, Draft, Environment, Hessian2Config, Layered as _, LoadOptions, Loaded,
        Location, LoggerConfig, Problem, ProblemKind, ProtocolConfig, ProviderConfig,
        RegistryConfig, Served, ServiceConfig, ShutdownConfig, TlsConfig, defaults,
    },
    error::Error,
    http::OfTower,
    logging,
    metadata_service::{FetchOptions, RpcFetch},
    observe::{self, Telemetry, application::Application},
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
    mounted: Vec<Mounted>,
    allowed: Allowed,
    pub(super) hooks: Hooks,
    pub(super) probes: Probes,
}

/// A service and its options: from code at first, complete once built.
#[derive(Debug, Clone)]
pub(super) struct Provided {
    pub(super) service: Service,
    pub(super) config: ServiceConfig,
}

impl InstanceBuilder {
    pub(super) fn new() -> Self {
        Self::of(Draft::of_code(Environment::of_process()))
    }

    pub(super) fn load(options: &LoadOptions) -> Result<Self, Error> {
        Ok(Self::of(crate::config::read(options)?))
    }

    fn of(draft: Draft) -> Self {
        Self {
            draft,
            code: Config::new(),
            extensions: Extensions::linked(),
            provided: Vec::new(),
            mounted: Vec::new(),
            allowed: Allowed::default(),
            hooks: Hooks::default(),
            probes: Probes::default(),
        }
    }

    /// Says what the program is called: a name, or all of an [`ApplicationConfig`].
    pub fn application(mut self, options: impl Into<ApplicationConfig>) -> Self {
        self.code.application = options.into();
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

    /// Sets what applies to every service.
    pub fn provider(mut self, options: ProviderConfig) -> Self {
        self.code.provider = options;
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

    /// Sets the certificates of the program, and those that it trusts.
    pub fn tls(mut self, options: TlsConfig) -> Self {
        self.code.tls_config = options;
        self
    }

    /// Sets where the configuration goes on, and where rules are kept.
    pub fn config_center(mut self, options: ConfigCenterConfig) -> Self {
        self.code.config_center = options;
        self
    }

    /// Sets what peers may send in hessian2.
    pub fn hessian2(mut self, options: Hessian2Config) -> Self {
        self.code.hessian2 = options;
        self
    }

    /// Sets the rules for calls that count until somebody else says others, in place of those of the file.
    pub fn router(mut self, rules: impl IntoIterator<Item = ConfiguredRule>) -> Self {
        self.code.router = Some(rules.into_iter().collect());
        self
    }

    /// Sets what is logged, from [`build`](Self::build) on and for the whole process. Without it and without a `logger`
    /// section, logging is left to the program; so it is when the program has set up `tracing` by itself. When nobody has
    /// set up anything, what is doubtful in the configuration is still told, on standard error.
    pub fn logger(mut self, options: LoggerConfig) -> Self {
        self.code.logger = options;
        self
    }

    /// Lets keys that begin with `prefix`, such as `dubbo.custom.`, change while the instance runs, without a warning: the
    /// program sees to them by [`config_changes`](Instance::config_changes). Keys that are live by themselves need no leave.
    pub fn allow_hot_reload_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.allowed.beginning.push(prefix.into());
        self
    }

    /// The same for keys that have `part` anywhere in them.
    pub fn allow_hot_reload_contains(mut self, part: impl Into<String>) -> Self {
        self.allowed.containing.push(part.into());
        self
    }

    /// The same for this one key.
    pub fn allow_hot_reload_exact(mut self, key: impl Into<String>) -> Self {
        self.allowed.exactly.push(key.into());
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

    /// Serves HTTP requests for `path` and what is below by `service`, on the port of every protocol `tri`, over HTTP/1.1 and
    /// HTTP/2: a router of axum, or any other service of `tower`. Each request gets a clone of it.
    ///
    /// Of several the longest path that fits answers. What is exported comes first, so `/` is for whatever no service takes.
    /// Requests keep their whole path. They come with the ends of their connection,
    /// [`Peer`](crate::spi::invocation::Peer), among their extensions; filters do not see them, CORS and TLS of the port hold for
    /// them too, and how large a body may be is the service's own business. WebSocket is refused.
    ///
    /// A caller that hangs up drops the future, and the body of the answer. A panic or an error of the service is answered
    /// with status 500. A shutdown lets the answers under way finish, as it does with calls.
    pub fn http<S, B>(mut self, path: impl Into<String>, service: S) -> Self
    where
        S: TowerService<Request<HttpBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.mounted.push(Mounted {
            path: path.into(),
            handler: Arc::new(OfTower(service)),
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
        let code = self.code;
        let mut config = code.clone();
        config.complete_from(&draft.config);
        if config.config_center.data_id.is_some() {
            draft = draft.read_center(&config, &extensions)?;
        }
        let sources = draft.sources().clone();
        let tree = draft.tree().clone();
        let environment = draft.environment.clone();
        let by_code = self.provided.clone();
        let Complete {
            loaded,
            provided,
            to_registry,
        } = complete(draft, &code, self.provided, &self.mounted, &extensions)?;
        logging::install(&loaded.config.logger, observe::observers(&loaded.config))?;
        logging::warn(&loaded.warnings);

        let config = loaded.config;
        extensions.share(config.tls_config.files());
        extensions.share(config.hessian2.options());
        let application = Application::new(&config, &environment, to_registry.own_host());
        let telemetry = Telemetry::new(&config, &application, &extensions)?;
        let protocols = create_protocols(&extensions)?;
        let fetch = fetch(&config, &protocols);
        let caches = Caches::new(&config, &environment);
        let registries = Registries::create(&config, &extensions, &fetch, caches)?;
        let filters = Filters::new(&extensions, &config);
        let rules = Rules::create(&config, &extensions)?;
        let resending = Resending::create(&config, &extensions, &rules);
        let resending = resending.map_err(Error::DeadLetters)?;
        let definitions = Definitions::new(&config, registries.reports())?;
        let readiness = Readiness::of(&config).map(Arc::new);
        let admin = Admin::new(&config, telemetry.page().into_iter().collect());
        let built = Built {
            allowed: self.allowed,
            provided: by_code,
            tree: tree.clone(),
            sources: sources.clone(),
        };
        let reload = Reload::new(built, &config, &provided);
        let inner = Arc::new(Inner {
            config,
            code,
            sources,
            tree: ArcSwap::from_pointee(tree),
            extensions,
            provided,
            mounted: self.mounted,
            protocols,
            registries,
            rules,
            filters,
            resending,
            definitions: Arc::new(definitions),
            told: Arc::default(),
            to_registry,
            activity: Activity::new(),
            readiness,
            presence: Places::default(),
            hooks: self.hooks,
            reload,
            probes: self.probes,
            admin,
            telemetry,
            running: Mutex::new(Running::default()),
            phase: watch::Sender::new(Phase::Built),
            impatient: watch::Sender::new(false),
            last_tasks: Mutex::default(),
        });
        inner.admin.belongs_to(WeakInstance::of(&inner));
        inner.shows_directories();
        Ok(Instance(inner))
    }
}

/// A configuration with what code says laid over it, and right as a whole.
pub(super) struct Complete {
    pub(super) loaded: Loaded,
    pub(super) provided: Vec<Provided>,
    pub(super) to_registry: ToRegistry,
}

/// Lays what code says over `draft`, and checks it all.
pub(super) fn complete(
    mut draft: Draft,
    code: &Config,
    provided: Vec<Provided>,
    mounted: &[Mounted],
    extensions: &Extensions,
) -> Result<Complete, ConfigErrors> {
    let mut config = code.clone();
    config.complete_from(&draft.config);
    let serves = !provided.is_empty() || !mounted.is_empty();
    if config.protocols.is_empty() && serves {
        config = config.protocol(defaults::PROTOCOL, ProtocolConfig::new());
    }
    let provided = complete_services(provided, &mut config, &mut draft);
    for problem in http::problems(mounted, &config, extensions) {
        draft.refuse(problem);
    }
    draft.config = config;
    let to_registry = ToRegistry::of(&draft.environment).unwrap_or_else(|problem| {
        draft.refuse(problem);
        ToRegistry::default()
    });
    Ok(Complete {
        loaded: draft.check(extensions)?,
        provided,
        to_registry,
    })
}

/// Completes each service's options from the configuration. What its own section and code say is put in its place there,
/// to be checked with the rest.
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
        let mut same = 1;
        if let Some((entry, configured)) = config.provider.find(names) {
            entry.clone_into(&mut name);
            provided.config.complete_from(configured);
        }
        unserved.remove(&name);
        let path = format!("dubbo.provider.services.{name}");
        let descriptor = provided.service.descriptor();
        if let Some(unknown) = unknown_method(provided.config.methods.keys(), descriptor) {
            draft.note(ProblemKind::UnknownName, &path, unknown, true);
        }
        let serialization = provided.config.serialization;
        if let Some(misfit) = serialization.and_then(|name| name.misfit(descriptor)) {
            draft.note(ProblemKind::Conflict, &path, misfit, true);
        }
        let interface = descriptor.interface().to_owned();
        provided.config.interface.get_or_insert(interface);
        let options = &mut provided.config;
        let defined = |text: Option<&str>| text.map(str::to_owned);
        options.group = options.group.take().or_else(|| defined(descriptor.group()));
        options.version = options
            .version
            .take()
            .or_else(|| defined(descriptor.version()));
        let base = name.clone();
        while complete.contains_key(&name) {
            same += 1;
            name = format!("{base} ({same})");
        }
        let own = provided.config.clone();
        config.complete_service(&mut provided.config);
        match twin(&services, &provided) {
            Some(message) => draft.refuse(Problem::new(
                ProblemKind::Conflict,
                Location::named("code"),
                "",
                message,
            )),
            None => drop(complete.insert(name, own)),
        }
        services.push(provided);
    }
    for name in unserved {
        // A program that provides nothing may share its file with one that does.
        let fatal = !services.is_empty();
        let path = format!("dubbo.provider.services.{name}");
        let message = "no handler is provided for it: pass one to `provide` whose type has this name or whose \
                       interface is this one's";
        draft.note(ProblemKind::Missing, &path, message, fatal);
        if !fatal {
            config.provider.services.remove(&name);
        }
    }
    config.provider.services.extend(complete);
    services
}

/// What to say if a service takes calls of one that is there already.
fn twin(services: &[Provided], provided: &Provided) -> Option<String> {
    let served = |provided: &Provided| Served::of(&provided.config, "");
    let own = served(provided);
    let other = services
        .iter()
        .find(|other| served(other).conflicts(&own))?;
    Some(format!(
        "`provide` was called twice for `{}` (handlers `{}` and `{}`): give them different groups or versions",
        own.key,
        other.service.implementation(),
        provided.service.implementation()
    ))
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

/// What asks instances of other applications for their metadata.
pub(super) fn fetch(config: &Config, protocols: &Protocols) -> Arc<dyn Fetch> {
    let mut options = FetchOptions::default();
    options.timeout = config.metadata.fetch_timeout.unwrap_or(options.timeout);
    options.port_without_metadata = config.application.metadata_service_port;
    Arc::new(RpcFetch::new(protocols.clone(), options))
}

/// The protocol called `name`, in any case. Aliases lead to the same value as the name.
pub(super) fn protocol<'p>(
    extensions: &Extensions,
    protocols: &'p Protocols,
    name: &str,
) -> Result<&'p Arc<dyn Protocol>, ExtensionError> {
    let canonical = extensions.canonical::<dyn Protocol>(name)?;
    Ok(&protocols[&canonical.to_ascii_lowercase()])
}
