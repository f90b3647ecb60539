//! What the parts of one consumer share.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, Weak, atomic::AtomicU64},
    time::Duration,
};

use dubbo_core::{discovery::ServiceDiscovery, metadata::Mapping};
use parking_lot::Mutex;

use super::{
    ConsumerOptions, app::AppWatch, filters::Filters, load::Loader, metrics, store::RevisionStore,
    tasks::Tasks, view::AppState,
};
use crate::{
    cache::Cache,
    mapping::{MappingView, resolver::Resolver},
    reports::Reports,
};

/// One registry's consumer, as its parts see it. What they watch together is found here, and is let go by the last one.
pub(crate) struct Shared {
    /// What messages call the registry.
    pub(crate) address: String,
    pub(super) discovery: Arc<dyn ServiceDiscovery>,
    pub(super) filters: Filters,
    pub(crate) reports: Arc<Reports>,
    pub(super) extend_params: Arc<BTreeMap<String, String>>,
    pub(crate) subscribed_services: Arc<[String]>,
    pub(super) empty_protection: bool,
    pub(super) stale_grace: Duration,
    pub(crate) tasks: Arc<Tasks>,
    pub(super) store: Arc<RevisionStore>,
    /// How often an instance had no port for a service.
    pub(super) portless: AtomicU64,
    random: Mutex<fastrand::Rng>,
    apps: Mutex<HashMap<Arc<str>, Weak<AppWatch>>>,
    resolvers: Mutex<HashMap<Arc<str>, Weak<Resolver>>>,
    /// How many interfaces are mapped to nobody.
    pending: Mutex<usize>,
    /// The id of the registry.
    pub(super) registry: Arc<str>,
    pub(super) cache: Arc<Cache>,
}

impl Shared {
    pub(super) fn new(options: ConsumerOptions) -> Arc<Self> {
        let mut random = fastrand::Rng::with_seed(options.seed);
        let url = options.discovery.url();
        let address = url.origin();
        let reports = Arc::new(Reports::new(
            options.registry.clone(),
            options.reports.clone(),
        ));
        let registry: Arc<str> = options.registry.as_str().into();
        let tasks = Arc::new(Tasks::new());
        let loader = Loader::new(&options, Arc::clone(&reports));
        let store = RevisionStore::new(
            loader,
            Arc::clone(&tasks),
            Arc::clone(&options.cache),
            Arc::clone(&registry),
            random.fork(),
        );
        Arc::new(Self {
            address,
            discovery: options.discovery,
            filters: Filters::new(options.filters),
            reports,
            extend_params: Arc::new(options.extend_params),
            subscribed_services: options.subscribed_services.into(),
            empty_protection: options.empty_protection,
            stale_grace: options.stale_grace,
            tasks,
            store,
            portless: AtomicU64::new(0),
            random: Mutex::new(random),
            apps: Mutex::default(),
            resolvers: Mutex::default(),
            pending: Mutex::default(),
            registry,
            cache: options.cache,
        })
    }

    /// Chances of one's own, that follow from the seed.
    pub(crate) fn random(&self) -> fastrand::Rng {
        self.random.lock().fork()
    }

    /// Follows the application `name`, with all others that do.
    pub(super) fn app(self: &Arc<Self>, name: &str) -> Arc<AppWatch> {
        let mut apps = self.apps.lock();
        if let Some(app) = apps.get(name).and_then(Weak::upgrade) {
            return app;
        }
        let name: Arc<str> = name.into();
        let app = AppWatch::start(Arc::clone(&name), self);
        apps.insert(name, Arc::downgrade(&app));
        app
    }

    /// Called by the last one that followed it.
    pub(super) fn forget_app(&self, name: &str) {
        forget(&self.apps, name);
    }

    /// Follows who provides `interface`, with all others that do.
    pub(super) fn resolver(self: &Arc<Self>, interface: &str) -> Arc<Resolver> {
        let mut resolvers = self.resolvers.lock();
        if let Some(resolver) = resolvers.get(interface).and_then(Weak::upgrade) {
            return resolver;
        }
        let interface: Arc<str> = interface.into();
        let resolver = Resolver::start(Arc::clone(&interface), self);
        resolvers.insert(interface, Arc::downgrade(&resolver));
        resolver
    }

    /// Called by the last one that followed it.
    pub(crate) fn forget_resolver(&self, interface: &str) {
        forget(&self.resolvers, interface);
    }

    /// What is known of the mappings that are followed now, by interface.
    pub(super) fn mappings(&self) -> Vec<MappingView> {
        // They are let go after the lock: the last one to go takes it.
        let resolvers: Vec<_> = self
            .resolvers
            .lock()
            .values()
            .filter_map(Weak::upgrade)
            .collect();
        let mut views: Vec<_> = resolvers.iter().map(|resolver| resolver.view()).collect();
        views.sort_by(|one, other| one.interface.cmp(&other.interface));
        views
    }

    /// The mapping of `interface` as it was known last.
    pub(crate) fn remembered(&self, interface: &Arc<str>) -> Option<Arc<Mapping>> {
        self.cache.mapping(&self.registry, interface)
    }

    /// Remembers the mapping of `interface` for those who come later.
    pub(crate) fn remember(&self, interface: &Arc<str>, mapping: &Arc<Mapping>) {
        self.cache.remember(&self.registry, interface, mapping);
    }

    /// Counts an interface that is mapped to nobody from now on, or that is not any more.
    pub(crate) fn count_pending(&self, is_pending: bool) {
        // The lock is held while it is told: the last number is the last one told.
        let mut pending = self.pending.lock();
        *pending = if is_pending {
            *pending + 1
        } else {
            pending.saturating_sub(1)
        };
        metrics::pending_mappings(&self.registry, *pending);
    }

    /// The applications that are followed now.
    pub(super) fn states(&self) -> Vec<Arc<AppState>> {
        // They are let go after the lock: the last one to go takes it.
        let apps: Vec<_> = self
            .apps
            .lock()
            .values()
            .filter_map(Weak::upgrade)
            .collect();
        apps.iter()
            .map(|app| Arc::clone(&app.states().borrow()))
            .collect()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("address", &self.address)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

fn forget<T>(map: &Mutex<HashMap<Arc<str>, Weak<T>>>, name: &str) {
    let mut map = map.lock();
    // Somebody may have begun to follow it anew in the meantime.
    if map.get(name).is_some_and(|one| one.strong_count() == 0) {
        map.remove(name);
    }
}
