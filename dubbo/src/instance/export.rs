//! The provider side of a start: services become URLs, URLs are served, then registered.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use dubbo_cluster::migration::Path;
use dubbo_core::{
    invoker::Invoker,
    protocol::{Exporter, Protocol},
    provider::Service,
    service::{ServiceDescriptor, ServiceKey},
    url::Url,
};
use dubbo_protocol::java::with_built_ins;

use super::{
    ENDED_MEANWHILE, INJVM, Inner, Running,
    activity::CountCalls,
    counts::{CountMethods, Counts},
    openapi::Served,
    registries::NamedRegistry,
    reload,
    rules::{Exported, LiveChain, MakeFilters},
    status::ServedService,
};
use crate::{
    config::{
        ApplicationConfig, Config, MethodConfig, ProtocolConfig, Secret, Serialization,
        ServiceConfig, defaults,
    },
    error::Error,
};

impl Inner {
    /// Exports every service on its protocols, then registers them all: nobody is told of a port that is not open.
    pub(super) async fn start(self: &Arc<Self>) -> Result<(), Error> {
        self.rules.begin();
        self.resending.begin(&self.rules);
        let mut to_register = Vec::new();
        let mut under_rules = Vec::new();
        let mut bound = Vec::new();
        let mut served = Served::default();
        for (place, provided) in self.provided.iter().enumerate() {
            for (id, protocol) in self.protocols_of(&provided.config) {
                let (url, exported) = self
                    .export(&provided.service, &provided.config, protocol)
                    .await?;
                self.reload.serves(reload::Served {
                    exported: Arc::downgrade(&exported),
                    service: place,
                    protocol: id.to_owned(),
                });
                let rules = self.rules.of(&url.service_key());
                under_rules.push((Arc::clone(&exported), rules));
                tracing::info!(service = %url.service_key(), protocol = id, address = url.address(), "exported");
                // Nobody else could call what is in this process.
                let within = self.extensions.canonical::<dyn Protocol>(url.protocol())? == INJVM;
                if within {
                    continue;
                }
                bound.push(url.clone());
                served.add(id, &url, provided.service.descriptor());
                if provided.config.not_register != Some(true) {
                    to_register.push((provided, exported));
                }
            }
        }
        let ports: BTreeSet<_> = bound.iter().map(Url::port).collect();
        if self.to_registry.has_one_port() && ports.len() > 1 {
            tracing::warn!(
                ?ports,
                "DUBBO_PORT_TO_REGISTRY publishes one port for protocols that listen on several; let them share one, or \
                 unset it"
            );
        }
        self.serve_http(&served.ports()).await?;
        let openapi = self.serve_pages(served).await?;
        self.export_metadata(&bound, openapi).await?;
        self.rules.settled().await;
        for (exported, rules) in &under_rules {
            self.put_under(exported, rules).await;
        }
        let (mut applications, mut interfaces) = (BTreeSet::new(), BTreeSet::new());
        let mut told = BTreeSet::new();
        for (provided, exported) in to_register {
            let url = exported.published();
            let ids = provided.config.registry_ids.as_deref();
            let chosen = self.registries.chosen(ids);
            for (index, registry) in chosen {
                told.insert(index);
                exported.tells(index);
                if let Some(provider) = registry.provider() {
                    provider.export(&url)?;
                    self.presence.add(&exported, index, Path::Application);
                    applications.insert(index);
                    interfaces.insert(url.service_key().interface().to_owned());
                }
                if registry.takes_interfaces() {
                    self.register(index, registry, &url).await?;
                    self.presence.add(&exported, index, Path::Interface);
                }
            }
            self.definitions
                .exports(provided.service.descriptor(), &url);
            self.told.exports(url);
        }
        for index in applications {
            self.register_application(index).await?;
        }
        // Only now: a name that is in a mapping stays there, whatever becomes of this start, and so does a definition.
        self.definitions.publish();
        for interface in &interfaces {
            self.registries.map(interface).await?;
        }
        self.report_registrations(told);
        for (exported, rules) in under_rules {
            self.follow_rules(exported, rules);
        }
        Ok(())
    }

    fn protocols_of<'a>(
        &'a self,
        service: &'a ServiceConfig,
    ) -> impl Iterator<Item = (&'a str, &'a ProtocolConfig)> {
        let ids = service
            .protocol_ids
            .as_deref()
            .filter(|ids| !ids.is_empty());
        self.config
            .protocols
            .iter()
            .filter(move |(id, _)| ids.is_none_or(|ids| ids.contains(id)))
            .map(|(id, protocol)| (id.as_str(), protocol))
    }

    async fn export(
        &self,
        service: &Service,
        config: &ServiceConfig,
        protocol: &ProtocolConfig,
    ) -> Result<(Url, Arc<Exported>), Error> {
        let service = with_built_ins(served_as(service, config));
        let descriptor = Arc::clone(service.descriptor());
        let url = provider_url(&self.config.application, config, protocol, &descriptor);
        let url = match &self.config.shutdown.reject_handler {
            Some(handler) => url.with_param(".shutdown.reject-handler", handler.as_str()),
            None => url,
        };
        let url = if self.is_secure(&url)? {
            url.with_param("ssl-enabled", "true")
        } else {
            url
        };

        let counts = (self.admin.is_asked()).then(|| Counts::of(&descriptor));
        let filters = self.filters_before(config, &url.service_key(), counts.as_ref());
        let service = LiveChain::new(filters(&url)?, service.into_invoker(url.clone()));
        let invoker = Arc::clone(&service) as Arc<dyn Invoker>;
        let (served, described) = (Arc::clone(&invoker), Arc::clone(&descriptor));
        let bound = self
            .serve(&url, descriptor, invoker, |running| &mut running.exporters)
            .await?;
        let published = self.to_registry.published(&bound);
        let exported = Arc::new(Exported::new(bound.clone(), published, service, filters));
        let service = ServedService {
            url: bound.clone(),
            descriptor: described,
            invoker: served,
            counts,
            exported: Arc::clone(&exported),
        };
        self.keep(service, |running| &mut running.served)
            .map_err(|_| ENDED_MEANWHILE)?;
        Ok((bound, exported))
    }

    /// What makes the filters of one service, as often as rules change what they are made with.
    fn filters_before(
        &self,
        config: &ServiceConfig,
        service: &ServiceKey,
        counts: Option<&Arc<Counts>>,
    ) -> Box<MakeFilters> {
        let (filters, listed) = (self.filters.clone(), config.filter.clone());
        let activity = Arc::clone(&self.activity);
        let readiness = self.readiness.clone();
        let (service, counts) = (service.clone(), counts.cloned());
        Box::new(move |url| {
            let mut chain = filters.of_provider(listed.as_deref(), url)?;
            chain.insert(0, Arc::new(CountCalls(Arc::clone(&activity))));
            if let Some(counts) = &counts {
                chain.insert(1, Arc::new(CountMethods(Arc::clone(counts))));
            }
            if let Some(readiness) = &readiness {
                chain.insert(1, readiness.count(&service));
            }
            Ok(chain)
        })
    }

    /// Serves `invoker` at `url`, and keeps it `among` others that run. The URL that comes back is the one that is served.
    pub(super) async fn serve(
        &self,
        url: &Url,
        descriptor: Arc<ServiceDescriptor>,
        invoker: Arc<dyn Invoker>,
        among: impl FnOnce(&mut Running) -> &mut Vec<Box<dyn Exporter>>,
    ) -> Result<Url, Error> {
        let exporter = super::protocol(&self.extensions, &self.protocols, url.protocol())?
            .export(url, descriptor, invoker)
            .await
            .map_err(|source| Error::Export {
                service: ServiceKey::clone(&url.service_key()),
                source,
            })?;
        let bound = exporter.url().clone();
        if let Err(exporter) = self.keep(exporter, among) {
            exporter.unexport().await;
            return Err(ENDED_MEANWHILE);
        }
        Ok(bound)
    }

    /// Whether who calls the service at `url` has to use TLS.
    pub(super) fn is_secure(&self, url: &Url) -> Result<bool, Error> {
        let within = self.extensions.canonical::<dyn Protocol>(url.protocol())? == INJVM;
        Ok(!within && self.config.tls_config.files().secures_servers())
    }

    /// Registers one service by its interface.
    pub(super) async fn register(
        &self,
        index: usize,
        registry: &NamedRegistry,
        url: &Url,
    ) -> Result<(), Error> {
        // Noted before it is done: a register that is cut off may have happened.
        self.keep((index, url.clone()), |running| &mut running.registered)
            .map_err(|_| ENDED_MEANWHILE)?;
        registry.register(url).await?;
        if self.is_ending() {
            // The end may have been quicker than this.
            registry.unregister(url).await?;
            return Err(ENDED_MEANWHILE);
        }
        tracing::info!(service = %url.service_key(), address = url.address(), registry = registry.id, "registered");
        Ok(())
    }

    /// Registers the application with all that was exported.
    pub(super) async fn register_application(&self, index: usize) -> Result<(), Error> {
        let registry = self.registries.get(index);
        self.keep(index, |running| &mut running.applications)
            .map_err(|_| ENDED_MEANWHILE)?;
        registry.register_application().await?;
        if self.is_ending() {
            registry.unregister_application().await?;
            return Err(ENDED_MEANWHILE);
        }
        tracing::info!(
            application = application_name(&self.config),
            registry = registry.id,
            "registered"
        );
        Ok(())
    }
}

/// The service under the name that its options give it.
pub(super) fn served_as(service: &Service, options: &ServiceConfig) -> Service {
    let interface = options.interface.as_deref();
    let interface = interface.unwrap_or_else(|| service.descriptor().interface());
    service.clone().with_interface(interface)
}

/// The URL of one service on one protocol: what is served, and what consumers are told.
pub(super) fn provider_url(
    application: &ApplicationConfig,
    service: &ServiceConfig,
    protocol: &ProtocolConfig,
    descriptor: &ServiceDescriptor,
) -> Url {
    let methods = descriptor.method_names().join(",");
    let usual = || Serialization::of(descriptor);
    let serialization = service.serialization.unwrap_or_else(usual);
    let url = server_url(protocol)
        .with_path(descriptor.interface())
        .with_params(
            protocol
                .params
                .iter()
                .map(|(k, v)| (k.as_str(), v.as_str())),
        )
        .with_params(service.params.iter().map(|(k, v)| (k.as_str(), v.as_str())))
        .with_params(application_params(application))
        .with_params([
            ("interface", descriptor.interface()),
            ("methods", &methods),
            ("side", "provider"),
            ("serialization", serialization.name()),
            ("timestamp", &now_millis().to_string()),
        ]);
    let triple = &protocol.triple;
    let own = [
        ("group", service.group.clone()),
        ("version", service.version.clone()),
        ("cluster", service.cluster.clone()),
        ("loadbalance", service.loadbalance.clone()),
        ("retries", service.retries.map(|n| n.to_string())),
        ("weight", service.weight.map(|n| n.to_string())),
        ("warmup", service.warmup.map(|d| d.as_millis().to_string())),
        ("dubbo.tag", service.tag.clone()),
        ("token", service.token.as_ref().map(token)),
        ("accesslog", service.accesslog.clone()),
        ("auth", service.auth.map(|b| b.to_string())),
        // No consumer needs to know.
        (
            ".adaptive-service",
            service.adaptive_service.map(|b| b.to_string()),
        ),
        (
            "max-server-recv-msg-size",
            triple.max_server_recv_msg_size.map(|n| n.to_string()),
        ),
        (
            "max-server-send-msg-size",
            triple.max_server_send_msg_size.map(|n| n.to_string()),
        ),
    ];
    url.with_params(set(own))
        .with_params(service.limits.params())
        .with_params(method_params(&service.methods))
}

/// What calls have to carry: what is set, or what nobody can guess.
fn token(set: &Secret) -> String {
    match set.expose() {
        "true" | "default" => {
            // Keyed by what the operating system gives.
            let random = RandomState::new();
            format!("{:016x}{:016x}", random.hash_one(0), random.hash_one(1))
        }
        token => token.to_owned(),
    }
}

/// What is different for single methods, as parameters `methods.<name>.<key>`.
pub(super) fn method_params(
    methods: &BTreeMap<String, MethodConfig>,
) -> impl Iterator<Item = (String, String)> {
    methods.iter().flat_map(|(method, config)| {
        let params = config.params.iter();
        let params = params.map(|(key, value)| (key.as_str(), Some(value.clone())));
        let own = [
            ("timeout", config.timeout.map(|d| d.as_millis().to_string())),
            ("retries", config.retries.map(|n| n.to_string())),
            ("loadbalance", config.loadbalance.clone()),
            ("cluster", config.cluster.clone()),
            ("sticky", config.sticky.map(|b| b.to_string())),
            ("weight", config.weight.map(|n| n.to_string())),
        ];
        set(params.chain(own))
            .chain(
                config
                    .limits
                    .params()
                    .map(|(key, value)| (key as &str, value)),
            )
            .map(move |(key, value)| (format!("methods.{method}.{key}"), value))
    })
}

/// Where a protocol is to be served, and what holds for the port there.
pub(super) fn server_url(protocol: &ProtocolConfig) -> Url {
    let ip = protocol.ip.as_deref().unwrap_or(ALL_ADDRESSES);
    Url::new(protocol.name_or_default(), ip)
        .with_port(protocol.port_or_default())
        .with_params(protocol.triple.compression.server_params())
        .with_params(protocol.triple.cors.resolve().params())
        .with_params(protocol.triple.reflection.params())
        .with_params(protocol.triple.server_params())
}

/// The parameters that have a value.
pub(super) fn set<K>(
    params: impl IntoIterator<Item = (K, Option<String>)>,
) -> impl Iterator<Item = (K, String)> {
    params
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
}

/// What the application says about itself in every URL.
pub(super) fn application_params(application: &ApplicationConfig) -> Vec<(&'static str, &str)> {
    let mut params = vec![
        ("application", name_or_default(application)),
        ("release", RELEASE),
        ("dubbo", WIRE_VERSION),
    ];
    for (key, value) in [
        ("organization", &application.organization),
        ("module", &application.module),
        ("owner", &application.owner),
        ("environment", &application.environment),
        ("app.version", &application.version),
        ("application.tag", &application.tag),
    ] {
        if let Some(value) = value.as_deref() {
            params.push((key, value));
        }
    }
    params
}

/// What the application is called in registries.
pub(super) fn application_name(config: &Config) -> &str {
    name_or_default(&config.application)
}

fn name_or_default(application: &ApplicationConfig) -> &str {
    let name = application.name.as_deref();
    name.unwrap_or(defaults::APPLICATION_NAME)
}

/// As Dubbo Java writes `timestamp`; dubbo-go's are seconds, and readers tell them apart by their size.
pub(super) fn now_millis() -> u128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis())
}

/// What a service without `ip` listens on.
const ALL_ADDRESSES: &str = "0.0.0.0";

/// The framework and its version, as `release` says it.
pub(crate) const RELEASE: &str = concat!("dubbo-rust-", env!("CARGO_PKG_VERSION"));

/// The version of Dubbo's RPC protocol that consumers look for.
const WIRE_VERSION: &str = "2.0.2";
