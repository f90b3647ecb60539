//! What the tests share: an application that says what a test wants, its servers, and what they are asked with.

use std::{collections::HashMap, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use dubbo_core::{
    discovery::ServiceInstance,
    extension::Extensions,
    protocol::{Exporter, Protocol},
    service::ServiceKey,
    url::Url,
};
use dubbo_hessian2::DecodeOptions;
use dubbo_metadata::{
    model::{MetadataInfo, ServiceInfo},
    openapi::OpenApi,
    published::{History, Published},
    revision::Algorithm,
};
use tokio::time::Instant;

use super::super::{Access, Content, FetchOptions, RpcFetch, services};
use crate::config::MetadataConfig;

pub(super) const V1: &str = "org.apache.dubbo.metadata.MetadataService";
pub(super) const V2: &str = "org.apache.dubbo.metadata.MetadataServiceV2";
pub(super) const PROVIDER: &str = "demo-provider";

/// An application with a history for each registry.
#[derive(Default)]
pub(super) struct Application {
    pub(super) name: String,
    pub(super) histories: Vec<History>,
    pub(super) exported: Vec<Url>,
    pub(super) subscribed: Vec<Url>,
    /// By service key.
    pub(super) definitions: HashMap<String, Bytes>,
    pub(super) instance: Option<ServiceInstance>,
    pub(super) openapi: Option<OpenApi>,
}

impl Application {
    /// An application with one registry, which has seen these revisions one after the other.
    pub(super) fn with(name: &str, revisions: impl IntoIterator<Item = MetadataInfo>) -> Self {
        Self {
            name: name.to_owned(),
            histories: vec![history(revisions)],
            ..Self::default()
        }
    }
}

impl Content for Application {
    fn application(&self) -> &str {
        &self.name
    }

    fn histories(&self) -> Vec<(&str, &History)> {
        self.histories
            .iter()
            .map(|history| ("r", history))
            .collect()
    }

    fn exported(&self) -> Vec<Url> {
        self.exported.clone()
    }

    fn subscribed(&self) -> Vec<Url> {
        self.subscribed.clone()
    }

    fn definition(&self, service: &ServiceKey) -> Option<Bytes> {
        self.definitions.get(&service.to_string()).cloned()
    }

    fn instance(&self) -> Option<ServiceInstance> {
        self.instance.clone()
    }

    fn openapi(&self) -> Option<&OpenApi> {
        self.openapi.as_ref()
    }
}

/// What a registry has seen, one revision after the other.
pub(super) fn history(revisions: impl IntoIterator<Item = MetadataInfo>) -> History {
    let history = History::default();
    for info in revisions {
        history.replace(&[Arc::new(Published::new(info))], Instant::now());
    }
    history
}

/// The application of `docs/spec/metadata.md` §2.2, with the parameters of §2.5.
pub(super) fn fixture() -> MetadataInfo {
    let params = |interface: &str, methods: &str| {
        [
            ("application", PROVIDER),
            ("interface", interface),
            ("methods", methods),
            ("release", "dubbo-rust-4.0.0"),
            ("side", "provider"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
    };
    let greet = "org.apache.dubbo.samples.GreetService";
    let more = [
        ("group", "g1"),
        ("version", "1.0.0"),
        ("Greet.timeout", "1000"),
    ];
    let more = more.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let services = [
        ServiceInfo {
            name: greet.to_owned(),
            group: "g1".to_owned(),
            version: "1.0.0".to_owned(),
            protocol: "tri".to_owned(),
            port: 0,
            path: greet.to_owned(),
            params: params(greet, "SayHello,Greet")
                .into_iter()
                .chain(more)
                .collect(),
        },
        ServiceInfo {
            name: "com.foo.Bar".to_owned(),
            protocol: "dubbo".to_owned(),
            path: "com.foo.Bar".to_owned(),
            params: params("com.foo.Bar", "GetPetByID,GetPetTypes").into(),
            ..ServiceInfo::default()
        },
    ];
    MetadataInfo::new(PROVIDER, services.map(Arc::new), Algorithm::R1)
}

/// Metadata without services, as if it had a revision of its own.
pub(super) fn at_revision(revision: &str) -> MetadataInfo {
    MetadataInfo {
        app: PROVIDER.to_owned(),
        revision: revision.to_owned(),
        ..MetadataInfo::default()
    }
}

/// Every linked protocol.
pub(super) fn protocols() -> Protocols {
    protocols_that_read(DecodeOptions::DEFAULT)
}

/// The same, which take of hessian2 what `options` allow.
pub(super) fn protocols_that_read(options: DecodeOptions) -> Protocols {
    let extensions = Extensions::linked().expect("no duplicates");
    extensions.share(options);
    let names = extensions.names::<dyn Protocol>();
    let make = |name: &str| {
        let url = Url::new(name, "localhost");
        let plugin = extensions.create::<dyn Protocol>(name, &url);
        (name.to_owned(), plugin.expect("it needs nothing"))
    };
    names.into_iter().map(make).collect()
}

/// By the names that they are linked under.
pub(super) type Protocols = HashMap<String, Arc<dyn Protocol>>;

/// Servers of an application's metadata services. Dropping them ends them.
pub(super) struct Servers {
    pub(super) tri: SocketAddr,
    pub(super) dubbo: SocketAddr,
    _running: (Protocols, Vec<Box<dyn Exporter>>),
}

/// Serves the metadata services of `application` by every protocol that carries them.
pub(super) async fn serve(application: Application) -> Servers {
    serve_with(application, &MetadataConfig::new()).await
}

/// The same for those whom `config` lets in.
pub(super) async fn serve_with(application: Application, config: &MetadataConfig) -> Servers {
    let access = Access::of(&application.name, config);
    let protocols = protocols();
    let mut exporters = Vec::new();
    let services = services(Arc::new(application), &access);
    let mut at = HashMap::new();
    for name in ["tri", "dubbo"] {
        let mut port = 0;
        for service in services.iter().filter(|service| service.travels_by(name)) {
            let server = Url::new(name, "127.0.0.1").with_port(port);
            let url = service.url(&server);
            let descriptor = Arc::clone(service.descriptor());
            let invoker = service.invoker(url.clone());
            let exporter = protocols[name].export(&url, descriptor, invoker).await;
            let exporter = exporter.expect("a free port");
            port = exporter.url().port().expect("it is bound");
            exporters.push(exporter);
        }
        at.insert(name, SocketAddr::from(([127, 0, 0, 1], port)));
    }
    Servers {
        tri: at["tri"],
        dubbo: at["dubbo"],
        _running: (protocols, exporters),
    }
}

/// An instance of the application of [`fixture`] at `address`, whose metadata service is at the same address by
/// `protocol`.
pub(super) fn instance(address: SocketAddr, protocol: &str, meta_v: &str) -> ServiceInstance {
    let params = format!(r#"{{"protocol":"{protocol}","port":"{}"}}"#, address.port());
    instance_with(address, &[("meta-v", meta_v), (URL_PARAMS, &params)])
}

/// An instance of the same application with this metadata.
pub(super) fn instance_with(address: SocketAddr, metadata: &[(&str, &str)]) -> ServiceInstance {
    let mut instance = ServiceInstance::new(PROVIDER, address.ip().to_string(), address.port());
    let metadata = metadata.iter();
    instance.metadata = metadata
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    instance
}

/// What asks instances.
pub(super) fn client() -> RpcFetch {
    client_within(Duration::from_secs(5))
}

pub(super) fn client_within(timeout: Duration) -> RpcFetch {
    let options = FetchOptions {
        timeout,
        ..FetchOptions::default()
    };
    RpcFetch::new(protocols(), options)
}

pub(super) const URL_PARAMS: &str = "dubbo.metadata-service.url-params";
