//! The clusters of one reference, exchanged while calls run when a rule changes its options.

use std::{any::Any, collections::BTreeMap, fmt, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use dubbo_core::{
    cluster::{Cluster, ClusterConfig, Directory, LoadBalance, MethodConfig, PerMethod},
    extension::{BoxError, Extensions},
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    service::{ServiceDescriptor, ServiceKey},
    url::{Key, Url},
};
use parking_lot::Mutex;

use crate::configurator::are_made_alike;

use super::mock::{self, MockRule};

/// Turns a consumer's URL into the options of its calls, and the names in it into plugins.
///
/// A plugin of one name is made once and stays: turns of a rotation and calls that wait to be sent again outlive a change
/// of other options.
pub struct SettingsMaker {
    extensions: Extensions,
    service: ServiceKey,
    descriptor: Arc<ServiceDescriptor>,
    timeout: Option<Duration>,
    made: Mutex<Made>,
}

#[derive(Default)]
struct Made {
    clusters: BTreeMap<&'static str, Arc<dyn Cluster>>,
    /// By the method that asks for one of its own; none for those that share the reference's. Each with what it was made
    /// with: it keeps turns and the like, but not options that have changed.
    load_balances: BTreeMap<(Option<String>, &'static str), MadeWith>,
}

type MadeWith = (Url, Arc<dyn LoadBalance>);

/// The options of one reference, resolved.
pub struct Settings {
    config: Arc<ClusterConfig>,
    clusters: PerMethod<Arc<dyn Cluster>>,
    mocks: PerMethod<Option<Arc<MockRule>>>,
}

impl SettingsMaker {
    /// For the reference of `service`; `timeout` is what an attempt may take where the URL does not say, `None` for ever.
    pub fn new(
        extensions: Extensions,
        service: ServiceKey,
        descriptor: Arc<ServiceDescriptor>,
        timeout: Option<Duration>,
    ) -> Self {
        Self {
            extensions,
            service,
            descriptor,
            timeout,
            made: Mutex::default(),
        }
    }

    /// What `url` says: `cluster`, `loadbalance`, `retries`, `timeout` (0 is for ever), `sticky` and `mock`, each
    /// first for the method and then for all. `retries` that is no number is not there, with a warning.
    ///
    /// # Errors
    ///
    /// No plugin has the name that is asked for, or a value is none; which, and where.
    pub fn resolve(&self, url: &Url) -> Result<Settings, BoxError> {
        let default = self.method(url, "")?;
        let mut own = std::collections::HashMap::new();
        for name in self.descriptor.method_names() {
            own.insert(name.to_owned(), self.method(url, name)?);
        }
        let config = ClusterConfig::new(
            self.service.clone(),
            &self.descriptor,
            url.clone(),
            default,
            &own,
        )
        .with_extensions(self.extensions.clone());
        let clusters = config.per_method(|method| self.cluster(url, method))?;
        let mocks = config.per_method(|method| MockRule::read(&config, method))?;
        Ok(Settings {
            config: Arc::new(config),
            clusters,
            mocks,
        })
    }

    fn method(&self, url: &Url, method: &str) -> Result<MethodConfig, BoxError> {
        let timeout = url.get_for(method, &TIMEOUT)?;
        let retries = url.get_for(method, &RETRIES).unwrap_or_else(|error| {
            tracing::warn!(service = %self.service, method, %error, "`retries` is left out");
            None
        });
        if let Some(below @ ..0) = retries {
            tracing::debug!(service = %self.service, method, retries = below, "negative `retries`");
        }
        Ok(MethodConfig {
            timeout: timeout.map_or(self.timeout, |timeout| {
                (!timeout.is_zero()).then_some(timeout)
            }),
            retries,
            sticky: url.get_for(method, &STICKY)?,
            load_balance: self.load_balance(url, method)?,
        })
    }

    fn load_balance(&self, url: &Url, method: &str) -> Result<Arc<dyn LoadBalance>, BoxError> {
        let common = url.get(&LOAD_BALANCE)?;
        let name = url.get_for(method, &LOAD_BALANCE)?;
        let name = self.extensions.canonical::<dyn LoadBalance>(&name)?;
        let is_common = self.extensions.canonical::<dyn LoadBalance>(&common)? == name;
        let place = ((!is_common).then(|| method.to_owned()), name);
        if let Some((made_with, made)) = self.made.lock().load_balances.get(&place)
            && are_made_alike(made_with, url)
        {
            return Ok(Arc::clone(made));
        }
        let made = self.extensions.create::<dyn LoadBalance>(name, url)?;
        let mut kept = self.made.lock();
        let made = (url.clone(), made);
        Ok(Arc::clone(
            &kept.load_balances.entry(place).insert_entry(made).get().1,
        ))
    }

    fn cluster(&self, url: &Url, method: &str) -> Result<Arc<dyn Cluster>, BoxError> {
        let name = url.get_for(method, &CLUSTER)?;
        let name = self.extensions.canonical::<dyn Cluster>(&name)?;
        if let Some(made) = self.made.lock().clusters.get(name) {
            return Ok(Arc::clone(made));
        }
        let made = self.extensions.create::<dyn Cluster>(name, url)?;
        let mut kept = self.made.lock();
        Ok(Arc::clone(kept.clusters.entry(name).or_insert(made)))
    }
}

impl fmt::Debug for SettingsMaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettingsMaker")
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Settings").field(&self.config).finish()
    }
}

/// One reference over one directory: each call goes to the cluster of its method, as the newest settings have it.
pub struct LiveCluster {
    directory: Arc<dyn Directory>,
    methods: ArcSwap<PerMethod<Arc<dyn Invoker>>>,
    held: Mutex<Vec<Box<dyn Any + Send + Sync>>>,
}

impl LiveCluster {
    /// Joins `directory` as `settings` say.
    ///
    /// # Errors
    ///
    /// An option that a cluster cannot use.
    pub fn new(directory: Arc<dyn Directory>, settings: &Settings) -> Result<Self, BoxError> {
        let methods = ArcSwap::from_pointee(settings.join(&directory)?);
        Ok(Self {
            directory,
            methods,
            held: Mutex::default(),
        })
    }

    /// Has calls that begin from now on go as `settings` say.
    ///
    /// # Errors
    ///
    /// An option that a cluster cannot use; then nothing changes.
    pub fn exchange(&self, settings: &Settings) -> Result<(), BoxError> {
        self.methods
            .store(Arc::new(settings.join(&self.directory)?));
        Ok(())
    }

    /// Keeps `what` until this is closed or dropped, such as the task that exchanges its settings.
    pub fn hold(&self, what: impl Send + Sync + 'static) {
        self.held.lock().push(Box::new(what));
    }
}

impl Settings {
    /// Methods that have a cluster in common share its invoker, behind the mock that each has.
    fn join(
        &self,
        directory: &Arc<dyn Directory>,
    ) -> Result<PerMethod<Arc<dyn Invoker>>, BoxError> {
        let mut joined: Vec<(&Arc<dyn Cluster>, Arc<_>)> = Vec::new();
        let mut mocks = self.mocks.iter();
        self.clusters.try_map(|cluster| {
            let mock = mocks.next().and_then(Option::as_ref);
            if let Some((_, invoker)) = joined.iter().find(|(known, _)| Arc::ptr_eq(known, cluster))
            {
                return Ok(mock::around(Arc::clone(invoker), mock));
            }
            let invoker = cluster.join(Arc::clone(directory), Arc::clone(&self.config))?;
            joined.push((cluster, Arc::clone(&invoker)));
            Ok(mock::around(invoker, mock))
        })
    }
}

#[async_trait]
impl Invoker for LiveCluster {
    fn url(&self) -> &Url {
        self.directory.consumer_url()
    }

    fn is_available(&self) -> bool {
        let nodes = self.directory.nodes();
        nodes.iter().any(|node| node.invoker.is_available())
    }

    fn why_unavailable(&self) -> Option<String> {
        self.directory.why_unavailable()
    }

    fn in_flight(&self) -> usize {
        let nodes = self.directory.nodes();
        nodes.iter().map(|node| node.invoker.in_flight()).sum()
    }

    async fn invoke(&self, invocation: Invocation) -> RpcResult {
        let cluster = Arc::clone(self.methods.load().get(&invocation.method));
        cluster.invoke(invocation).await
    }

    async fn close(&self) {
        let methods = self.methods.load_full();
        let mut closed: Vec<&Arc<dyn Invoker>> = Vec::new();
        for invoker in methods.iter() {
            if !closed.iter().any(|known| Arc::ptr_eq(known, invoker)) {
                closed.push(invoker);
                invoker.close().await;
            }
        }
        // Whoever keeps a client of an instance that has ended keeps no task with it.
        self.held.lock().clear();
    }
}

impl fmt::Debug for LiveCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LiveCluster").field(self.url()).finish()
    }
}

const TIMEOUT: Key<Option<Duration>> = Key {
    name: "timeout",
    default: || None,
};

const RETRIES: Key<Option<i32>> = Key {
    name: "retries",
    default: || None,
};

const STICKY: Key<bool> = Key {
    name: "sticky",
    default: || false,
};

const CLUSTER: Key<String> = Key {
    name: "cluster",
    default: || "failover".to_owned(),
};

const LOAD_BALANCE: Key<String> = Key {
    name: "loadbalance",
    default: || "random".to_owned(),
};
