//! The metadata services of an application, ready to be exported.

use std::sync::Arc;

use dubbo_core::{
    filter::{Chain, Filter},
    invoker::Invoker,
    provider::Service,
    service::ServiceDescriptor,
    url::Url,
};

use super::{
    access::Access,
    admin::{self, AdminContent},
    content::Content,
    v1, v2,
};

/// The metadata services of an application, which answer with `content` those whom `access` lets in.
pub(crate) fn services(content: Arc<dyn Content>, access: &Arc<Access>) -> Vec<MetadataService> {
    let application = content.application().to_owned();
    let service = |service, version, protocols| MetadataService {
        service,
        access: Arc::clone(access),
        application: application.clone(),
        key: Some(version),
        protocols,
    };
    vec![
        service(
            v1::service(Arc::clone(&content)),
            v1::VERSION,
            &["dubbo", "tri"][..],
        ),
        service(v2::service(content), v2::VERSION, &["tri"]),
    ]
}

/// The service for the operators of an application. Whoever reaches a port knows which application is there, so it has
/// neither group nor version.
pub(crate) fn admin(content: Arc<dyn AdminContent>, access: &Arc<Access>) -> MetadataService {
    MetadataService {
        access: Arc::clone(access),
        application: content.application().to_owned(),
        key: None,
        protocols: &["tri"],
        service: admin::service(content),
    }
}

/// One of the metadata services, and under which key it is to be exported.
#[derive(Debug, Clone)]
pub(crate) struct MetadataService {
    service: Service,
    access: Arc<Access>,
    application: String,
    /// The version, if it is in the group of the application and has one.
    key: Option<&'static str>,
    protocols: &'static [&'static str],
}

impl MetadataService {
    /// What it is called by.
    pub(crate) fn descriptor(&self) -> &Arc<ServiceDescriptor> {
        self.service.descriptor()
    }

    /// What is called at `url`.
    pub(crate) fn invoker(&self, url: Url) -> Arc<dyn Invoker> {
        let access: Arc<dyn Filter> = Arc::clone(&self.access) as _;
        Chain::wrap(vec![access], self.service.clone().into_invoker(url))
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
        let interface = self.descriptor().interface();
        let url = server.with_path(interface).with_params([
            ("application", &*self.application),
            ("interface", interface),
            ("side", "provider"),
        ]);
        match self.key {
            Some(version) => url.with_params([("group", &*self.application), ("version", version)]),
            None => url,
        }
    }
}
