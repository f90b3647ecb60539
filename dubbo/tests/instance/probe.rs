//! A registry that does what a test wants.

use std::sync::Arc;

use dubbo::{
    Url,
    extension::{BoxError, ExtensionContext},
    spi::{
        registry::{Registry, RegistryError, RegistrySnapshot},
        subscription::Subscription,
    },
};
use dubbo_registry::memory::MemoryRegistry;
use parking_lot::Mutex;
use tokio::sync::watch;

/// A registry that remembers what it was asked, and does what the test wants. Its clones are one registry.
#[derive(Clone)]
pub(crate) struct Probe {
    store: MemoryRegistry,
    shared: Arc<Shared>,
}

struct Shared {
    made: Mutex<Vec<Url>>,
    asked: watch::Sender<Vec<(&'static str, Url)>>,
    mood: Mutex<Box<Mood>>,
}

type Mood = dyn Fn(&'static str, &Url) -> Behaviour + Send;

/// What a registry does when it is asked something.
#[derive(Clone, Copy)]
pub(crate) enum Behaviour {
    Hang,
    Refuse,
    Work,
}

impl Probe {
    pub(crate) fn new() -> Self {
        Self {
            store: MemoryRegistry::new(Url::new("probe", "here")),
            shared: Arc::new(Shared {
                made: Mutex::default(),
                asked: watch::Sender::default(),
                mood: Mutex::new(Box::new(|_, _| Behaviour::Work)),
            }),
        }
    }

    /// Decides on the operation (`register`, `unregister`, `subscribe`) and the URL of each request from now on.
    pub(crate) fn behave(&self, mood: impl Fn(&'static str, &Url) -> Behaviour + Send + 'static) {
        *self.shared.mood.lock() = Box::new(mood);
    }

    /// Makes handles for the instances that use it.
    pub(crate) fn plugin(
        &self,
    ) -> impl Fn(&ExtensionContext<'_>) -> Result<Arc<dyn Registry>, BoxError> + Send + Sync + 'static
    {
        let probe = self.clone();
        move |cx| {
            probe.shared.made.lock().push(cx.url.clone());
            Ok(Arc::new(Handle {
                url: cx.url.clone(),
                probe: probe.clone(),
            }))
        }
    }

    /// The URLs that plugins were made for.
    pub(crate) fn made(&self) -> Vec<String> {
        self.shared.made.lock().iter().map(Url::to_string).collect()
    }

    /// The URLs of all requests for this operation, in their order.
    pub(crate) fn asked(&self, operation: &str) -> Vec<Url> {
        let asked = self.shared.asked.borrow();
        let of = asked.iter().filter(|(name, _)| *name == operation);
        of.map(|(_, url)| url.clone()).collect()
    }

    /// Waits until this operation has been asked for.
    pub(crate) async fn asked_to(&self, operation: &str) {
        let mut asked = self.shared.asked.subscribe();
        let found = asked.wait_for(|asked| asked.iter().any(|(name, _)| *name == operation));
        dubbo_test::soon(operation, found).await.expect("it lives");
    }

    /// The providers that are registered now.
    pub(crate) async fn providers(&self) -> Vec<Url> {
        let everyone = "consumer://h/greet.Greeter?group=*&version=*";
        let everyone = everyone.parse().expect("a URL");
        let found = self.store.lookup(&everyone).await.expect("is open");
        found.providers.to_vec()
    }
}

struct Handle {
    url: Url,
    probe: Probe,
}

impl Handle {
    async fn ask(&self, operation: &'static str, url: &Url) -> Result<(), RegistryError> {
        self.probe
            .shared
            .asked
            .send_modify(|asked| asked.push((operation, url.clone())));
        let behaviour = (self.probe.shared.mood.lock())(operation, url);
        match behaviour {
            Behaviour::Hang => std::future::pending().await,
            Behaviour::Refuse => Err(RegistryError::new(operation, "probe://here", "in a mood")),
            Behaviour::Work => Ok(()),
        }
    }
}

#[async_trait::async_trait]
impl Registry for Handle {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn register(&self, url: &Url) -> Result<(), RegistryError> {
        self.ask("register", url).await?;
        self.probe.store.register(url).await
    }

    async fn unregister(&self, url: &Url) -> Result<(), RegistryError> {
        self.ask("unregister", url).await?;
        self.probe.store.unregister(url).await
    }

    async fn lookup(&self, consumer: &Url) -> Result<RegistrySnapshot, RegistryError> {
        self.probe.store.lookup(consumer).await
    }

    async fn subscribe(
        &self,
        consumer: &Url,
    ) -> Result<Subscription<RegistrySnapshot>, RegistryError> {
        self.ask("subscribe", consumer).await?;
        self.probe.store.subscribe(consumer).await
    }

    async fn close(&self) {}
}
