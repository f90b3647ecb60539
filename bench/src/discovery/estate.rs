//! The applications, their instances, and what they serve.

use std::{collections::HashMap, sync::Arc};

use dubbo_core::{
    discovery::{ServiceDiscovery, ServiceInstance},
    metadata::{Mapping, MetadataReport, Ticket},
    url::Url,
};
use dubbo_metadata::{
    model::{MetadataInfo, ParamsFilter, ServiceInfo},
    revision::Algorithm,
};
use dubbo_registry::memory::MemoryRegistry;

use super::{APPLICATIONS, PER_APPLICATION, REVISIONS};

/// What is registered. A clone is a second handle.
#[derive(Clone)]
pub(super) struct Estate {
    registry: Arc<MemoryRegistry>,
    /// One for each application.
    registered: Arc<[Arc<dyn ServiceDiscovery>]>,
    pub(super) report: Arc<dyn MetadataReport>,
    /// What is served, by revision.
    pub(super) metadata: Arc<HashMap<String, MetadataInfo>>,
    revisions: Arc<[Vec<String>]>,
}

impl Estate {
    pub(super) async fn register() -> Self {
        let registry = Arc::new(MemoryRegistry::new(Url::new("memory", "bench")));
        let report = registry.report();
        let mut metadata = HashMap::new();
        let mut revisions = Vec::new();
        for app in 0..APPLICATIONS {
            let served: Vec<_> = (0..REVISIONS)
                .map(|revision| serves(app, revision))
                .collect();
            revisions.push(served.iter().map(|info| info.revision.clone()).collect());
            metadata.extend(served.into_iter().map(|info| (info.revision.clone(), info)));
            let mapping = Mapping::parse(&name(app));
            let interface = interface(app);
            let written = report.cas_mapping(&interface, &mapping, Ticket::default());
            written.await.expect("it is there");
        }
        let registered = (0..APPLICATIONS).map(|_| registry.discovery()).collect();
        let estate = Self {
            registry,
            registered,
            report,
            metadata: metadata.into(),
            revisions: revisions.into(),
        };
        for app in 0..APPLICATIONS {
            for instance in 0..PER_APPLICATION {
                let instance = estate.instance(app, instance, &started(instance));
                let registered = estate.registered[app].register(&instance);
                registered.await.expect("it is there");
            }
        }
        estate
    }

    /// For a consumer.
    pub(super) fn discovery(&self) -> Arc<dyn ServiceDiscovery> {
        self.registry.discovery()
    }

    /// Starts one instance anew, with the services that it had: the applications take turns.
    pub(super) async fn change(&self, change: usize) {
        let (app, number) = (
            change % APPLICATIONS,
            change / APPLICATIONS % PER_APPLICATION,
        );
        let old = self.instance(app, number, &started(0));
        let new = self.instance(app, number, &changed(change));
        let updated = self.registered[app].update(&old, &new);
        updated.await.expect("it is there");
    }

    fn instance(&self, app: usize, number: usize, started: &str) -> ServiceInstance {
        let host = format!("10.{app}.{}.{}", number / 250, number % 250 + 1);
        let mut instance = ServiceInstance::new(name(app), host, 50051);
        let revision = &self.revisions[app][number % REVISIONS];
        for (key, value) in [
            (
                "dubbo.endpoints",
                r#"[{"port":20000,"protocol":"dubbo"},{"port":50051,"protocol":"tri"}]"#,
            ),
            (
                "dubbo.metadata-service.url-params",
                r#"{"port":"50051","protocol":"tri","release":"dubbo-rust-0.1.0","version":"1.0.0"}"#,
            ),
            ("dubbo.metadata.revision", revision),
            ("dubbo.metadata.storage-type", "local"),
            ("meta-v", "2.0.0"),
            ("timestamp", started),
        ] {
            instance.metadata.insert(key.to_owned(), value.to_owned());
        }
        instance
    }
}

/// Five services on two protocols, the one that is followed among them.
fn serves(app: usize, revision: usize) -> MetadataInfo {
    let filter = ParamsFilter::default();
    let services = (0..5).flat_map(|service| {
        let name = if service == 0 {
            interface(app)
        } else {
            format!("org.example.app{app}.Other{service}")
        };
        ["tri://h:50051", "dubbo://h:20000"].map(|server| {
            let url: Url = format!(
                "{server}/{name}?application={}&interface={name}&side=provider&release=dubbo-rust-0.1.0&\
                 methods=create,find,list,remove&timeout={}&retries=2&loadbalance=p2c",
                self::name(app),
                1000 + revision
            )
            .parse()
            .expect("it is one");
            Arc::new(ServiceInfo::of_url(&url, &filter))
        })
    });
    MetadataInfo::new(name(app), services, Algorithm::R1)
}

/// When the instance of a change was started again.
pub(super) fn changed(change: usize) -> String {
    started(PER_APPLICATION + change)
}

fn started(change: usize) -> String {
    (1_700_000_000_000 + 977 * change).to_string()
}

pub(super) fn interface(app: usize) -> String {
    format!("org.example.app{app}.Service")
}

fn name(app: usize) -> String {
    format!("app{app}")
}
