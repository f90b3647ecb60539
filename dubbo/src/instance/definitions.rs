//! Service definitions of an instance: what its services take and give, for consoles (`docs/spec/metadata.md` §7.2).

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use dubbo_core::{
    metadata::MetadataReport,
    service::{ServiceDescriptor, ServiceKey},
    url::Url,
};
use dubbo_metadata::{
    definition::{
        DefinitionId, Publisher, PublisherOptions, ServiceDefinition, Side, consumer_parameters,
    },
    error::MetadataError,
};
use parking_lot::Mutex;

use super::export::{RELEASE, application_name};
use crate::config::Config;

/// The definitions of what is registered, and what keeps them in metadata reports.
pub(super) struct Definitions {
    application: String,
    publisher: Publisher,
    /// Parameters that nobody is told.
    secrets: Vec<String>,
    exported: Mutex<BTreeMap<[String; 3], (DefinitionId, Bytes)>>,
}

impl Definitions {
    /// None yet, of the application of `config`.
    pub(super) fn new(
        config: &Config,
        reports: Vec<(String, Arc<dyn MetadataReport>)>,
    ) -> Result<Self, MetadataError> {
        Ok(Self {
            application: application_name(config).to_owned(),
            publisher: Publisher::new(PublisherOptions::new(reports, fastrand::u64(..)))?,
            secrets: config.metadata.secret_params.clone().unwrap_or_default(),
            exported: Mutex::default(),
        })
    }

    /// Describes a service that is registered at `url`. One that is served by several protocols is described once, with
    /// the parameters of the last, as Dubbo Java does it.
    pub(super) fn exports(&self, descriptor: &ServiceDescriptor, url: &Url) {
        let service = url.service_key();
        let descriptor = descriptor
            .clone()
            .with_interface(service.interface().to_owned());
        let definition =
            ServiceDefinition::new(&descriptor, RELEASE).with_parameters_of(url, &self.secrets);
        let id = DefinitionId::new(&service, Side::Provider, &*self.application);
        let described = (id, definition.to_json());
        self.exported.lock().insert(place(&service), described);
    }

    /// Stores what was described.
    pub(super) fn publish(&self) {
        for (id, definition) in self.exported.lock().values() {
            self.publisher.publish(id, definition);
        }
    }

    /// Tells of a consumer: of its parameters, and the methods that it knows.
    pub(super) fn refers(&self, descriptor: &ServiceDescriptor, consumer: &Url) {
        if !self.publisher.takes(Side::Consumer) {
            return;
        }
        let methods = descriptor.method_names().join(",");
        // A generic client knows none and can call all.
        let methods = if methods.is_empty() { "*" } else { &methods };
        let consumer = consumer.with_param("methods", methods);
        let id = DefinitionId::new(&consumer.service_key(), Side::Consumer, &*self.application);
        let parameters = consumer_parameters(&consumer, &self.secrets);
        self.publisher.publish(&id, &parameters);
    }

    /// The definition of a service that is registered.
    pub(super) fn of(&self, service: &ServiceKey) -> Option<Bytes> {
        let exported = self.exported.lock();
        let (_, definition) = exported.get(&place(service))?;
        Some(definition.clone())
    }

    /// Stores nothing any more. What is stored stays, as other frameworks leave it.
    pub(super) async fn close(&self) {
        self.publisher.close().await;
    }
}

/// The version `0.0.0` is none (`docs/spec/metadata.md` §1.1).
fn place(service: &ServiceKey) -> [String; 3] {
    let version = service.version().filter(|version| *version != "0.0.0");
    [Some(service.interface()), service.group(), version]
        .map(|part| part.unwrap_or_default().to_owned())
}
