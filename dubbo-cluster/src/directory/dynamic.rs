//! The providers that a registry names, as they come and go.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use dubbo_core::{
    cluster::{Candidates, Directory, NodeList},
    explain::Step,
    extension::BoxError,
    invocation::Invocation,
    invoker::Invoker,
    registry::RegistrySnapshot,
    service::ServiceKey,
    status::Status,
    subscription::Subscription,
    url::Url,
};
use tokio::{
    sync::{Mutex, watch},
    task::JoinSet,
    time::Instant,
};

use super::{
    availability::{Availability, any_available},
    explain::{View, callable, no_provider, none_available},
    follow::Follower,
};
use crate::{configurator::LiveOverrides, router::RouterChain};

/// A directory that follows a registry.
///
/// One task owns the list: it refers to providers that are new, keeps the invokers of those that stay, publishes the new
/// list whole, and closes the invokers of those that left once their calls have ended. An outage of the registry keeps
/// the last list; an empty list is none.
///
/// Dropping it drops its invokers; [`close`](Directory::close) closes them.
pub struct DynamicDirectory {
    consumer: Url,
    shared: Arc<Shared>,
    availability: Availability,
    stop: watch::Sender<bool>,
    task: Mutex<JoinSet<()>>,
}

/// What the task publishes and calls read.
pub(super) struct Shared {
    pub(super) service: ServiceKey,
    /// What messages call the registry.
    pub(super) registry: String,
    routers: RouterChain,
    pub(super) state: ArcSwap<State>,
    lists: watch::Sender<Option<u64>>,
    /// Who is told how long it took to take a list in.
    heard: OnceLock<Heard>,
}

type Heard = Box<dyn Fn(Duration) + Send + Sync>;

pub(super) struct State {
    pub(super) nodes: Arc<NodeList>,
    /// The consumer as rules have it: what routers go by.
    pub(super) consumer: Url,
    pub(super) view: View,
    /// Whether a call has found it empty, which is logged once for each state.
    pub(super) missed: AtomicBool,
}

impl State {
    pub(super) fn new(nodes: Arc<NodeList>, consumer: Url, view: View) -> Self {
        Self {
            nodes,
            consumer,
            view,
            missed: AtomicBool::new(false),
        }
    }
}

impl Shared {
    pub(super) fn publish(&self, state: State) {
        let answered = state.view.listed.is_some();
        self.routers.listed(&state.nodes);
        self.state.store(Arc::new(state));
        if answered {
            self.lists
                .send_modify(|count| *count = Some(count.map_or(1, |count| count + 1)));
        }
    }

    /// Says how long it took to take in what the registry listed.
    pub(super) fn tell(&self, took: Duration) {
        if let Some(heard) = self.heard.get() {
            heard(took);
        }
    }

    /// Why the list is empty.
    fn why_empty(&self, state: &State) -> String {
        state.view.explain(&self.registry, Instant::now())
    }
}

impl DynamicDirectory {
    /// Follows `subscription`, which `registry` gave for `consumer`. When it returns, the first state has been taken in.
    ///
    /// `refer` makes the invoker of one provider, filters and all, from the merged URL ([`merge`](super::merge)); it
    /// should be quick, since the list waits for it. A provider that it refuses is left out with a warning and tried
    /// again with the next change. The consumer's `protocol` parameter, a name or a list of names, says which protocols
    /// to call; without it all are.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub async fn follow<F, Fut>(
        consumer: Url,
        registry: &Url,
        subscription: Subscription<RegistrySnapshot>,
        routers: RouterChain,
        refer: F,
    ) -> Self
    where
        F: Fn(Url) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Arc<dyn Invoker>, BoxError>> + Send + 'static,
    {
        let overrides = LiveOverrides::default();
        Self::follow_overridden(consumer, registry, subscription, routers, overrides, refer).await
    }

    /// As [`follow`](Self::follow), with the rules that override what providers say, and for those that the registry holds
    /// to be put among `overrides`.
    ///
    /// A rule that changes them changes nodes in place; an invoker is made anew only where it was made with other options.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub async fn follow_overridden<F, Fut>(
        consumer: Url,
        registry: &Url,
        subscription: Subscription<RegistrySnapshot>,
        routers: RouterChain,
        overrides: LiveOverrides,
        refer: F,
    ) -> Self
    where
        F: Fn(Url) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Arc<dyn Invoker>, BoxError>> + Send + 'static,
    {
        let shared = Arc::new(Shared {
            service: consumer.service_key(),
            registry: format!("registry {}://{}", registry.protocol(), registry.address()),
            routers,
            state: ArcSwap::from_pointee(State::new(
                Arc::default(),
                consumer.clone(),
                View::unanswered(Instant::now()),
            )),
            lists: watch::Sender::new(None),
            heard: OnceLock::new(),
        });
        let (stop, stopped) = watch::channel(false);
        let mut follower = Follower::new(
            Arc::clone(&shared),
            consumer.clone(),
            subscription,
            overrides,
            refer,
            stopped,
        );
        follower.take_current().await;
        let mut task = JoinSet::new();
        task.spawn(follower.run());

        let watched = Arc::clone(&shared);
        Self {
            consumer,
            shared,
            availability: Availability::new(move || any_available(&watched.state.load().nodes)),
            stop,
            task: Mutex::new(task),
        }
    }

    /// How many lists it has taken in: it changes with each. `None` until the registry has answered.
    pub fn lists(&self) -> watch::Receiver<Option<u64>> {
        self.shared.lists.subscribe()
    }

    /// Has `heard` be told of each list of the registry from now on: how long it took from its arrival until calls see it. It
    /// is called by the task that owns the list, and must not block. Only the first call of this counts.
    pub fn on_list(&self, heard: impl Fn(Duration) + Send + Sync + 'static) {
        // Somebody else is told already.
        let _ = self.shared.heard.set(Box::new(heard));
    }
}

#[async_trait]
impl Directory for DynamicDirectory {
    fn list(&self, invocation: &Invocation) -> Result<Candidates, Status> {
        let state = self.shared.state.load();
        if state.nodes.is_empty() {
            let why = self.shared.why_empty(&state);
            if !state.missed.swap(true, Ordering::Relaxed) {
                tracing::warn!(service = %self.shared.service, why, "a call finds no provider");
            }
            return Err(no_provider(&self.shared.service, &why));
        }
        let mut candidates = Candidates::all(Arc::clone(&state.nodes));
        self.shared
            .routers
            .route(&mut candidates, &state.consumer, invocation)
            .map_err(|emptied| no_provider(&self.shared.service, &emptied))?;
        Ok(candidates)
    }

    fn nodes(&self) -> Arc<NodeList> {
        Arc::clone(&self.shared.state.load().nodes)
    }

    fn why_unavailable(&self) -> Option<String> {
        let state = self.shared.state.load();
        if state.nodes.is_empty() {
            return Some(self.shared.why_empty(&state));
        }
        (!any_available(&state.nodes)).then(|| none_available(&self.shared.registry, &state.nodes))
    }

    fn explain(&self, call: &Invocation) -> Vec<Step> {
        let Shared {
            registry, routers, ..
        } = &*self.shared;
        let state = self.shared.state.load();
        let usable = state.nodes.len();
        let mut steps = state.view.steps(registry, usable, Instant::now());
        steps.extend(callable(&state.nodes, routers, &state.consumer, call));
        steps
    }

    fn consumer_url(&self) -> &Url {
        &self.consumer
    }

    fn origin(&self) -> String {
        self.shared.registry.clone()
    }

    fn availability(&self) -> watch::Receiver<bool> {
        self.availability.watch()
    }

    async fn close(&self) {
        self.stop.send_replace(true);
        let mut task = self.task.lock().await;
        while task.join_next().await.is_some() {}
    }
}

impl fmt::Debug for DynamicDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicDirectory")
            .field("consumer", &self.consumer)
            .field("registry", &self.shared.registry)
            .field("nodes", &self.nodes())
            .finish_non_exhaustive()
    }
}
