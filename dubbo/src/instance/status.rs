//! What an instance is now, for those who look at it: people by a page, programs by JSON.

use std::{
    sync::{Arc, Weak},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use dubbo_cluster::migration::Path;
use dubbo_core::{
    cluster::{Directory, Node},
    invoker::Invoker,
    service::{MethodRef, ServiceDescriptor, ServiceKey},
    url::Url,
};
use serde::Serialize;

use super::{
    Counted, Inner, Instance, Phase, Reference,
    counts::Counts,
    export::{RELEASE, application_name, now_millis},
    probes::Probe,
    rules::Exported,
};

/// What an instance is at one moment: the answer of [`Instance::status`]. It is written as JSON under the names of its
/// fields, with times in milliseconds.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct InstanceStatus {
    /// What the program is called.
    pub application: String,
    /// The framework and its version.
    pub release: &'static str,
    /// `built`, `started`, `shutting-down` or `ended`.
    pub phase: &'static str,
    /// When this was seen, in milliseconds since 1970.
    pub at: u64,
    /// Whether calls may be sent to it; if not, why not.
    pub not_ready: Option<String>,
    /// What it serves, one entry for each protocol.
    pub services: Vec<ServiceStatus>,
    /// What it calls.
    pub references: Vec<ReferenceStatus>,
    /// The instances of this program that registries have been told of.
    pub instances: Vec<RegisteredInstance>,
    /// The registries of the configuration.
    pub registries: Vec<RegistryStatus>,
    /// What is stopped, or let through one by one.
    pub breakers: Vec<BreakerStatus>,
    /// The attempts that failed last and that another one may have helped against, the last one first.
    pub retries: Vec<RetryStatus>,
}

/// A service on one protocol.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ServiceStatus {
    /// `group/interface:version`.
    pub service: String,
    /// Where it is served: `tri://10.0.0.1:50051`.
    pub address: String,
    /// Where it stands in registries.
    pub registered: Vec<Registered>,
    /// What was called of its methods; empty where nobody counts, which is so without a port for operators.
    pub methods: Vec<MethodStatus>,
}

/// A service in one registry, in one way.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Registered {
    /// What the configuration calls the registry.
    pub registry: String,
    /// `application` or `interface`.
    pub by: &'static str,
    /// Whether it is there now: it is not when it was taken [offline](Instance::offline).
    pub online: bool,
}

/// What was called of a method.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct MethodStatus {
    /// The method.
    pub method: String,
    /// How many calls have ended.
    pub total: u64,
    /// How many of them with an error.
    pub failed: u64,
    /// How many are under way.
    pub active: u32,
    /// How long they took on average, in milliseconds.
    pub average_millis: f64,
    /// How long the longest took, in milliseconds.
    pub longest_millis: f64,
}

/// A reference that the program has a client of.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ReferenceStatus {
    /// `group/interface:version`.
    pub service: String,
    /// Whether the program counts as not ready without a provider.
    pub check: bool,
    /// Who names its providers: one for each registry, or one for direct addresses.
    pub sources: Vec<SourceStatus>,
}

/// The providers of a reference from one place.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct SourceStatus {
    /// Who names them, such as `registry nacos://10.0.0.1:8848`.
    pub origin: String,
    /// Why none can be called, if none can.
    pub unavailable: Option<String>,
    /// The providers.
    pub providers: Vec<ProviderStatus>,
}

/// A provider as a reference has it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ProviderStatus {
    /// `tri://10.0.0.1:50051`.
    pub address: String,
    /// Its application, if that is known.
    pub application: Option<String>,
    /// Its share of calls now.
    pub weight: u32,
    /// How many calls are under way.
    pub active: u32,
    /// Why it cannot be called, if it cannot.
    pub unavailable: Option<String>,
    /// The methods that it is not called for now, each with the reason.
    pub stopped: Vec<StoppedMethod>,
}

/// A method that a provider is not called for.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct StoppedMethod {
    /// The method.
    pub method: String,
    /// Why not, such as `the breaker is open for another 4s`.
    pub why: String,
}

/// An instance that a registry was told of.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct RegisteredInstance {
    /// What the configuration calls the registry.
    pub registry: String,
    /// `host:port`.
    pub address: String,
    /// The revision of its metadata.
    pub revision: String,
    /// How many services its metadata has.
    pub services: usize,
}

/// A registry of the configuration.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct RegistryStatus {
    /// What the configuration calls it.
    pub id: String,
    /// Where it is: `nacos://10.0.0.1:8848`.
    pub address: String,
    /// Why it cannot be reached, as far as it is known.
    pub trouble: Option<String>,
}

/// What is stopped, or let through one by one.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct BreakerStatus {
    /// The method: `shop.Users.Get`.
    pub method: String,
    /// The provider; none for the breaker of the method, whoever provides it.
    pub provider: Option<String>,
    /// Where it stands.
    pub state: String,
}

/// An attempt that failed.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct RetryStatus {
    /// When it had failed, in milliseconds since 1970.
    pub at: u64,
    /// `group/interface:version`.
    pub service: String,
    /// The method.
    pub method: String,
    /// Which attempt of its call it was, from 1.
    pub attempt: u32,
    /// How many its call may have.
    pub allowed: u32,
    /// `tri://10.0.0.1:50051`.
    pub provider: String,
    /// How long it took to fail, in milliseconds.
    pub elapsed_millis: f64,
    /// The code that it failed with.
    pub code: String,
    /// What the failure means.
    pub class: String,
    /// The beginning of its text.
    pub message: String,
}

/// A service that is served on a protocol.
#[derive(Clone)]
pub(crate) struct ServedService {
    /// Where it is served.
    pub(crate) url: Url,
    pub(crate) descriptor: Arc<ServiceDescriptor>,
    /// It with its filters.
    pub(crate) invoker: Arc<dyn Invoker>,
    pub(super) counts: Option<Arc<Counts>>,
    pub(super) exported: Arc<Exported>,
}

impl ServedService {
    /// What was called of the method at this position, where it is counted.
    pub(crate) fn counted(&self, index: usize) -> Option<Counted> {
        self.counts.as_ref().map(|counts| counts.method(index))
    }
}

impl Instance {
    /// What the instance is now: what it serves and calls, where that is registered, what is stopped, and what failed last.
    ///
    /// It asks nobody: all of this is known here.
    pub async fn status(&self) -> InstanceStatus {
        self.0.status().await
    }

    /// What is served, without what the framework serves by itself.
    pub(crate) fn served(&self) -> Vec<ServedService> {
        self.0.running.lock().served.clone()
    }

    /// The references that the program still has clients of, each with who knows its providers.
    pub(crate) fn referred(&self) -> Vec<(ServiceKey, Vec<Arc<dyn Directory>>)> {
        let running = self.0.running.lock();
        let alive = running
            .references
            .iter()
            .filter(|reference| reference.is_alive());
        alive
            .map(|reference| {
                let directories = reference.directories.iter().filter_map(Weak::upgrade);
                (reference.service.clone(), directories.collect())
            })
            .collect()
    }
}

impl Inner {
    async fn status(&self) -> InstanceStatus {
        let references = self.reference_statuses();
        let phase = *self.phase.borrow();
        InstanceStatus {
            application: application_name(&self.config).to_owned(),
            release: RELEASE,
            phase: match phase {
                Phase::Built => "built",
                Phase::Started => "started",
                Phase::ShuttingDown => "shutting-down",
                Phase::Ended => "ended",
            },
            at: u64::try_from(now_millis()).unwrap_or(u64::MAX),
            not_ready: self.probe(Probe::Ready).await.err(),
            services: self.service_statuses(),
            breakers: self.breaker_statuses(&references),
            references,
            instances: self.instance_statuses(),
            registries: self
                .registries
                .chosen(None)
                .map(|(_, registry)| RegistryStatus {
                    id: registry.id.clone(),
                    address: registry.url.origin(),
                    trouble: registry.trouble().map(|error| error.to_string()),
                })
                .collect(),
            retries: self.retry_statuses(),
        }
    }

    fn service_statuses(&self) -> Vec<ServiceStatus> {
        let served = self.running.lock().served.clone();
        let of = |service: &ServedService| {
            let places = self.presence.of(&service.exported).into_iter();
            ServiceStatus {
                service: service.url.service_key().to_string(),
                address: service.url.origin(),
                registered: places
                    .map(|(registry, path, online)| Registered {
                        registry: self.registries.get(registry).id.clone(),
                        by: way(path),
                        online,
                    })
                    .collect(),
                methods: method_statuses(service),
            }
        };
        served.iter().map(of).collect()
    }

    fn reference_statuses(&self) -> Vec<ReferenceStatus> {
        let references: Vec<_> = {
            let running = self.running.lock();
            let alive = running
                .references
                .iter()
                .filter(|reference| reference.is_alive());
            alive
                .map(|reference| {
                    let directories = reference.directories.iter().filter_map(Weak::upgrade);
                    let directories: Vec<_> = directories.collect();
                    let (service, descriptor) = (&reference.service, &reference.descriptor);
                    (
                        service.clone(),
                        reference.check,
                        Arc::clone(descriptor),
                        directories,
                    )
                })
                .collect()
        };
        let now = u64::try_from(now_millis()).unwrap_or(u64::MAX);
        let statuses = references
            .into_iter()
            .map(
                |(service, check, descriptor, directories)| ReferenceStatus {
                    service: service.to_string(),
                    check,
                    sources: directories
                        .iter()
                        .map(|directory| SourceStatus {
                            origin: directory.origin(),
                            unavailable: directory.why_unavailable(),
                            providers: directory
                                .nodes()
                                .iter()
                                .map(|node| provider_status(node, &descriptor, now))
                                .collect(),
                        })
                        .collect(),
                },
            );
        statuses.collect()
    }

    fn instance_statuses(&self) -> Vec<RegisteredInstance> {
        let mut all = Vec::new();
        for (registry, provider, _) in self.registries.applications() {
            let instances = provider.instances();
            for instance in instances.borrow().iter() {
                let revision = instance.metadata.get(REVISION).unwrap_or_default();
                let published = provider.history().get(revision);
                all.push(RegisteredInstance {
                    registry: registry.to_owned(),
                    address: instance.id(),
                    revision: revision.to_owned(),
                    services: published.map_or(0, |published| published.info.services.len()),
                });
            }
        }
        all
    }

    fn breaker_statuses(&self, references: &[ReferenceStatus]) -> Vec<BreakerStatus> {
        let whole = self.resending.resend().broken().into_iter();
        let mut all: Vec<_> = whole
            .map(|(method, state)| BreakerStatus {
                method,
                provider: None,
                state: state.to_string(),
            })
            .collect();
        for reference in references {
            for provider in reference
                .sources
                .iter()
                .flat_map(|source| &source.providers)
            {
                for StoppedMethod { method, why } in &provider.stopped {
                    all.push(BreakerStatus {
                        method: format!("{}.{method}", reference.service),
                        provider: Some(provider.address.clone()),
                        state: why.clone(),
                    });
                }
            }
        }
        all
    }

    fn retry_statuses(&self) -> Vec<RetryStatus> {
        let failures = self.resending.resend().recent_failures();
        let statuses = failures.into_iter().rev().map(|failed| RetryStatus {
            at: millis_of(failed.at),
            service: failed.service.to_string(),
            method: failed.method,
            attempt: failed.attempt,
            allowed: failed.allowed,
            provider: failed.provider,
            elapsed_millis: millis(failed.elapsed),
            code: failed.code.to_string(),
            class: format!("{:?}", failed.class),
            message: failed.message,
        });
        statuses.collect()
    }
}

impl Reference {
    /// Whether the program still has a client of it.
    pub(super) fn is_alive(&self) -> bool {
        Weak::strong_count(&self.invoker) > 0
    }
}

/// In words.
fn way(path: Path) -> &'static str {
    match path {
        Path::Application => "application",
        Path::Interface => "interface",
    }
}

fn method_statuses(service: &ServedService) -> Vec<MethodStatus> {
    let methods = service.descriptor.methods().iter().enumerate();
    let statuses = methods.filter_map(|(index, method)| {
        let counted = service.counted(index)?;
        (!method.name.starts_with('$') || counted.total > 0).then(|| MethodStatus {
            method: method.name.clone().into_owned(),
            total: counted.total,
            failed: counted.failed,
            active: counted.active,
            average_millis: millis(counted.average),
            longest_millis: millis(counted.longest),
        })
    });
    statuses.collect()
}

fn provider_status(node: &Node, descriptor: &Arc<ServiceDescriptor>, now: u64) -> ProviderStatus {
    let methods = 0..descriptor.methods().len();
    let methods = methods.map(|index| MethodRef::new(Arc::clone(descriptor), index));
    ProviderStatus {
        address: node.invoker.url().origin(),
        application: node.url.param("application").map(str::to_owned),
        weight: node.effective_weight(now),
        active: node.state.active(),
        unavailable: (!node.invoker.is_available()).then(|| {
            let why = node.invoker.why_unavailable();
            why.unwrap_or_else(|| "it cannot be called".to_owned())
        }),
        stopped: methods
            .filter_map(|method| {
                Some(StoppedMethod {
                    why: node.state.why_not(&method)?,
                    method: method.name().to_owned(),
                })
            })
            .collect(),
    }
}

fn millis(duration: Duration) -> f64 {
    // A microsecond is as fine as anybody looks.
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

fn millis_of(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Where an instance says the revision of its metadata.
const REVISION: &str = "dubbo.metadata.revision";
