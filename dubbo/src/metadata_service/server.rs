//! The metadata services of an application, ready to be exported.

use std::sync::Arc;

use dubbo_core::{provider::Service, url::Url};

use super::{content::Content, v1, v2};

/// The metadata services of an application, which answer with `content`.
pub(crate) fn services(content: Arc<dyn Content>) -> Vec<MetadataService> {
    let group = content.application().to_owned();
    vec![
        MetadataService {
            service: v1::service(Arc::clone(&content)),
            group: group.clone(),
            version: v1::VERSION,
            protocols: &["dubbo", "tri"],
        },
        MetadataService {
            service: v2::service(content),
            group,
            version: v2::VERSION,
            protocols: &["tri"],
        },
    ]
}

/// One of the metadata services, and under which key it is to be exported.
#[derive(Debug, Clone)]
pub(crate) struct MetadataService {
    service: Service,
    group: String,
    version: &'static str,
    protocols: &'static [&'static str],
}

impl MetadataService {
    /// The service.
    pub(crate) fn service(&self) -> &Service {
        &self.service
    }

    /// Whether `protocol`, by the name that its plugin is linked under, can carry it.
    pub(crate) fn travels_by(&self, protocol: &str) -> bool {
        self.protocols
            .iter()
            .any(|name| name.eq_ignore_ascii_case(protocol))
    }

    /// Where it is to be exported: `server`, a URL of a protocol with the address to listen at and the server's
    /// parameters, for this service.
    pub(crate) fn url(&self, server: &Url) -> Url {
        let interface = self.service.descriptor().interface();
        server.with_path(interface).with_params([
            ("application", &*self.group),
            ("group", &self.group),
            ("interface", interface),
            ("side", "provider"),
            ("version", self.version),
        ])
    }
}
