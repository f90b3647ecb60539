//! A registry, a report and the fixture of the specification.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use bytes::Bytes;
use dubbo_core::{
    discovery::{Instances, ServiceDiscovery, ServiceInstance},
    metadata::{CasOutcome, Mapping, MetadataReport, Ticket},
    registry::RegistryError,
    subscription::Subscription,
    url::Url,
};
use dubbo_metadata::{
    clock::Clock,
    instance::{MetaVersion, MetadataServiceParams, Storage},
    provider::{Provider, ProviderOptions},
};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

/// A registry and a report that note what they are told and when.
pub(crate) struct World {
    pub(crate) start: Instant,
    log: Arc<Mutex<Vec<String>>>,
    provider: Arc<Mutex<Weak<Provider>>>,
    pub(crate) discovery: Arc<FakeDiscovery>,
    pub(crate) report: Arc<FakeReport>,
}

impl World {
    pub(crate) fn new() -> Self {
        let start = Instant::now();
        let log = Arc::<Mutex<Vec<String>>>::default();
        let provider = Arc::<Mutex<Weak<Provider>>>::default();
        let noted = Log {
            start,
            lines: Arc::clone(&log),
            provider: Arc::clone(&provider),
        };
        Self {
            start,
            log,
            provider,
            discovery: Arc::new(FakeDiscovery {
                url: Url::new("fake", "registry"),
                log: noted.clone(),
                told: Mutex::default(),
                others: Mutex::default(),
                lists: Mutex::new(Lists::All),
                answers: Mutex::default(),
                hangs: AtomicBool::new(false),
            }),
            report: Arc::new(FakeReport {
                url: Url::new("fake", "report"),
                log: noted,
                published: Mutex::default(),
                stored: Mutex::default(),
                collected: Mutex::default(),
                collections: AtomicUsize::new(0),
                unreadable: AtomicBool::new(false),
                reads: AtomicUsize::new(0),
                delay: Mutex::default(),
                failures: Mutex::default(),
                refuses: AtomicBool::new(false),
            }),
        }
    }

    pub(crate) fn options(&self, application: &str) -> ProviderOptions {
        let discovery = Arc::clone(&self.discovery) as _;
        let mut options = ProviderOptions::new(application, "zk", discovery, STARTED_MS, 1);
        let start = self.start;
        let now = move || STARTED_MS + u64::try_from(start.elapsed().as_millis()).expect("soon");
        options.clock = Clock::new(now, 0);
        options
    }

    pub(crate) fn provider(&self, change: impl FnOnce(&mut ProviderOptions)) -> Arc<Provider> {
        let mut options = self.options("demo-provider");
        change(&mut options);
        let provider = Provider::new(options).expect("valid");
        *self.provider.lock() = Arc::downgrade(&provider);
        provider
    }

    pub(crate) fn remote(&self) -> Arc<Provider> {
        self.provider(|options| {
            options.storage = Storage::Remote;
            options.reports = vec![("zk".into(), Arc::clone(&self.report) as _)];
        })
    }

    /// The same, but for the URL of the report.
    pub(crate) fn with_report(query: &str) -> Self {
        let mut world = Self::new();
        let url = format!("fake://report?{query}").parse().expect(query);
        Arc::get_mut(&mut world.report)
            .expect("nobody has it yet")
            .url = url;
        world
    }

    /// A provider of both services of the fixture, registered.
    pub(crate) async fn started(&self) -> Arc<Provider> {
        let provider = self.provider(|_| {});
        provider.export(&greet("")).expect("valid");
        provider.export(&bar("")).expect("valid");
        provider.register().await.expect("registered");
        provider
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.log.lock().clone()
    }

    pub(crate) fn registry_calls(&self) -> Vec<String> {
        let calls = self.calls().into_iter();
        calls.filter(|call| !call.contains("published")).collect()
    }

    pub(crate) fn instance(&self, id: &str) -> ServiceInstance {
        let told = self.discovery.told.lock();
        told.iter()
            .find(|instance| instance.id() == id)
            .expect(id)
            .clone()
    }
}

pub(crate) fn serve_metadata(provider: &Provider) {
    let params = MetadataServiceParams::new("tri", 50051).with_param("release", "dubbo-rust-4.0.0");
    provider.set_metadata_service(Some(params), MetaVersion::V2);
}

#[derive(Clone)]
struct Log {
    start: Instant,
    lines: Arc<Mutex<Vec<String>>>,
    provider: Arc<Mutex<Weak<Provider>>>,
}

impl Log {
    fn note(&self, what: &str) {
        let at = self.start.elapsed().as_millis();
        self.lines.lock().push(format!("{at} ms {what}"));
    }

    /// Whoever hears of a revision may ask the provider for it.
    fn is_answered_for(&self, revision: &str) {
        if let Some(provider) = self.provider.lock().upgrade() {
            assert!(provider.history().get(revision).is_some(), "{revision}");
        }
    }
}

/// What a list of instances is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lists {
    All,
    Failure,
    Nothing,
    Others,
}

/// Notes `what id revision storage`; does what `answers` say, then everything.
pub(crate) struct FakeDiscovery {
    url: Url,
    log: Log,
    told: Mutex<Vec<ServiceInstance>>,
    /// What is listed beside what was told.
    pub(crate) others: Mutex<Vec<ServiceInstance>>,
    pub(crate) lists: Mutex<Lists>,
    pub(crate) answers: Mutex<VecDeque<Result<(), RegistryError>>>,
    pub(crate) hangs: AtomicBool,
}

impl FakeDiscovery {
    async fn tell(&self, what: &str, instance: &ServiceInstance) -> Result<(), RegistryError> {
        let revision = &instance.metadata["dubbo.metadata.revision"];
        let storage = &instance.metadata["dubbo.metadata.storage-type"];
        self.log.is_answered_for(revision);
        self.log.note(&format!(
            "{what} {} {} {storage}",
            instance.id(),
            &revision[..4]
        ));
        if self.hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        if let Some(answer) = self.answers.lock().pop_front() {
            answer?;
        }
        let mut told = self.told.lock();
        told.retain(|other| other.id() != instance.id());
        told.push(instance.clone());
        let ids: BTreeSet<_> = told.iter().map(ServiceInstance::id).collect();
        assert_eq!(ids.len(), told.len());
        Ok(())
    }
}

#[async_trait]
impl ServiceDiscovery for FakeDiscovery {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn register(&self, instance: &ServiceInstance) -> Result<(), RegistryError> {
        self.tell("register", instance).await
    }

    async fn update(
        &self,
        old: &ServiceInstance,
        new: &ServiceInstance,
    ) -> Result<(), RegistryError> {
        assert_eq!(old.id(), new.id());
        assert_ne!(old, new);
        self.tell("update", new).await
    }

    async fn unregister(&self, instance: &ServiceInstance) -> Result<(), RegistryError> {
        self.log.note(&format!("unregister {}", instance.id()));
        self.told.lock().retain(|other| other != instance);
        Ok(())
    }

    async fn snapshot(&self, _: &str) -> Result<Instances, RegistryError> {
        let (told, others) = (self.told.lock().clone(), self.others.lock().clone());
        match *self.lists.lock() {
            Lists::All => Ok(told.into_iter().chain(others).map(Arc::new).collect()),
            Lists::Failure => Err(RegistryError::new(
                "list",
                "fake://registry",
                "out of reach",
            )),
            Lists::Nothing => Ok(Instances::default()),
            Lists::Others => Ok(others.into_iter().map(Arc::new).collect()),
        }
    }

    async fn watch(&self, _: &str) -> Result<Subscription<Instances>, RegistryError> {
        unreachable!("a provider follows nobody")
    }

    async fn close(&self) {}
}

/// Takes metadata after a while, unless it fails, and keeps it until it loses it.
pub(crate) struct FakeReport {
    url: Url,
    log: Log,
    pub(crate) published: Mutex<Vec<Bytes>>,
    /// By revision.
    pub(crate) stored: Mutex<BTreeMap<String, Bytes>>,
    /// When stale metadata was last looked for, and how often.
    pub(crate) collected: Mutex<Option<u64>>,
    pub(crate) collections: AtomicUsize,
    pub(crate) unreadable: AtomicBool,
    pub(crate) reads: AtomicUsize,
    delay: Mutex<Duration>,
    failures: Mutex<usize>,
    pub(crate) refuses: AtomicBool,
}

impl FakeReport {
    pub(crate) fn takes(&self, delay: Duration) {
        *self.delay.lock() = delay;
    }

    pub(crate) fn fails(&self, times: usize) {
        *self.failures.lock() = times;
    }
}

#[async_trait]
impl MetadataReport for FakeReport {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn publish_app(
        &self,
        application: &str,
        revision: &str,
        metadata: Bytes,
    ) -> Result<(), RegistryError> {
        assert_eq!(application, "demo-provider");
        self.log.is_answered_for(revision);
        let delay = *self.delay.lock();
        sleep(delay).await;
        let error = RegistryError::new("publish metadata", "fake://report", "out of order");
        let key = revision.to_owned();
        let revision = &revision[..4];
        let fails = {
            let mut failures = self.failures.lock();
            let fails = *failures > 0;
            *failures = failures.saturating_sub(1);
            fails
        };
        if fails || self.refuses.load(Ordering::Relaxed) {
            self.log.note(&format!("not published {revision}"));
            return Err(if fails { error } else { error.refused() });
        }
        self.log.note(&format!("published {revision}"));
        self.stored.lock().insert(key, metadata.clone());
        self.published.lock().push(metadata);
        Ok(())
    }

    async fn app(&self, _: &str, revision: &str) -> Result<Option<Bytes>, RegistryError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if self.unreadable.load(Ordering::Relaxed) {
            return Err(RegistryError::new("read", "fake://report", "out of order"));
        }
        Ok(self.stored.lock().get(revision).cloned())
    }

    async fn remove_app(&self, _: &str, revision: &str) -> Result<(), RegistryError> {
        self.log.note(&format!("removed {revision}"));
        self.stored.lock().remove(revision);
        Ok(())
    }

    async fn list_app(&self, _: &str) -> Result<Vec<(String, Option<SystemTime>)>, RegistryError> {
        let stored = self.stored.lock();
        let revisions = stored.keys().map(|revision| (revision.clone(), None));
        Ok(revisions.collect())
    }

    async fn last_collection(&self, _: &str) -> Result<(Option<u64>, Ticket), RegistryError> {
        let collected = *self.collected.lock();
        Ok((collected, Ticket(collected.map(|ms| ms.to_string()))))
    }

    async fn cas_last_collection(
        &self,
        _: &str,
        now_ms: u64,
        ticket: Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        // As long as it takes for all who read it meanwhile.
        sleep(Duration::from_millis(1)).await;
        let mut collected = self.collected.lock();
        if ticket.0 != collected.map(|ms| ms.to_string()) {
            return Ok(CasOutcome::Conflict);
        }
        *collected = Some(now_ms);
        self.collections.fetch_add(1, Ordering::Relaxed);
        Ok(CasOutcome::Written)
    }

    async fn mapping(&self, _: &str) -> Result<(Mapping, Ticket), RegistryError> {
        unreachable!("mappings are not the chain's")
    }

    async fn cas_mapping(
        &self,
        _: &str,
        _: &Mapping,
        _: Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        unreachable!("mappings are not the chain's")
    }

    async fn watch_mapping(&self, _: &str) -> Result<Subscription<Arc<Mapping>>, RegistryError> {
        unreachable!("mappings are not the chain's")
    }

    async fn store_definition(&self, _: &str, _: Bytes) -> Result<(), RegistryError> {
        unreachable!("definitions are not the chain's")
    }

    async fn definition(&self, _: &str) -> Result<Option<Bytes>, RegistryError> {
        unreachable!("definitions are not the chain's")
    }

    async fn close(&self) {}
}

/// The first service of the fixture of `docs/spec/metadata.md` §2.2.
pub(crate) fn greet(more: &str) -> Url {
    format!(
        "tri://10.0.0.1:50051/org.apache.dubbo.samples.GreetService?interface=org.apache.dubbo.samples.GreetService&group=g1\
         &version=1.0.0&methods=SayHello,Greet&methods.Greet.timeout=1000&{COMMON}{more}"
    )
    .parse()
    .expect("valid")
}

/// The second one.
pub(crate) fn bar(more: &str) -> Url {
    format!(
        "dubbo://10.0.0.1:20000/com.foo.Bar?interface=com.foo.Bar&methods=GetPetByID,GetPetTypes&{COMMON}{more}"
    )
    .parse()
    .expect("valid")
}

pub(crate) fn other(interface: &str) -> Url {
    format!("tri://10.0.0.1:50051/{interface}?interface={interface}&methods=m&{COMMON}")
        .parse()
        .expect("valid")
}

/// The time of day at which a test begins: 22:13:20 in UTC.
pub(crate) const STARTED_MS: u64 = 1_700_000_000_000;

const COMMON: &str = "side=provider&release=dubbo-rust-4.0.0";
