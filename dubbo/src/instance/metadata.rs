//! The metadata service of an instance: what it answers with, and where it is exported.

use std::sync::{Arc, Weak};

use dubbo_core::{filter::Chain, protocol::Protocol, url::Url};
use dubbo_metadata::{
    instance::{MetaVersion, MetadataServiceParams},
    provider::Provider,
    published::History,
};
use parking_lot::Mutex;

use super::{Inner, export};
use crate::{
    config::{Config, MetadataType},
    error::Error,
    metadata_service::{self, Content},
};

/// What an instance answers with when it is asked about itself.
pub(super) struct OwnMetadata {
    application: String,
    providers: Vec<Arc<Provider>>,
    told: Arc<Told>,
}

/// What registries have been told of, as long as it is so.
#[derive(Default)]
pub(super) struct Told {
    exported: Mutex<Vec<Url>>,
    subscribed: Mutex<Vec<Weak<Url>>>,
}

impl Told {
    pub(super) fn exports(&self, url: Url) {
        self.exported.lock().push(url);
    }

    /// Remembers a consumer for as long as what is returned lives.
    pub(super) fn subscribes(&self, consumer: &Url) -> Arc<Url> {
        let consumer = Arc::new(consumer.clone());
        let mut subscribed = self.subscribed.lock();
        subscribed.retain(|other| other.strong_count() > 0);
        subscribed.push(Arc::downgrade(&consumer));
        consumer
    }
}

impl Content for OwnMetadata {
    fn application(&self) -> &str {
        &self.application
    }

    fn histories(&self) -> Vec<&History> {
        self.providers
            .iter()
            .map(|provider| provider.history())
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
}

impl Inner {
    /// Exports the metadata service beside the services at `exported`, and has registries tell consumers where it is.
    pub(super) async fn export_metadata(&self, exported: &[Url]) -> Result<(), Error> {
        let providers: Vec<_> = self.registries.providers().cloned().collect();
        if providers.is_empty() || exported.is_empty() || !is_wanted(&self.config) {
            return Ok(());
        }
        let content = Arc::new(OwnMetadata {
            application: export::application_name(&self.config).to_owned(),
            providers: providers.clone(),
            told: Arc::clone(&self.told),
        });
        let services = metadata_service::services(content);
        let mut served = Vec::new();
        for server in self.metadata_servers(exported)? {
            let protocol = self
                .extensions
                .canonical::<dyn Protocol>(server.protocol())?;
            for service in services
                .iter()
                .filter(|service| service.travels_by(protocol))
            {
                let url = service.url(&server);
                let invoker = Chain::wrap(
                    Vec::new(),
                    service.service().clone().into_invoker(url.clone()),
                );
                let descriptor = Arc::clone(service.service().descriptor());
                let bound = self
                    .serve(&url, descriptor, invoker, |running| &mut running.metadata)
                    .await?;
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
        for provider in &providers {
            provider.set_metadata_service(Some(params.clone()), version);
        }
        Ok(())
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
}

/// Where `url` is served, by `protocol`.
fn server_of(url: &Url, protocol: &str, port: Option<u16>) -> Url {
    let mut server = Url::new(protocol, url.host());
    if let Some(port) = port.or_else(|| url.port()) {
        server = server.with_port(port);
    }
    match url.param("ssl-enabled") {
        Some(secure) => server.with_param("ssl-enabled", secure),
        None => server,
    }
}

/// Whether consumers may ask this application itself.
fn is_wanted(config: &Config) -> bool {
    config.application.metadata_type != Some(MetadataType::Remote)
        || config.metadata.export_in_remote != Some(false)
}

const TRIPLE: &str = "tri";
