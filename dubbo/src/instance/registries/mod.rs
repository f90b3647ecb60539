//! The configured registries: what is registered there and looked for, by interfaces, by the application, or both.

mod cache;
mod make;
mod migration;
mod relay;
pub(super) mod url;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use dubbo_cluster::{
    configurator::LiveOverrides,
    directory::DynamicDirectory,
    migration::{Controller, Path},
    router::RouterChain,
};
use dubbo_core::{
    discovery::ServiceDiscovery,
    extension::{BoxError, Extensions},
    invoker::Invoker,
    metadata::MetadataReport,
    registry::{Registry, RegistryError, RegistryErrorKind, RegistrySnapshot},
    subscription::Subscription,
    url::Url,
};
use dubbo_metadata::{
    consumer::{Consumer, Fetch, FetchSlots},
    mapping::{Registrar, RegistrarOptions},
    provider::Provider,
};
use dubbo_registry::matching::Category;
use futures_util::FutureExt as _;
use tokio::time::Instant;

pub(super) use self::cache::Caches;
use self::make::{Make, reports};
use super::{export::application_name, host::without_hidden};
use crate::{
    config::Config,
    error::Error,
    observe::tally::{Asked, Tally},
};

/// All registries of an instance, and the stores of metadata.
pub(super) struct Registries {
    all: Vec<Arc<NamedRegistry>>,
    reports: Reports,
    /// Adds this application to those that its interfaces are provided by; none without application-level discovery.
    registrar: Option<Arc<Registrar>>,
    caches: Caches,
    migration: Arc<Controller>,
}

/// The metadata reports by their ids: those of registries have the ids of these.
type Reports = Vec<(String, Arc<dyn MetadataReport>)>;

/// One registry and what the configuration calls it.
pub(super) struct NamedRegistry {
    pub(super) id: String,
    pub(super) url: Url,
    /// Whether its providers come first, where it is, and its share of calls, beside other registries.
    pub(super) preferred: bool,
    pub(super) zone: Option<String>,
    pub(super) weight: u32,
    roads: Roads,
    tally: Arc<Tally>,
    timeout: Timeout,
    /// Whether a start fails when it does not answer in time. It always does when the registry refuses.
    check: bool,
}

/// The ways in which a registry is used; at least one.
struct Roads {
    interface: Option<Arc<dyn Registry>>,
    application: Option<Application>,
}

impl Roads {
    /// Why the registry cannot be reached, as far as it is known.
    fn trouble(&self) -> Option<Arc<RegistryError>> {
        let interface = self.interface.as_ref();
        let application = self.application.as_ref();
        interface
            .and_then(|registry| registry.trouble())
            .or_else(|| application.and_then(|application| application.discovery.trouble()))
    }
}

/// Application-level registration and discovery.
struct Application {
    discovery: Arc<dyn ServiceDiscovery>,
    provider: Arc<Provider>,
    consumer: Arc<Consumer>,
    /// How long registering may take beyond the registry's own time: publishing metadata goes before it.
    publish: Duration,
}

/// How long the registry may take; it may change.
struct Timeout(AtomicU64);

impl Timeout {
    fn new(timeout: Duration) -> Self {
        let new = Self(AtomicU64::default());
        new.set(timeout);
        new
    }

    fn set(&self, timeout: Duration) {
        let millis = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        self.0.store(millis, Ordering::Relaxed);
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

impl Registries {
    /// Makes the registries that are not switched off. None of them connects yet.
    pub(super) fn create(
        config: &Config,
        extensions: &Extensions,
        fetch: &Arc<dyn Fetch>,
        caches: Caches,
    ) -> Result<Self, Error> {
        let registries = || {
            config
                .registries
                .iter()
                .filter(|(_, registry)| !registry.is_off())
        };
        let reports = reports(config, extensions)?;
        let slots = FetchSlots::default();
        let mut all = Vec::new();
        for (id, registry) in registries() {
            let make = Make {
                config,
                extensions,
                fetch,
                reports: &reports,
                slots: &slots,
                caches: &caches,
            };
            all.push(Arc::new(make.registry(id, registry)?));
        }
        let is_mapped = all
            .iter()
            .any(|registry| registry.roads.application.is_some());
        let registrar = is_mapped.then(|| {
            let mut options =
                RegistrarOptions::new(application_name(config), reports.clone(), fastrand::u64(..));
            options.required = config.metadata.mapping_required.unwrap_or(false);
            Registrar::new(options)
        });
        let migration = migration::controller(config, extensions, &all)?;
        Ok(Self {
            all,
            reports,
            registrar: registrar.transpose()?,
            caches,
            migration,
        })
    }

    /// Has the registry called `id`, if there is one, be waited for as long as `timeout` says from now on.
    pub(super) fn set_timeout(&self, id: &str, timeout: Duration) {
        if let Some(registry) = self.all.iter().find(|registry| registry.id == id) {
            registry.timeout.set(timeout);
        }
    }

    /// Those that a service or reference asks for: all of them when it names none.
    pub(super) fn chosen<'a>(
        &'a self,
        ids: Option<&'a [String]>,
    ) -> impl Iterator<Item = (usize, &'a Arc<NamedRegistry>)> {
        let ids = ids.filter(|ids| !ids.is_empty());
        self.all
            .iter()
            .enumerate()
            .filter(move |(_, registry)| ids.is_none_or(|ids| ids.contains(&registry.id)))
    }

    pub(super) fn get(&self, index: usize) -> &NamedRegistry {
        &self.all[index]
    }

    pub(super) fn shared(&self, index: usize) -> Arc<NamedRegistry> {
        Arc::clone(&self.all[index])
    }

    /// The application at the registries that are told of it, by their ids: as they know it, and what is found there.
    pub(super) fn applications(
        &self,
    ) -> impl Iterator<Item = (&str, &Arc<Provider>, &Arc<Consumer>)> {
        self.all.iter().filter_map(|registry| {
            let application = registry.roads.application.as_ref()?;
            Some((&*registry.id, &application.provider, &application.consumer))
        })
    }

    /// What adds the application to the mappings of its interfaces; none without application-level discovery.
    pub(super) fn registrar(&self) -> Option<&Arc<Registrar>> {
        self.registrar.as_ref()
    }

    /// The metadata reports by their ids.
    pub(super) fn reports(&self) -> Reports {
        self.reports.clone()
    }

    /// Adds the application to those that `interface` is provided by. It goes on in the background, unless mappings are
    /// required.
    pub(super) async fn map(&self, interface: &str) -> Result<(), RegistryError> {
        match &self.registrar {
            Some(registrar) => registrar.register(interface).await,
            None => Ok(()),
        }
    }

    /// Maps nothing any more. What is mapped stays, as other frameworks leave it.
    pub(super) async fn end_mapping(&self) {
        if let Some(registrar) = &self.registrar {
            registrar.close().await;
        }
    }

    /// What steers the references that are followed both ways.
    pub(super) fn migration(&self) -> &Arc<Controller> {
        &self.migration
    }

    /// Whether there may be such references.
    pub(super) fn can_migrate(&self) -> bool {
        self.all
            .iter()
            .any(|registry| registry.only_path().is_none())
    }

    /// Takes back what is left there, and ends all subscriptions.
    pub(super) async fn close(&self) {
        self.migration.close().await;
        let registries = self.all.iter().map(|registry| registry.close());
        futures_util::future::join_all(registries).await;
        self.caches.close().await;
        let reports = self.reports.iter().map(|(_, report)| report.close());
        futures_util::future::join_all(reports).await;
    }
}

impl NamedRegistry {
    /// What messages call it.
    pub(super) fn name(&self) -> String {
        format!("registry {}", self.address())
    }

    fn address(&self) -> String {
        self.url.origin()
    }

    /// Why it cannot be reached, as far as it is known.
    pub(super) fn trouble(&self) -> Option<Arc<RegistryError>> {
        self.roads.trouble()
    }

    /// The application as this registry is told of it.
    pub(super) fn provider(&self) -> Option<&Arc<Provider>> {
        let application = self.roads.application.as_ref();
        application.map(|application| &application.provider)
    }

    /// Whether services are registered there each by itself.
    pub(super) fn takes_interfaces(&self) -> bool {
        self.roads.interface.is_some()
    }

    /// Where services are registered each by itself.
    pub(super) fn interfaces(&self) -> Option<&Arc<dyn Registry>> {
        self.roads.interface.as_ref()
    }

    /// Where applications are registered.
    pub(super) fn discovery(&self) -> Option<&Arc<dyn ServiceDiscovery>> {
        let application = self.roads.application.as_ref();
        application.map(|application| &application.discovery)
    }

    /// Registers one service, where services are registered each by itself.
    pub(super) async fn register(&self, url: &Url) -> Result<(), RegistryError> {
        let Some(registry) = &self.roads.interface else {
            return Ok(());
        };
        let service = url.service_key();
        let (operation, began) = (format!("register {service}"), Instant::now());
        let told = self.within(&operation, self.timeout.now(), registry.register(url));
        let told = told.await;
        let (took, interface) = (began.elapsed(), service.interface());
        self.tally
            .asked(Asked::Register, interface, took, told.is_ok());
        self.checked(told)
    }

    /// Takes one service back.
    pub(super) async fn unregister(&self, url: &Url) -> Result<(), RegistryError> {
        let Some(registry) = &self.roads.interface else {
            return Ok(());
        };
        let operation = format!("unregister {}", url.service_key());
        self.within(&operation, self.timeout.now(), registry.unregister(url))
            .await
    }

    /// Registers the application with all that it exports by now, where applications are registered.
    pub(super) async fn register_application(&self) -> Result<(), RegistryError> {
        let Some(application) = &self.roads.application else {
            return Ok(());
        };
        let patience = self.timeout.now() + application.publish;
        let (registered, began) = (application.provider.register(), Instant::now());
        let told = self.within("register the application", patience, registered);
        let told = told.await;
        let what = Asked::RegisterApplication;
        self.tally.asked(what, "", began.elapsed(), told.is_ok());
        self.checked(told)
    }

    /// Takes the application back.
    pub(super) async fn unregister_application(&self) -> Result<(), RegistryError> {
        let Some(application) = &self.roads.application else {
            return Ok(());
        };
        let left = application.provider.unregister();
        self.within("unregister the application", self.timeout.now(), left)
            .await
    }

    /// The path by which providers are looked for there; `None` when there are both, so that a migration says which of them
    /// calls go by.
    pub(super) fn only_path(&self) -> Option<Path> {
        match (&self.roads.application, &self.roads.interface) {
            (Some(_), Some(_)) => None,
            (Some(_), None) => Some(Path::Application),
            (None, _) => Some(Path::Interface),
        }
    }

    /// Follows the providers that `consumer` asks for, by `path`.
    ///
    /// # Errors
    ///
    /// They cannot be followed. A registry that does not answer is no error here but a state of the subscription.
    pub(super) async fn subscribe(
        &self,
        path: Path,
        consumer: &Url,
    ) -> Result<Subscription<RegistrySnapshot>, RegistryError> {
        let began = Instant::now();
        let subscribed = self.follow(path, consumer).await;
        let what = match path {
            Path::Application => Asked::SubscribeApplication,
            Path::Interface => Asked::Subscribe,
        };
        let (took, service) = (began.elapsed(), consumer.service_key());
        self.tally
            .asked(what, service.interface(), took, subscribed.is_ok());
        Ok(self.tally.follow(subscribed?))
    }

    /// The providers in `subscription`, which this registry gave for `consumer`. How long each list takes to be taken in is
    /// counted.
    pub(super) async fn directory<F, Fut>(
        &self,
        consumer: &Url,
        subscription: Subscription<RegistrySnapshot>,
        routers: RouterChain,
        overrides: &LiveOverrides,
        refer: F,
    ) -> DynamicDirectory
    where
        F: Fn(Url) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Arc<dyn Invoker>, BoxError>> + Send + 'static,
    {
        let (consumer, overrides) = (consumer.clone(), overrides.clone());
        let url = &self.url;
        let began = Instant::now();
        let directory = DynamicDirectory::follow_overridden(
            consumer,
            url,
            subscription,
            routers,
            overrides,
            refer,
        )
        .await;
        // It comes back with the first one, if there is one.
        if directory.lists().borrow().is_some() {
            self.tally.taken_in(began.elapsed());
        }
        let tally = Arc::clone(&self.tally);
        directory.on_list(move |took| tally.taken_in(took));
        directory
    }

    async fn follow(
        &self,
        path: Path,
        consumer: &Url,
    ) -> Result<Subscription<RegistrySnapshot>, RegistryError> {
        let late = || {
            let operation = format!("subscribe to {}", consumer.service_key());
            self.no_answer(operation, self.timeout.now())
        };
        let url = consumer.clone();
        match (path, &self.roads) {
            (
                Path::Application,
                Roads {
                    application: Some(application),
                    ..
                },
            ) => {
                let source = Arc::clone(&application.consumer);
                let subscribed = async move { source.subscribe(&url).await };
                relay::soon_or_later(subscribed, self.timeout.now(), late).await
            }
            (
                Path::Interface,
                Roads {
                    interface: Some(registry),
                    ..
                },
            ) => {
                let source = Arc::clone(registry);
                let subscribed = async move {
                    let shown = ShownConsumer::show(Arc::clone(&source), &url);
                    let subscription = source.subscribe(&url).await?;
                    Ok(subscription.holding(shown))
                };
                relay::soon_or_later(subscribed, self.timeout.now(), late).await
            }
            (path, _) => Err(RegistryError::new(
                format!("subscribe by {path}"),
                self.address(),
                "it is not used in this way",
            )),
        }
    }

    /// Follows the override rules that the registry itself holds for the service of `url`, which is registered there.
    ///
    /// # Errors
    ///
    /// They cannot be followed, or services are not registered there each by itself.
    pub(super) async fn configurators(
        &self,
        url: &Url,
    ) -> Result<Subscription<RegistrySnapshot>, RegistryError> {
        let url = url.with_protocol("provider").with_params([
            ("category", Category::Configurators.name()),
            ("check", "false"),
        ]);
        match &self.roads.interface {
            Some(registry) => registry.subscribe(&url).await,
            None => Err(RegistryError::new(
                "follow override rules",
                self.address(),
                "services are not registered there each by itself",
            )),
        }
    }

    /// The applications that provide what `consumer` asks for, as far as it is known without asking anybody.
    pub(super) fn applications_of(&self, consumer: &Url) -> Vec<String> {
        let provided_by = consumer.param("provided-by").unwrap_or_default().split(',');
        let provided_by = provided_by.map(str::trim).filter(|name| !name.is_empty());
        let mut all: Vec<_> = provided_by.map(str::to_owned).collect();
        let application = self.roads.application.as_ref();
        let key = consumer.service_key();
        let views = application.map(|application| application.consumer.mappings());
        let views = views.into_iter().flatten();
        let of_interface = views.filter(|view| view.interface == key.interface());
        all.extend(of_interface.flat_map(|view| view.applications));
        all
    }

    async fn close(&self) {
        if let Some(application) = &self.roads.application {
            application.consumer.close().await;
            application.discovery.close().await;
        }
        if let Some(registry) = &self.roads.interface {
            registry.close().await;
        }
    }

    /// Bounds a request by the time that it may take.
    async fn within<T>(
        &self,
        operation: &str,
        patience: Duration,
        request: impl Future<Output = Result<T, RegistryError>>,
    ) -> Result<T, RegistryError> {
        let answer = tokio::time::timeout(patience, request).await;
        answer.unwrap_or_else(|_| Err(self.no_answer(operation, patience)))
    }

    /// Waiting on does not help where the registry refuses whatever it is asked, as with a wrong password.
    fn no_answer(&self, operation: impl Into<String>, patience: Duration) -> RegistryError {
        let mut reason = format!("no answer within {} ms", patience.as_millis());
        let trouble = self.roads.trouble();
        if let Some(trouble) = &trouble {
            reason = format!("{reason}: {}", trouble.reason);
        }
        let mut error = RegistryError::new(operation, self.address(), reason);
        if let Some(trouble) = trouble {
            error.kind = trouble.kind;
        }
        error
    }

    /// A registry that need not be there at the start is told later what it missed. One that refuses will not take it
    /// later either.
    fn checked(&self, told: Result<(), RegistryError>) -> Result<(), RegistryError> {
        match told {
            Err(error) if !self.check && error.kind == RegistryErrorKind::Unavailable => {
                tracing::warn!(registry = self.id, %error, "the registry is told as soon as it answers");
                Ok(())
            }
            told => told,
        }
    }
}

/// A consumer among those of a registry, for whoever looks at them, as long as this lives.
struct ShownConsumer {
    registry: Arc<dyn Registry>,
    url: Url,
}

impl ShownConsumer {
    /// Nothing here waits for the registry: it keeps what it is asked for in mind.
    fn show(registry: Arc<dyn Registry>, consumer: &Url) -> Self {
        let url = without_hidden(consumer).with_param("category", Category::Consumers.name());
        if let Some(Err(error)) = registry.register(&url).now_or_never() {
            tracing::warn!(consumer = ?url, %error, "the registry does not show this consumer");
        }
        Self { registry, url }
    }
}

impl Drop for ShownConsumer {
    fn drop(&mut self) {
        // What it says comes too late for anybody.
        let _ = self.registry.unregister(&self.url).now_or_never();
    }
}
