//! `memory`: a registry within the process, for one program that provides and consumes, and for tests.

mod client;
mod store;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dubbo_core::{
    config_center::ConfigCenter,
    discovery::ServiceDiscovery,
    extension::{BoxError, ExtensionContext},
    metadata::MetadataReport,
    registry::{Registry, RegistryError, RegistrySnapshot},
    subscription::Subscription,
    url::Url,
};

pub(crate) use self::{client::MemoryClient, store::Store};
use crate::{
    center::Center, clients::Clients, instances::Instances, interface::InterfaceRegistry,
    plain::Plain, reconcile::Reconciler, report::Report,
};

/// A handle on a registry within the process.
///
/// [`new`](Self::new) makes a registry of its own: two instances that name `memory` in their configuration do not see each
/// other. A clone is a second handle on the same registry: what is registered through one is seen through both, and
/// closing one takes back what was registered through that one alone. So two instances share a registry on purpose:
///
/// ```
/// # use std::sync::Arc;
/// # use dubbo_core::{discovery::ServiceDiscovery, extension::Extensions, registry::Registry, url::Url};
/// # use dubbo_registry::memory::MemoryRegistry;
/// let shared = MemoryRegistry::new(Url::new("memory", "shared"));
/// let (mut one, mut other) = (Extensions::linked()?, Extensions::linked()?);
/// for extensions in [&mut one, &mut other] {
///     let by_interface = shared.clone();
///     extensions.register::<dyn Registry>("memory", move |_cx| Ok(Arc::new(by_interface.clone())));
///     let by_application = shared.clone();
///     extensions.register::<dyn ServiceDiscovery>("memory", move |_cx| Ok(by_application.discovery()));
/// }
/// # Ok::<(), dubbo_core::extension::ExtensionError>(())
/// ```
pub struct MemoryRegistry {
    store: Arc<Store>,
    registry: InterfaceRegistry<MemoryClient, Plain>,
}

impl MemoryRegistry {
    /// A registry that nobody has registered with. `url` is what messages call it; of its parameters `namespace` and
    /// `group` count.
    pub fn new(url: Url) -> Self {
        Self::on(url, Arc::default())
    }

    /// A service discovery in the same place.
    pub fn discovery(&self) -> Arc<dyn ServiceDiscovery> {
        let client = Reconciler::new(self.client());
        Arc::new(Instances::plain(
            self.url().clone(),
            client,
            Plain::of(self.url()),
        ))
    }

    /// A metadata report in the same place.
    pub fn report(&self) -> Arc<dyn MetadataReport> {
        Arc::new(Report::new(
            self.url().clone(),
            self.client(),
            Plain::of(self.url()),
        ))
    }

    /// A config center in the same place.
    pub fn center(&self) -> Arc<dyn ConfigCenter> {
        Arc::new(Center::new(
            self.url().clone(),
            self.client(),
            Plain::of(self.url()),
        ))
    }

    pub(crate) fn on(url: Url, store: Arc<Store>) -> Self {
        let client = Arc::new(MemoryClient::new(&url, Arc::clone(&store)));
        let layout = Plain::of(&url);
        Self {
            registry: InterfaceRegistry::plain(url, Reconciler::new(client), layout),
            store,
        }
    }

    fn client(&self) -> Arc<MemoryClient> {
        Arc::new(MemoryClient::new(self.url(), Arc::clone(&self.store)))
    }
}

impl Clone for MemoryRegistry {
    fn clone(&self) -> Self {
        Self::on(self.url().clone(), Arc::clone(&self.store))
    }
}

#[async_trait]
impl Registry for MemoryRegistry {
    fn url(&self) -> &Url {
        self.registry.url()
    }

    async fn register(&self, url: &Url) -> Result<(), RegistryError> {
        self.registry.register(url).await
    }

    async fn unregister(&self, url: &Url) -> Result<(), RegistryError> {
        self.registry.unregister(url).await
    }

    async fn lookup(&self, consumer: &Url) -> Result<RegistrySnapshot, RegistryError> {
        self.registry.lookup(consumer).await
    }

    async fn subscribe(
        &self,
        consumer: &Url,
    ) -> Result<Subscription<RegistrySnapshot>, RegistryError> {
        self.registry.subscribe(consumer).await
    }

    async fn close(&self) {
        self.registry.close().await;
    }
}

impl fmt::Debug for MemoryRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryRegistry")
            .field("url", self.url())
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

/// What of the URL the plugins read, beside what all do.
pub(crate) const PARAMETERS: &[&str] = &["group", "namespace"];

dubbo_core::extension!(dyn dubbo_core::registry::Registry, "memory", |cx| Ok(
    Arc::new(InterfaceRegistry::new(
        cx.url.clone(),
        shared(cx)?,
        Plain::of(cx.url)
    )?)
));

dubbo_core::extension!(
    dyn dubbo_core::discovery::ServiceDiscovery,
    "memory",
    |cx| Ok(Arc::new(Instances::new(
        cx.url.clone(),
        shared(cx)?,
        Plain::of(cx.url)
    )?))
);

dubbo_core::extension!(dyn dubbo_core::metadata::MetadataReport, "memory", |cx| Ok(
    Arc::new(Report::new(
        cx.url.clone(),
        Arc::clone(shared(cx)?.backend()),
        Plain::of(cx.url)
    ))
));

dubbo_core::extension!(
    dyn dubbo_core::config_center::ConfigCenter,
    "memory",
    |cx| Ok(Arc::new(Center::new(
        cx.url.clone(),
        Arc::clone(shared(cx)?.backend()),
        Plain::of(cx.url)
    )))
);

/// The one client that an instance has for an address.
fn shared(cx: &ExtensionContext<'_>) -> Result<Arc<Reconciler<MemoryClient>>, BoxError> {
    let clients = cx.shared::<Clients<MemoryClient>>();
    clients.get(cx.url, cx.url.address(), || {
        Ok(MemoryClient::new(cx.url, Arc::default()))
    })
}

#[cfg(test)]
mod suite;

#[cfg(test)]
mod tests {
    use dubbo_core::extension::Extensions;

    use super::*;

    fn url(text: &str) -> Url {
        text.parse().expect(text)
    }

    #[tokio::test]
    async fn what_cannot_be_registered_is_refused_with_what_and_where() {
        let registry = MemoryRegistry::new(url("memory://user:secret@local"));
        for (text, want) in [
            (
                "tri://h:1",
                "register tri://h:1 at memory://local: it names no interface",
            ),
            (
                "tri://h:1/a.B?category=x",
                "register tri://h:1/a.B?category=x at memory://local: \
                 category `x` is none of configurators, consumers, providers, routers",
            ),
            (
                "tri://h:1/a.B?token=a%3Bb",
                "register tri://h:1/a.B?token=a%3Bb at memory://local: its parameter `token` has a `;` in it, \
                 at which other frameworks end a parameter; leave it out",
            ),
        ] {
            let error = registry.register(&url(text)).await.expect_err("refused");
            assert_eq!(error.to_string(), want);
        }
    }

    #[tokio::test]
    async fn two_registries_are_two_and_a_clone_is_the_same() {
        let (one, two) = (url("memory://local"), url("memory://local"));
        let (one, two) = (MemoryRegistry::new(one), MemoryRegistry::new(two));
        let provider = url("tri://h:1/a.B");
        one.register(&provider).await.expect("registers");
        let consumer = url("consumer://h/a.B");
        let count = |found: RegistrySnapshot| found.providers.len();
        assert_eq!(
            one.clone()
                .lookup(&consumer)
                .await
                .map(count)
                .expect("open"),
            1
        );
        assert_eq!(two.lookup(&consumer).await.map(count).expect("open"), 0);
    }

    #[tokio::test]
    async fn plugins_of_one_instance_share_what_is_at_one_address() {
        let (one, other) = (
            Extensions::linked().expect("linked"),
            Extensions::linked().expect("linked"),
        );
        let make = |extensions: &Extensions, address: &str| {
            let url = url(address);
            extensions
                .create::<dyn Registry>("memory", &url)
                .expect("made")
        };
        let provider = url("tri://h:1/a.B");
        let first = make(&one, "memory://local");
        first.register(&provider).await.expect("registers");
        for (registry, want) in [
            (make(&one, "memory://local"), 1),
            (make(&one, "memory://elsewhere"), 0),
            (make(&other, "memory://local"), 0),
        ] {
            let found = registry
                .lookup(&url("consumer://h/a.B"))
                .await
                .expect("open");
            assert_eq!(found.providers.len(), want, "{:?}", registry.url());
            registry.close().await;
        }
        let found = first.lookup(&url("consumer://h/a.B")).await.expect("open");
        assert_eq!(
            found.providers.len(),
            1,
            "others were closed, this one was not"
        );
    }

    #[tokio::test]
    async fn nobody_is_woken_by_what_is_not_theirs_and_the_dropped_are_forgotten() {
        let registry = MemoryRegistry::new(url("memory://local"));
        let consumer = url("consumer://h/a.B");
        let mut subscription = registry.subscribe(&consumer).await.expect("open");
        subscription.current();
        registry
            .register(&url("tri://h:1/a.C"))
            .await
            .expect("registers");
        registry
            .register(&url("consumer://h:1/a.B"))
            .await
            .expect("registers");
        let news = tokio::time::timeout(std::time::Duration::ZERO, subscription.changed());
        assert!(
            news.await.is_err(),
            "another service and a consumer are no news"
        );
        drop(subscription);
        let nobody = async {
            while registry.store.watchers() > 0 {
                tokio::task::yield_now().await;
            }
        };
        dubbo_test::soon("the end of the watches", nobody).await;
    }
}
