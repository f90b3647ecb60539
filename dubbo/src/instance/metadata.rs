//! The metadata service of an instance: what it answers with, and where it is exported.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use dubbo_cluster::migration::Controller;
use dubbo_core::{discovery::ServiceInstance, protocol::Protocol, service::ServiceKey, url::Url};
use dubbo_metadata::{
    consumer::Consumer,
    instance::{MetaVersion, MetadataServiceParams},
    mapping::{MappingView, Registrar, RegistrationStatus},
    openapi::OpenApi,
    provider::Provider,
    published::History,
};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::{ConsumerSeen, Inner, TRIPLE, definitions::Definitions, export, migration::Readiness};
use crate::{
    config::{Config, MetadataType, ProtocolConfig},
    error::Error,
    metadata_service::{self, Access, AdminContent, Content, MetadataService},
};

/// What an instance answers with when it is asked about itself.
pub(super) struct OwnMetadata {
    application: String,
    registries: Vec<OwnRegistry>,
    registrar: Option<Arc<Registrar>>,
    migration: Option<Arc<Controller>>,
    readiness: Option<Arc<Readiness>>,
    told: Arc<Told>,
    definitions: Arc<Definitions>,
    openapi: Option<OpenApi>,
}

/// The application at one registry that is told of it.
struct OwnRegistry {
    id: String,
    provider: Arc<Provider>,
    consumer: Arc<Consumer>,
}

/// What registries have been told of, as long as it is so.
#[derive(Default)]
pub(super) struct Told {
    exported: Mutex<Vec<Url>>,
    subscribed: Mutex<Vec<Weak<Url>>>,
    over: watch::Sender<bool>,
}

impl Told {
    pub(super) fn exports(&self, url: Url) {
        self.exported.lock().push(url);
    }

    /// What was told of is not told of any more.
    pub(super) fn retracts(&self, url: &Url) {
        self.exported.lock().retain(|known| known != url);
    }

    /// What was told of as `before` is told of as `now`.
    pub(super) fn exchanges(&self, before: &Url, now: &Url) {
        let mut exported = self.exported.lock();
        if let Some(known) = exported.iter_mut().find(|known| *known == before) {
            *known = now.clone();
        }
    }

    /// Remembers a consumer for as long as what is returned lives.
    pub(super) fn subscribes(&self, consumer: &Url) -> Arc<Url> {
        let consumer = Arc::new(consumer.clone());
        let mut subscribed = self.subscribed.lock();
        subscribed.retain(|other| other.strong_count() > 0);
        subscribed.push(Arc::downgrade(&consumer));
        consumer
    }

    /// Whoever watches has seen all that there will be.
    pub(super) fn ends(&self) {
        self.over.send_replace(true);
    }
}

impl Content for OwnMetadata {
    fn application(&self) -> &str {
        &self.application
    }

    fn histories(&self) -> Vec<(&str, &History)> {
        self.registries
            .iter()
            .map(|registry| (&*registry.id, registry.provider.history()))
            .collect()
    }

    fn exported(&self) -> Vec<Url> {
        self.told.exported.lock().clone()
    }

    fn subscribed(&self) -> Vec<Url> {
        let subscribed = self.told.subscribed.lock();
        let subscribed = subscribed.iter().filter_map(Weak::upgrade);
        subscribed.map(Arc::unwrap_or_clone).collect()
    }

    fn definition(&self, service: &ServiceKey) -> Option<Bytes> {
        self.definitions.of(service)
    }

    fn instance(&self) -> Option<ServiceInstance> {
        self.registries.iter().find_map(|registry| {
            let instances = registry.provider.instances();
            let instances = instances.borrow();
            instances.first().cloned()
        })
    }

    fn openapi(&self) -> Option<&OpenApi> {
        self.openapi.as_ref()
    }
}

impl AdminContent for OwnMetadata {
    fn instances(&self) -> Vec<(&str, watch::Receiver<Arc<[ServiceInstance]>>)> {
        self.registries
            .iter()
            .map(|registry| (&*registry.id, registry.provider.instances()))
            .collect()
    }

    fn registrations(&self) -> Vec<RegistrationStatus> {
        let registrar = self.registrar.as_ref();
        registrar
            .map(|registrar| registrar.status())
            .unwrap_or_default()
    }

    fn mappings(&self) -> Vec<(&str, MappingView)> {
        let registries = self.registries.iter();
        registries
            .flat_map(|registry| {
                let mappings = registry.consumer.mappings().into_iter();
                mappings.map(|mapping| (&*registry.id, mapping))
            })
            .collect()
    }

    fn migration(&self) -> Option<&Controller> {
        self.migration.as_deref()
    }

    fn readiness(&self) -> Option<Vec<ConsumerSeen>> {
        self.readiness.as_ref().map(|readiness| readiness.seen())
    }

    fn over(&self) -> watch::Receiver<bool> {
        self.told.over.subscribe()
    }
}

impl Inner {
    /// Exports the metadata services beside the services at `exported`, whose documents are `openapi`.
    pub(super) async fn export_metadata(
        &self,
        exported: &[Url],
        openapi: Option<OpenApi>,
    ) -> Result<(), Error> {
        let application = export::application_name(&self.config);
        let access = Access::of(application, &self.config.metadata);
        let registries = self.registries.applications();
        let content = Arc::new(OwnMetadata {
            application: application.to_owned(),
            registries: registries
                .map(|(id, provider, consumer)| OwnRegistry {
                    id: id.to_owned(),
                    provider: Arc::clone(provider),
                    consumer: Arc::clone(consumer),
                })
                .collect(),
            registrar: self.registries.registrar().cloned(),
            migration: (self.registries.can_migrate())
                .then(|| Arc::clone(self.registries.migration())),
            readiness: self.readiness.clone(),
            told: Arc::clone(&self.told),
            definitions: Arc::clone(&self.definitions),
            openapi,
        });
        let is_asked = !content.registries.is_empty() && !exported.is_empty();
        if is_asked && is_wanted(&self.config) {
            self.export_for_consumers(&content, &access, exported)
                .await?;
        }
        if self.config.metadata.admin == Some(true) {
            self.export_for_operators(content, &access, exported)
                .await?;
        }
        Ok(())
    }

    /// Exports what consumers ask, and has registries tell them where it is.
    async fn export_for_consumers(
        &self,
        content: &Arc<OwnMetadata>,
        access: &Arc<Access>,
        exported: &[Url],
    ) -> Result<(), Error> {
        let services = metadata_service::services(Arc::clone(content) as _, access);
        let mut served = Vec::new();
        for server in self.metadata_servers(exported)? {
            let protocol = self
                .extensions
                .canonical::<dyn Protocol>(server.protocol())?;
            for service in services
                .iter()
                .filter(|service| service.travels_by(protocol))
            {
                let bound = self.serve_metadata(service, &server).await?;
                served.push((protocol, bound));
            }
        }
        // Triple before the classic protocol: everybody who knows both prefers it.
        let best = served
            .iter()
            .max_by_key(|(protocol, _)| *protocol == TRIPLE);
        let Some((protocol, bound)) = best else {
            tracing::warn!(
                "no protocol that this application serves carries the metadata service; consumers need a metadata report"
            );
            return Ok(());
        };
        let version = if *protocol == TRIPLE {
            MetaVersion::V2
        } else {
            MetaVersion::V1
        };
        let published = match self.config.application.metadata_service_port {
            Some(port) => Some(port),
            None => self.to_registry.published(bound).port(),
        };
        let Some(port) = published else {
            return Ok(());
        };
        let mut params =
            MetadataServiceParams::new(*protocol, port).with_param("release", export::RELEASE);
        if bound.param("ssl-enabled") == Some("true") {
            params = params.with_param("ssl-enabled", "true");
        }
        if let Some(token) = access.token() {
            params = params.with_param("token", token);
        }
        for registry in &content.registries {
            registry
                .provider
                .set_metadata_service(Some(params.clone()), version);
        }
        Ok(())
    }

    /// Exports what operators ask, where consumers would ask, or else at the first Triple server that is configured.
    async fn export_for_operators(
        &self,
        content: Arc<OwnMetadata>,
        access: &Arc<Access>,
        exported: &[Url],
    ) -> Result<(), Error> {
        let port = self.config.application.metadata_service_port;
        let mut server = None;
        for url in exported {
            let name = self.extensions.canonical::<dyn Protocol>(url.protocol())?;
            if name == TRIPLE {
                server = Some(server_of(url, name, port));
                break;
            }
        }
        if server.is_none() {
            for protocol in self.config.protocols.values() {
                let name = protocol.name_or_default();
                if self.extensions.canonical::<dyn Protocol>(name)? == TRIPLE {
                    server = Some(self.configured_server(protocol, port)?);
                    break;
                }
            }
        }
        let server =
            server.expect("invariant: without a Triple server the configuration is refused");
        let service = metadata_service::admin(content, access);
        let bound = self.serve_metadata(&service, &server).await?;
        let tls = self.config.tls_config.files();
        if access.token().is_none() && !(tls.secures_servers() && tls.secures_clients()) {
            tracing::warn!(
                address = bound.address(),
                "whoever reaches this address can see the metadata of this application and change the rule of its migration: \
                 set `dubbo.metadata.token`, or demand certificates with `dubbo.tls_config`"
            );
        }
        tracing::info!(
            address = bound.address(),
            "operators can ask for the metadata"
        );
        Ok(())
    }

    async fn serve_metadata(&self, service: &MetadataService, server: &Url) -> Result<Url, Error> {
        let url = service.url(server);
        let descriptor = Arc::clone(service.descriptor());
        self.serve(&url, descriptor, service.invoker(url.clone()), |running| {
            &mut running.metadata
        })
        .await
    }

    /// The servers that the metadata service is to be exported at: one of each protocol, or the one that is configured.
    fn metadata_servers(&self, exported: &[Url]) -> Result<Vec<Url>, Error> {
        let config = &self.config.application;
        let mut servers: Vec<Url> = Vec::new();
        for url in exported {
            let name = self.extensions.canonical::<dyn Protocol>(url.protocol())?;
            let is_wanted = match &config.metadata_service_protocol {
                Some(only) => self.extensions.canonical::<dyn Protocol>(only)? == name,
                None => true,
            };
            let is_new = servers.iter().all(|server| server.protocol() != name);
            if is_wanted && is_new {
                servers.push(server_of(url, name, config.metadata_service_port));
            }
        }
        if let (true, Some(only), Some(port)) = (
            servers.is_empty(),
            &config.metadata_service_protocol,
            config.metadata_service_port,
        ) {
            let name = self.extensions.canonical::<dyn Protocol>(only)?;
            servers.extend(exported.first().map(|url| server_of(url, name, Some(port))));
        }
        Ok(servers)
    }

    /// The server of `protocol`, which need not serve anything else.
    fn configured_server(
        &self,
        protocol: &ProtocolConfig,
        port: Option<u16>,
    ) -> Result<Url, Error> {
        let url = export::server_url(protocol);
        let url = server_of(&url, TRIPLE, port);
        Ok(if self.is_secure(&url)? {
            url.with_param("ssl-enabled", "true")
        } else {
            url
        })
    }
}

/// Where `url` is served, by `protocol`.
fn server_of(url: &Url, protocol: &str, port: Option<u16>) -> Url {
    let mut server = Url::new(protocol, url.host());
    if let Some(port) = port.or_else(|| url.port()) {
        server = server.with_port(port);
    }
    // What holds for the port, which is said by everything that is exported there.
    let of_port = |key: &str| key == "ssl-enabled" || key.starts_with('.');
    server.with_params(url.params().filter(|(key, _)| of_port(key)))
}

/// Whether consumers may ask this application itself.
fn is_wanted(config: &Config) -> bool {
    config.application.metadata_type != Some(MetadataType::Remote)
        || config.metadata.export_in_remote != Some(false)
}
