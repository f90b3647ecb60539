//! The consumer that is measured.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use dubbo_cluster::{directory::DynamicDirectory, router::RouterChain};
use dubbo_core::{
    cluster::{Directory as _, NodeList},
    discovery::ServiceInstance,
    extension::BoxError,
    invocation::{Invocation, Reply, RpcResult},
    invoker::Invoker,
    registry::RegistrySnapshot,
    subscription::{Subscription, Update},
    url::Url,
};
use dubbo_metadata::{
    consumer::{Consumer, ConsumerOptions, Fetch, FetchError},
    model::MetadataInfo,
};
use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::time::{sleep, timeout};

use super::{
    APPLICATIONS, PER_APPLICATION,
    estate::{Estate, changed, interface},
};
use crate::clock::Clock;

/// Subscriptions of one interface of each application.
pub(super) struct Following {
    consumer: Arc<Consumer>,
    subscriptions: Vec<Subscription<RegistrySnapshot>>,
    answers: Arc<Answers>,
}

impl Following {
    /// Begins, and waits until all instances are known; how long that took after the last answer.
    pub(super) async fn start(estate: &Estate) -> (Self, Duration) {
        let answers = Arc::new(Answers {
            estate: estate.clone(),
            count: AtomicU32::new(0),
            last: Mutex::new(Clock::start()),
        });
        let mut options =
            ConsumerOptions::new("bench", estate.discovery(), Arc::clone(&answers) as _);
        options.reports = vec![("bench".to_owned(), Arc::clone(&estate.report))];
        options.seed = 7;
        let consumer = Consumer::new(options);
        let subscribed = (0..APPLICATIONS).map(|app| {
            let consumer = Arc::clone(&consumer);
            async move {
                let url = consumer_url(app);
                let mut subscription = consumer.subscribe(&url).await.expect("it is followed");
                while known(&subscription.current().state) < PER_APPLICATION {
                    subscription.changed().await.expect("it is followed");
                }
                subscription
            }
        });
        let subscriptions = join_all(subscribed).await;
        let after = answers.last.lock().elapsed();
        let following = Self {
            consumer,
            subscriptions,
            answers,
        };
        (following, after)
    }

    /// Waits for the next snapshot of an application.
    pub(super) async fn changed(&mut self, app: usize) {
        let update = self.subscriptions[app].changed().await;
        let update = update.expect("it is followed");
        assert_eq!(known(&update.state), PER_APPLICATION);
    }

    /// Waits until the last of `changes` is there in each application.
    pub(super) async fn until(&mut self, changes: usize) {
        for (app, subscription) in self.subscriptions.iter_mut().enumerate() {
            let last = changed(changes - APPLICATIONS + app);
            let has_it = |update: Update<RegistrySnapshot>| {
                let snapshot = update.state.expect("it is followed");
                let mut providers = snapshot.providers.iter();
                providers.any(|url| url.param("timestamp") == Some(&last))
            };
            while !has_it(subscription.current()) {
                subscription.changed().await.expect("it is followed");
            }
        }
    }

    /// How many snapshots and how many lists of a directory come until there are no more.
    pub(super) async fn burst(&mut self, app: usize) -> (u32, u32) {
        let url = consumer_url(app);
        let subscription = self.consumer.subscribe(&url).await.expect("it is followed");
        let directory = DynamicDirectory::follow(
            url,
            &Url::new("memory", "bench"),
            subscription,
            RouterChain::default(),
            async |url| Ok::<_, BoxError>(Arc::new(Unused(url)) as Arc<dyn Invoker>),
        )
        .await;
        let (mut snapshots, mut swaps) = (0, 0);
        let mut nodes: Arc<NodeList> = directory.nodes();
        loop {
            let changed = timeout(QUIET, self.subscriptions[app].changed()).await;
            let is_over = changed.is_err();
            snapshots += u32::from(!is_over);
            sleep(Duration::from_millis(5)).await;
            let now = directory.nodes();
            swaps += u32::from(!Arc::ptr_eq(&nodes, &now));
            nodes = now;
            if is_over {
                return (snapshots, swaps);
            }
        }
    }

    pub(super) fn fetches(&self) -> u32 {
        self.answers.count.load(Ordering::Relaxed)
    }
}

fn consumer_url(app: usize) -> Url {
    let url = format!(
        "consumer://10.0.0.9/{}?protocol=tri&side=consumer",
        interface(app)
    );
    url.parse().expect("it is one")
}

fn known<E: std::fmt::Debug>(state: &Result<RegistrySnapshot, E>) -> usize {
    state
        .as_ref()
        .map_or(0, |snapshot| snapshot.providers.len())
}

/// Instances that answer at once.
struct Answers {
    estate: Estate,
    count: AtomicU32,
    last: Mutex<Clock>,
}

#[async_trait]
impl Fetch for Answers {
    async fn fetch(&self, _: &ServiceInstance, revision: &str) -> Result<MetadataInfo, FetchError> {
        self.count.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
        *self.last.lock() = Clock::start();
        let info = self.estate.metadata.get(revision);
        info.cloned().ok_or(FetchError::UnknownRevision)
    }
}

/// Nobody calls.
struct Unused(Url);

#[async_trait]
impl Invoker for Unused {
    fn url(&self) -> &Url {
        &self.0
    }

    async fn invoke(&self, invocation: Invocation) -> RpcResult {
        Ok(Reply::new(invocation.body))
    }
}

/// How long nothing comes when no more will.
const QUIET: Duration = Duration::from_secs(2);
