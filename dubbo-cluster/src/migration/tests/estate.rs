//! What a consumer sees: two lists of providers and a config center.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use dubbo_core::{
    cluster::Directory,
    config_center::ConfigCenter,
    invoker::Invoker,
    registry::{RegistryError, RegistrySnapshot},
    subscription::{Subscription, Update},
    url::Url,
};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{
    directory::DynamicDirectory,
    migration::{
        Center, Controller, ControllerOptions, GROUP, Meter, MigrationDirectory, MigrationError,
        Path, Road, Roads, path::Both,
    },
    router::RouterChain,
    testing::{Answer, Scripted, invocation},
};

/// The providers of one service, as both paths list them.
pub(super) struct Estate {
    sides: Both<Side>,
    applications: Mutex<Vec<String>>,
}

pub(super) struct Side {
    lists: watch::Sender<Update<RegistrySnapshot>>,
    made: Arc<Mutex<Vec<Arc<Scripted>>>>,
    script: Mutex<Vec<Answer>>,
    /// How often it was opened, and how many of those are followed still.
    opened: AtomicUsize,
    followed: Arc<AtomicUsize>,
    /// The error of the next attempt to open it.
    refuses: Mutex<Option<RegistryError>>,
}

impl Estate {
    /// So many addresses by the application and by the interface.
    pub(super) fn of(application: usize, interface: usize) -> Arc<Self> {
        let estate = Self {
            sides: Both::of(|_| Side {
                lists: watch::Sender::new(Update::new(0, Ok(RegistrySnapshot::default()))),
                made: Arc::default(),
                script: Mutex::default(),
                opened: AtomicUsize::new(0),
                followed: Arc::default(),
                refuses: Mutex::default(),
            }),
            applications: Mutex::default(),
        };
        estate.application().list(application);
        estate.interface().list(interface);
        Arc::new(estate)
    }

    pub(super) fn application(&self) -> &Side {
        &self.sides.application
    }

    pub(super) fn interface(&self) -> &Side {
        &self.sides.interface
    }

    pub(super) fn map(&self, applications: &[&str]) {
        let applications = applications.iter().map(|name| (*name).to_owned());
        *self.applications.lock() = applications.collect();
    }

    pub(super) async fn follow(
        self: &Arc<Self>,
        controller: &Arc<Controller>,
        consumer: &str,
    ) -> Result<MigrationDirectory, MigrationError> {
        let consumer: Url = format!("consumer://h/{consumer}").parse().expect("a URL");
        let registry = Url::new("memory", "local");
        MigrationDirectory::follow(consumer, &registry, controller, Arc::clone(self) as _).await
    }
}

impl Side {
    /// Lists providers at ports 1, 2, 3, …
    pub(super) fn list(&self, providers: usize) {
        let urls = (1..=providers).map(|port| {
            let url = format!("tri://10.0.0.1:{port}/a.B?application=shop&methods=First");
            url.parse::<Url>().expect("a URL")
        });
        self.say(Ok(RegistrySnapshot::of_providers(urls.collect::<Vec<_>>())));
    }

    pub(super) fn fail(&self, reason: &str) {
        self.say(Err(Arc::new(RegistryError::new(
            "read",
            "memory://local",
            reason,
        ))));
    }

    /// What calls of providers that are made from now on answer.
    pub(super) fn answer(&self, answer: Answer) {
        *self.script.lock() = vec![answer];
    }

    pub(super) fn refuse_once(&self, reason: &str) {
        *self.refuses.lock() = Some(RegistryError::new("subscribe", "memory://local", reason));
    }

    pub(super) fn set_available(&self, available: bool) {
        for provider in &*self.made.lock() {
            provider.set_available(available);
        }
    }

    pub(super) fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }

    pub(super) fn is_followed(&self) -> bool {
        self.followed.load(Ordering::Relaxed) > 0
    }

    pub(super) fn all_closed(&self) -> bool {
        self.made.lock().iter().all(|provider| provider.is_closed())
    }

    fn say(&self, state: Result<RegistrySnapshot, Arc<RegistryError>>) {
        self.lists
            .send_modify(|update| *update = Update::new(update.epoch + 1, state));
    }
}

#[async_trait]
impl Roads for Estate {
    async fn open(&self, path: Path, meter: Meter) -> Result<Road, RegistryError> {
        let side = self.sides.get(path);
        if let Some(error) = side.refuses.lock().take() {
            return Err(error);
        }
        side.opened.fetch_add(1, Ordering::Relaxed);
        side.followed.fetch_add(1, Ordering::Relaxed);
        let followed = Arc::clone(&side.followed);
        let subscription = Subscription::new(side.lists.subscribe(), move || {
            followed.fetch_sub(1, Ordering::Relaxed);
        });
        let (made, script) = (Arc::clone(&side.made), side.script.lock().clone());
        let refer = move |url: Url| {
            let provider = Scripted::of(url, script.clone());
            made.lock().push(Arc::clone(&provider));
            let invoker: Arc<dyn Invoker> = meter.around(provider);
            std::future::ready(Ok(invoker))
        };
        let consumer = "consumer://h/a.B".parse().expect("a URL");
        let registry = Url::new("memory", "local");
        let routers = RouterChain::default();
        let directory =
            DynamicDirectory::follow(consumer, &registry, subscription, routers, refer).await;
        Ok(Road {
            lists: directory.lists(),
            directory: Arc::new(directory),
        })
    }

    fn applications(&self) -> Vec<String> {
        self.applications.lock().clone()
    }
}

/// A config center that holds one text.
pub(super) struct Rules {
    url: Url,
    text: watch::Sender<Update<Option<Arc<str>>>>,
    silent: bool,
}

impl Rules {
    pub(super) fn none() -> Arc<Self> {
        Self::new(false)
    }

    /// One that never answers.
    pub(super) fn silent() -> Arc<Self> {
        Self::new(true)
    }

    fn new(silent: bool) -> Arc<Self> {
        Arc::new(Self {
            url: Url::new("test", "rules"),
            text: watch::Sender::new(Update::new(0, Ok(None))),
            silent,
        })
    }

    /// Has it say something, and waits until everybody has taken it in.
    pub(super) async fn say(&self, text: &str) {
        self.update(Ok(Some(text.into()))).await;
    }

    pub(super) async fn delete(&self) {
        self.update(Ok(None)).await;
    }

    pub(super) async fn fail(&self) {
        let error = RegistryError::new("read", "test://rules", "it is down");
        self.update(Err(Arc::new(error))).await;
    }

    async fn update(&self, state: Result<Option<Arc<str>>, Arc<RegistryError>>) {
        self.text
            .send_modify(|update| *update = Update::new(update.epoch + 1, state));
        settle().await;
    }
}

#[async_trait]
impl ConfigCenter for Rules {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn get(&self, _: &str, _: &str) -> Result<Option<Arc<str>>, RegistryError> {
        Ok(self.text.borrow().state.clone().unwrap_or_default())
    }

    async fn publish(&self, _: &str, _: &str, content: &str) -> Result<(), RegistryError> {
        self.say(content).await;
        Ok(())
    }

    async fn watch(
        &self,
        key: &str,
        group: &str,
    ) -> Result<Subscription<Option<Arc<str>>>, RegistryError> {
        assert_eq!((key, group), ("c.migration", GROUP));
        if self.silent {
            std::future::pending::<()>().await;
        }
        Ok(Subscription::new(self.text.subscribe(), || {}))
    }

    async fn remove(&self, _: &str, _: &str) -> Result<(), RegistryError> {
        self.delete().await;
        Ok(())
    }

    async fn close(&self) {}
}

/// The options of the application `c`.
pub(super) fn options(centers: &[&Arc<Rules>]) -> ControllerOptions {
    let mut options = ControllerOptions::new("c", 7);
    options.centers = centers
        .iter()
        .map(|center| Center {
            center: Arc::clone(center) as _,
            patience: Duration::from_secs(5),
        })
        .collect();
    options
}

/// Makes so many calls: how many of them went by the application, and how many by the interface.
pub(super) fn calls(directory: &MigrationDirectory, calls: usize) -> (u64, u64) {
    let before = directory.status();
    let call = invocation();
    for _ in 0..calls {
        directory.list(&call).expect("somebody is there");
    }
    let after = directory.status();
    (
        after.application_calls - before.application_calls,
        after.interface_calls - before.interface_calls,
    )
}

/// Waits until nobody has anything to do now.
pub(super) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}
