//! The task that turns what a registry says into a list of nodes.

use std::{
    collections::{HashMap, HashSet},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Duration,
};

use dubbo_core::{
    cluster::{Node, NodeId, NodeList},
    extension::BoxError,
    invoker::Invoker,
    registry::{RegistryError, RegistrySnapshot},
    subscription::{Subscription, Update},
    url::Url,
};
use futures_util::FutureExt as _;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    dynamic::{Shared, State},
    explain::{Failing, Skipped, View},
    merge::merge,
    static_list::close_all,
    weight::weight,
};

pub(super) struct Follower<F> {
    shared: Arc<Shared>,
    consumer: Url,
    subscription: Subscription<RegistrySnapshot>,
    refer: F,
    stop: watch::Receiver<bool>,
    /// By the URL in the registry: as long as that stays the same, so does the node.
    nodes: HashMap<Url, Node>,
    /// The URLs left out last time, so that each is warned of once.
    warned: HashSet<Url>,
    /// Closes the invokers of providers that left.
    retiring: JoinSet<()>,
    epoch: u64,
    /// How many override and routing rules the registry holds.
    rules: usize,
}

impl<F, Fut> Follower<F>
where
    F: Fn(Url) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Arc<dyn Invoker>, BoxError>> + Send,
{
    pub(super) fn new(
        shared: Arc<Shared>,
        consumer: Url,
        subscription: Subscription<RegistrySnapshot>,
        refer: F,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self {
            shared,
            consumer,
            subscription,
            refer,
            stop,
            nodes: HashMap::new(),
            warned: HashSet::new(),
            retiring: JoinSet::new(),
            epoch: 0,
            rules: 0,
        }
    }

    pub(super) async fn take_current(&mut self) {
        let update = self.subscription.current();
        self.apply(update).await;
    }

    /// Follows until told to stop, then closes everything.
    pub(super) async fn run(mut self) {
        let mut ended = false;
        loop {
            tokio::select! {
                biased;
                () = stopped(&mut self.stop) => break,
                update = self.subscription.changed(), if !ended => {
                    if let Some(update) = update {
                        self.apply(update).await;
                    } else {
                        ended = true;
                        self.lose(Arc::new(RegistryError::new(
                            format!("follow {}", self.shared.service),
                            &self.shared.registry,
                            "the registry ended the subscription",
                        )));
                    }
                },
                Some(_) = self.retiring.join_next() => {}
            }
        }
        self.publish(Arc::default(), |view| view.closed = true);
        let nodes: Vec<Node> = self.nodes.into_values().collect();
        close_all(&nodes).await;
        while self.retiring.join_next().await.is_some() {}
    }

    async fn apply(&mut self, update: Update<RegistrySnapshot>) {
        if update.epoch < self.epoch {
            tracing::debug!(
                epoch = update.epoch,
                newest = self.epoch,
                "an old update is dropped"
            );
            return;
        }
        self.epoch = update.epoch;
        match update.state {
            Ok(snapshot) => self.replace(&snapshot).await,
            Err(error) => self.lose(error),
        }
    }

    /// Keeps the list: nobody knows of a better one.
    fn lose(&self, error: Arc<RegistryError>) {
        let nodes = Arc::clone(&self.shared.state.load().nodes);
        tracing::warn!(
            service = %self.shared.service, registry = %self.shared.registry, providers = nodes.len(), %error,
            "the registry fails; the last list of providers is kept"
        );
        self.publish(nodes, |view| {
            let since = view.failing.take().map_or_else(Instant::now, |f| f.since);
            view.failing = Some(Failing { error, since });
        });
    }

    async fn replace(&mut self, snapshot: &RegistrySnapshot) {
        self.look_at_rules(snapshot);
        let mut old = std::mem::take(&mut self.nodes);
        let mut seen = HashSet::new();
        let mut list = Vec::new();
        let mut skipped = Vec::new();
        let mut skip = |url: &Url, reason| {
            skipped.push(Skipped {
                provider: url.origin(),
                reason,
            });
        };
        let warned = std::mem::take(&mut self.warned);
        for url in providers(snapshot) {
            if !seen.insert(NodeId::of(url)) {
                tracing::debug!(provider = ?url, "the registry lists one provider twice; the first counts");
                continue;
            }
            if let Some(reason) = self.unwanted(url) {
                skip(url, reason);
                continue;
            }
            let node = match old.remove(url) {
                Some(node) => Ok(node),
                None => self.make(url).await,
            };
            match node {
                Ok(node) => {
                    list.push(node.clone());
                    self.nodes.insert(url.clone(), node);
                }
                Err(reason) => {
                    if !warned.contains(url) {
                        tracing::warn!(service = %self.shared.service, provider = ?url, %reason, "a provider is left out");
                    }
                    self.warned.insert(url.clone());
                    skip(url, reason);
                }
            }
        }

        tracing::debug!(service = %self.shared.service, providers = list.len(), gone = old.len(), "the list of providers changed");
        let gone = old.keys().next().map(Url::origin);
        let now_empty = list.is_empty();
        self.publish(Arc::new(list.into()), |view| {
            view.listed = Some(providers(snapshot).count());
            view.skipped = skipped;
            view.steps = Arc::clone(&snapshot.steps);
            view.failing = None;
            if now_empty && gone.is_some() {
                view.empty_since = Instant::now();
                view.last = gone;
            }
        });
        for node in old.into_values() {
            self.retire(node);
        }
    }

    /// Closes `node` when its calls have ended, or everything is closed.
    fn retire(&mut self, node: Node) {
        let mut stop = self.stop.clone();
        self.retiring.spawn(async move {
            tokio::select! {
                () = calls_ended(&*node.invoker) => {}
                () = stopped(&mut stop) => {}
            }
            node.invoker.close().await;
        });
    }

    /// Warns of rules that nothing here applies, when their number changes.
    fn look_at_rules(&mut self, snapshot: &RegistrySnapshot) {
        let rules = snapshot.configurators.len() + snapshot.routers.len();
        if rules > 0 && rules != self.rules {
            tracing::warn!(
                service = %self.shared.service, registry = %self.shared.registry, rules,
                "the registry holds override or routing rules for this service; they are not applied"
            );
        }
        self.rules = rules;
    }

    /// Why the consumer does not want the provider at `url`, if so: it speaks another protocol.
    fn unwanted(&self, url: &Url) -> Option<String> {
        let wanted = self.consumer.param("protocol")?;
        let mut names = wanted.split(',').map(str::trim);
        let matches =
            wanted.is_empty() || names.any(|name| name.eq_ignore_ascii_case(url.protocol()));
        (!matches).then(|| format!("the reference wants the protocol `{wanted}`"))
    }

    async fn make(&self, url: &Url) -> Result<Node, String> {
        let merged = merge(url, &self.consumer);
        let weight = weight(&merged);
        // A panic must not end the task: the list would stay as it is for ever.
        let made = AssertUnwindSafe(async { (self.refer)(merged).await }).catch_unwind();
        match made.await {
            Ok(Ok(invoker)) => Ok(Node::new(invoker, weight)),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("a panic while referring to it; the log has its text".to_owned()),
        }
    }

    fn publish(&self, nodes: Arc<NodeList>, change: impl FnOnce(&mut View)) {
        let mut view = self.shared.state.load().view.clone();
        change(&mut view);
        self.shared.publish(State::new(nodes, view));
    }
}

/// The providers of `snapshot`; Java's way of listing none is a URL with the protocol `empty`.
fn providers(snapshot: &RegistrySnapshot) -> impl Iterator<Item = &Url> {
    snapshot
        .providers
        .iter()
        .filter(|url| url.protocol() != "empty")
}

/// Waits until `invoker` carries no call.
async fn calls_ended(invoker: &dyn Invoker) {
    loop {
        // The first wait comes first: whoever chose this node just now gets to start the call.
        sleep(RETIRE_EVERY).await;
        if invoker.in_flight() == 0 {
            return;
        }
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the directory was dropped: that is a stop, too.
    let _ = stop.wait_for(|stop| *stop).await;
}

const RETIRE_EVERY: Duration = Duration::from_millis(100);
