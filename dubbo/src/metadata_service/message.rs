//! Metadata as the messages of the metadata service's second version.

use std::sync::Arc;

use dubbo_metadata::model::{MetadataInfo, ServiceInfo};

use super::proto::{MetadataInfoV2, ServiceInfoV2};

impl From<&MetadataInfo> for MetadataInfoV2 {
    fn from(info: &MetadataInfo) -> Self {
        let services = info.services.iter();
        Self {
            app: info.app.clone(),
            version: info.revision.clone(),
            services: services
                .map(|(key, service)| (key.clone(), ServiceInfoV2::from(&**service)))
                .collect(),
            tag: info.tag.clone().unwrap_or_default(),
        }
    }
}

impl From<&ServiceInfo> for ServiceInfoV2 {
    fn from(service: &ServiceInfo) -> Self {
        Self {
            name: service.name.clone(),
            group: service.group.clone(),
            version: service.version.clone(),
            protocol: service.protocol.clone(),
            port: service.port,
            path: service.path.clone(),
            params: service.params.clone().into_iter().collect(),
        }
    }
}

impl From<MetadataInfoV2> for MetadataInfo {
    /// The keys of the services are made anew (`docs/spec/metadata.md` §1.1).
    fn from(message: MetadataInfoV2) -> Self {
        let named = message.services.into_values();
        let named = named.filter(|service| !service.name.is_empty());
        let services = named.map(|service| Arc::new(ServiceInfo::from(service)));
        Self {
            app: message.app,
            revision: message.version,
            tag: Some(message.tag).filter(|tag| !tag.is_empty()),
            last_updated_ms: None,
            services: services.collect(),
        }
    }
}

impl From<ServiceInfoV2> for ServiceInfo {
    fn from(message: ServiceInfoV2) -> Self {
        Self {
            name: message.name,
            group: message.group,
            version: message.version,
            protocol: message.protocol,
            port: message.port,
            path: message.path.trim_start_matches('/').to_owned(),
            params: message.params.into_iter().collect(),
        }
    }
}
