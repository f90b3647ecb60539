//! A registry, a report and instances that do what a test tells them.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use bytes::Bytes;
use dubbo_core::{
    discovery::{Instances, ServiceDiscovery, ServiceInstance},
    metadata::{CasOutcome, Mapping, MetadataReport, Ticket},
    registry::{RegistryError, RegistrySnapshot},
    subscription::{Subscription, Update},
    url::Url,
};
use dubbo_metadata::{
    consumer::{Consumer, ConsumerOptions, Fetch, FetchError},
    model::{MetadataInfo, ServiceInfo},
};
use parking_lot::Mutex;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

/// A registry, an application's instances, a report, and a consumer of all of them.
pub(crate) struct World {
    pub(crate) registry: Arc<FakeDiscovery>,
    pub(crate) instances: Arc<FakeInstances>,
    pub(crate) report: Arc<FakeReport>,
    pub(crate) consumer: Arc<Consumer>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut ConsumerOptions)) -> Self {
        let registry = Arc::new(FakeDiscovery::new());
        let instances = Arc::new(FakeInstances::default());
        let report = Arc::new(FakeReport::new());
        let mut options = ConsumerOptions::new(
            "zk1",
            Arc::clone(&registry) as _,
            Arc::clone(&instances) as _,
        );
        options.seed = 7;
        options.reports = vec![("zk1".to_owned(), Arc::clone(&report) as _)];
        change(&mut options);
        Self {
            registry,
            instances,
            report,
            consumer: Consumer::new(options),
        }
    }

    /// Follows what `query`, such as `a.B?group=g`, asks for.
    pub(crate) async fn follow(&self, query: &str) -> Following {
        let url: Url = format!("consumer://10.0.0.9/{query}").parse().expect(query);
        Following(
            self.consumer
                .subscribe(&url)
                .await
                .expect("it can be followed"),
        )
    }
}

/// A subscription, with shorter names.
pub(crate) struct Following(pub(crate) Subscription<RegistrySnapshot>);

impl Following {
    /// The addresses now.
    pub(crate) fn addresses(&mut self) -> Vec<String> {
        addresses(&self.0.current())
    }

    /// The text of the error that is the state now, and how far it came.
    pub(crate) fn error(&mut self) -> (String, Vec<String>) {
        let error = self.0.current().state.expect_err("an error");
        let steps = error.steps.iter().map(ToString::to_string);
        (error.to_string(), steps.collect())
    }

    /// The next state, which must come within a minute.
    pub(crate) async fn next(&mut self) -> Update<RegistrySnapshot> {
        self.next_within(Duration::from_mins(1))
            .await
            .expect("a change within a minute")
    }

    pub(crate) async fn next_within(
        &mut self,
        limit: Duration,
    ) -> Option<Update<RegistrySnapshot>> {
        timeout(limit, self.0.changed()).await.ok()?
    }

    /// Takes in states until one has `count` addresses; how many states that took.
    pub(crate) async fn until(&mut self, count: usize) -> usize {
        let mut states = 0;
        loop {
            let now = self.0.current();
            if now.state.is_ok() && addresses(&now).len() == count {
                return states;
            }
            self.next().await;
            states += 1;
        }
    }

    /// Asserts that nothing is told for `time`.
    pub(crate) async fn stays_quiet(&mut self, time: Duration) {
        let told = self.next_within(time).await;
        assert!(told.is_none(), "{told:?}");
    }

    /// The step with the name `name`, as text.
    pub(crate) fn step(&mut self, name: &str) -> String {
        let update = self.0.current();
        let steps = update.state.expect("a snapshot").steps;
        let step = steps.iter().find(|step| step.name == name);
        step.expect("there is such a step").to_string()
    }
}

/// The addresses of a snapshot.
pub(crate) fn addresses(update: &Update<RegistrySnapshot>) -> Vec<String> {
    let snapshot = update.state.as_ref().expect("a snapshot, not an error");
    snapshot.providers.iter().map(Url::address).collect()
}

/// `count` instances of `app` at `revision`: 10.`net`.0.0:20000, 10.`net`.0.1:20000 and so on.
pub(crate) fn instances(app: &str, revision: &str, net: u8, count: usize) -> Vec<ServiceInstance> {
    (0..count)
        .map(|n| {
            let host = format!("10.{net}.{}.{}", n / 256, n % 256);
            at(app, &host, 20000, &[("dubbo.metadata.revision", revision)])
        })
        .collect()
}

/// One instance that says `metadata` of itself.
pub(crate) fn at(app: &str, host: &str, port: u16, metadata: &[(&str, &str)]) -> ServiceInstance {
    let mut instance = ServiceInstance::new(app, host, port);
    let owned = metadata
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    instance.metadata = owned.collect();
    instance
}

/// What `app` serves at `revision`: `services`, written as match keys.
pub(crate) fn info(app: &str, revision: &str, services: &[&str]) -> MetadataInfo {
    let services = services.iter().map(|key| {
        let (key, protocol) = key.rsplit_once(':').expect("a protocol");
        let key: dubbo_core::service::ServiceKey = key.parse().expect("a service key");
        Arc::new(ServiceInfo {
            name: key.interface().to_owned(),
            group: key.group().unwrap_or_default().to_owned(),
            version: key.version().unwrap_or_default().to_owned(),
            protocol: protocol.to_owned(),
            path: key.interface().to_owned(),
            params: BTreeMap::from([("methods".to_owned(), "call".to_owned())]),
            ..ServiceInfo::default()
        })
    });
    MetadataInfo {
        app: app.to_owned(),
        revision: revision.to_owned(),
        services: services.collect(),
        ..MetadataInfo::default()
    }
}

type Lists = watch::Sender<Update<Instances>>;

/// A registry whose lists a test sets.
pub(crate) struct FakeDiscovery {
    url: Url,
    apps: Mutex<HashMap<String, Lists>>,
    refused: Mutex<HashSet<String>>,
    watches: Arc<AtomicUsize>,
}

impl FakeDiscovery {
    fn new() -> Self {
        Self {
            url: Url::new("zookeeper", "10.0.0.100").with_port(2181),
            apps: Mutex::default(),
            refused: Mutex::default(),
            watches: Arc::default(),
        }
    }

    /// Lists `instances` of `app`.
    pub(crate) fn list(&self, app: &str, instances: Vec<ServiceInstance>) {
        self.tell(app, Ok(instances.into_iter().map(Arc::new).collect()));
    }

    /// As [`list`](Self::list), as registries do it that change their last list where it is as long.
    pub(crate) fn change(&self, app: &str, instances: &[ServiceInstance]) {
        let last = self.with(app, |updates| updates.borrow().state.clone());
        let now = match last {
            Ok(last) if last.len() == instances.len() => {
                let others = instances.iter().enumerate();
                let others = others.filter(|(at, instance)| **instance != *last[*at]);
                last.with(others.map(|(at, instance)| (at, Arc::new(instance.clone()))))
            }
            _ => instances.iter().cloned().map(Arc::new).collect(),
        };
        self.tell(app, Ok(now));
    }

    /// Fails to list those of `app`.
    pub(crate) fn fail(&self, app: &str, reason: &str) {
        let error = RegistryError::new("list", "zookeeper://10.0.0.100:2181", reason);
        self.fail_with(app, error);
    }

    pub(crate) fn fail_with(&self, app: &str, error: RegistryError) {
        self.tell(app, Err(Arc::new(error)));
    }

    /// Ends the watches of `app`.
    pub(crate) fn end(&self, app: &str) {
        self.apps.lock().remove(app);
    }

    /// Refuses to follow those of `app`, or does not any more.
    pub(crate) fn refuse(&self, app: &str, does: bool) {
        let mut refused = self.refused.lock();
        if does {
            refused.insert(app.to_owned());
        } else {
            refused.remove(app);
        }
    }

    /// How many watches there are.
    pub(crate) fn watches(&self) -> usize {
        self.watches.load(Ordering::Relaxed)
    }

    fn tell(&self, app: &str, state: Result<Instances, Arc<RegistryError>>) {
        self.with(app, |updates| {
            updates.send_modify(|last| *last = Update::new(last.epoch + 1, state));
        });
    }

    fn with<R>(&self, app: &str, f: impl FnOnce(&Lists) -> R) -> R {
        let mut apps = self.apps.lock();
        f(apps
            .entry(app.to_owned())
            .or_insert_with(|| watch::channel(Update::new(0, Ok(Instances::default()))).0))
    }
}

#[async_trait]
impl ServiceDiscovery for FakeDiscovery {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn register(&self, _: &ServiceInstance) -> Result<(), RegistryError> {
        unreachable!("consumers register nothing")
    }

    async fn update(&self, _: &ServiceInstance, _: &ServiceInstance) -> Result<(), RegistryError> {
        unreachable!("consumers register nothing")
    }

    async fn unregister(&self, _: &ServiceInstance) -> Result<(), RegistryError> {
        unreachable!("consumers register nothing")
    }

    async fn snapshot(&self, _: &str) -> Result<Instances, RegistryError> {
        unreachable!("consumers watch")
    }

    async fn watch(&self, app: &str) -> Result<Subscription<Instances>, RegistryError> {
        if self.refused.lock().contains(app) {
            let operation = format!("follow the instances of {app:?}");
            let address = "zookeeper://10.0.0.100:2181";
            return Err(RegistryError::new(operation, address, "no such name").refused());
        }
        self.watches.fetch_add(1, Ordering::Relaxed);
        let watches = Arc::clone(&self.watches);
        let updates = self.with(app, watch::Sender::subscribe);
        Ok(Subscription::new(updates, move || {
            watches.fetch_sub(1, Ordering::Relaxed);
        }))
    }

    async fn close(&self) {}
}

/// What an instance answers when it is asked for its metadata.
#[derive(Clone)]
pub(crate) enum Answer {
    Info(Arc<MetadataInfo>),
    Nothing,
    Panic,
    Refused,
    Silence,
}

/// Instances that answer by the revision that they are asked for, or by who they are.
#[derive(Default)]
pub(crate) struct FakeInstances {
    by_revision: Mutex<HashMap<String, Answer>>,
    by_id: Mutex<HashMap<String, Answer>>,
    delay: Mutex<Duration>,
    slow: Mutex<HashMap<String, Duration>>,
    calls: Mutex<Vec<Call>>,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
}

/// One call of a metadata service.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) at: Instant,
    pub(crate) id: String,
    pub(crate) revision: String,
}

impl FakeInstances {
    pub(crate) fn serve(&self, info: MetadataInfo) {
        let key = format!("{}/{}", info.app, info.revision);
        self.answer(&key, Answer::Info(Arc::new(info)));
    }

    /// The answer for `key`, `app/revision`.
    pub(crate) fn answer(&self, key: &str, answer: Answer) {
        self.by_revision.lock().insert(key.to_owned(), answer);
    }

    /// The answer of the instance `id`.
    pub(crate) fn answer_of(&self, id: &str, answer: Answer) {
        self.by_id.lock().insert(id.to_owned(), answer);
    }

    pub(crate) fn set_delay(&self, delay: Duration) {
        *self.delay.lock() = delay;
    }

    /// How long answers for `key`, `app/revision`, take.
    pub(crate) fn slow(&self, key: &str, delay: Duration) {
        self.slow.lock().insert(key.to_owned(), delay);
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().clone()
    }

    pub(crate) fn most_at_once(&self) -> usize {
        self.most_at_once.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Fetch for FakeInstances {
    async fn fetch(
        &self,
        instance: &ServiceInstance,
        revision: &str,
    ) -> Result<MetadataInfo, FetchError> {
        let id = instance.id();
        self.calls.lock().push(Call {
            at: Instant::now(),
            id: id.clone(),
            revision: revision.to_owned(),
        });
        let now = self.at_once.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_at_once.fetch_max(now, Ordering::Relaxed);
        let _asked = Asked(&self.at_once);
        let key = format!("{}/{revision}", instance.application);
        let slow = self.slow.lock().get(&key).copied();
        let delay = slow.unwrap_or_else(|| *self.delay.lock());
        sleep(delay).await;
        let of_instance = self.by_id.lock().get(&id).cloned();
        let answer = of_instance.or_else(|| self.by_revision.lock().get(&key).cloned());
        match answer.unwrap_or(Answer::Nothing) {
            Answer::Info(info) => Ok(MetadataInfo::clone(&info)),
            Answer::Nothing => Err(FetchError::UnknownRevision),
            Answer::Panic => panic!("as the test wants it"),
            Answer::Refused => Err(FetchError::Unavailable("connection refused".into())),
            Answer::Silence => pending().await,
        }
    }
}

/// One call that is under way.
struct Asked<'a>(&'a AtomicUsize);

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A metadata report whose contents a test sets.
pub(crate) struct FakeReport {
    url: Url,
    apps: Mutex<HashMap<(String, String), Bytes>>,
    mappings: Mutex<HashMap<String, watch::Sender<Update<Arc<Mapping>>>>>,
    watches_work: Mutex<bool>,
    app_reads: AtomicUsize,
    mapping_reads: AtomicUsize,
    watches: Arc<AtomicUsize>,
}

impl FakeReport {
    pub(crate) fn new() -> Self {
        Self {
            url: Url::new("zookeeper", "10.0.0.100").with_port(2181),
            apps: Mutex::default(),
            mappings: Mutex::default(),
            watches_work: Mutex::new(true),
            app_reads: AtomicUsize::new(0),
            mapping_reads: AtomicUsize::new(0),
            watches: Arc::default(),
        }
    }

    pub(crate) fn map(&self, interface: &str, apps: &str) {
        self.tell(interface, Ok(Arc::new(Mapping::parse(apps))));
    }

    pub(crate) fn fail(&self, interface: &str, reason: &str) {
        let error = RegistryError::new("read", "zookeeper://10.0.0.100:2181", reason);
        self.tell(interface, Err(Arc::new(error)));
    }

    pub(crate) fn put(&self, app: &str, revision: &str, content: impl Into<Bytes>) {
        let key = (app.to_owned(), revision.to_owned());
        self.apps.lock().insert(key, content.into());
    }

    /// From now on nothing can be watched.
    pub(crate) fn stop_watches(&self) {
        *self.watches_work.lock() = false;
    }

    pub(crate) fn app_reads(&self) -> usize {
        self.app_reads.load(Ordering::Relaxed)
    }

    /// How often mappings were read or watched.
    pub(crate) fn mapping_reads(&self) -> usize {
        self.mapping_reads.load(Ordering::Relaxed)
    }

    pub(crate) fn watches(&self) -> usize {
        self.watches.load(Ordering::Relaxed)
    }

    fn tell(&self, interface: &str, state: Result<Arc<Mapping>, Arc<RegistryError>>) {
        self.with(interface, |updates| {
            updates.send_modify(|last| *last = Update::new(last.epoch + 1, state));
        });
    }

    fn with<R>(
        &self,
        interface: &str,
        f: impl FnOnce(&watch::Sender<Update<Arc<Mapping>>>) -> R,
    ) -> R {
        let mut mappings = self.mappings.lock();
        f(mappings
            .entry(interface.to_owned())
            .or_insert_with(|| watch::channel(Update::new(0, Ok(Arc::default()))).0))
    }
}

#[async_trait]
impl MetadataReport for FakeReport {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn app(&self, app: &str, revision: &str) -> Result<Option<Bytes>, RegistryError> {
        self.app_reads.fetch_add(1, Ordering::Relaxed);
        let key = (app.to_owned(), revision.to_owned());
        Ok(self.apps.lock().get(&key).cloned())
    }

    async fn publish_app(&self, _: &str, _: &str, _: Bytes) -> Result<(), RegistryError> {
        unreachable!("consumers publish nothing")
    }

    async fn remove_app(&self, _: &str, _: &str) -> Result<(), RegistryError> {
        unreachable!("consumers publish nothing")
    }

    async fn list_app(&self, _: &str) -> Result<Vec<(String, Option<SystemTime>)>, RegistryError> {
        unreachable!("consumers know which revision they want")
    }

    async fn mapping(&self, interface: &str) -> Result<(Mapping, Ticket), RegistryError> {
        self.mapping_reads.fetch_add(1, Ordering::Relaxed);
        let state = self.with(interface, |updates| updates.borrow().state.clone());
        match state {
            Ok(mapping) => Ok((Mapping::clone(&mapping), Ticket::default())),
            Err(error) => Err(RegistryError::new(
                &error.operation,
                &error.address,
                &error.reason,
            )),
        }
    }

    async fn cas_mapping(
        &self,
        _: &str,
        _: &Mapping,
        _: Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        unreachable!("consumers publish nothing")
    }

    async fn watch_mapping(
        &self,
        interface: &str,
    ) -> Result<Subscription<Arc<Mapping>>, RegistryError> {
        self.mapping_reads.fetch_add(1, Ordering::Relaxed);
        if !*self.watches_work.lock() {
            let error = RegistryError::new("watch", "etcd", "mappings cannot be watched");
            return Err(error.refused());
        }
        self.watches.fetch_add(1, Ordering::Relaxed);
        let watches = Arc::clone(&self.watches);
        let updates = self.with(interface, watch::Sender::subscribe);
        Ok(Subscription::new(updates, move || {
            watches.fetch_sub(1, Ordering::Relaxed);
        }))
    }

    async fn store_definition(&self, _: &str, _: Bytes) -> Result<(), RegistryError> {
        unreachable!("consumers publish nothing")
    }

    async fn definition(&self, _: &str) -> Result<Option<Bytes>, RegistryError> {
        unreachable!("consumers read no definitions")
    }

    async fn close(&self) {}
}
