//! The providers that a reference names itself, by URL.

use std::{
    collections::HashSet,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use dubbo_core::{
    cluster::{Candidates, Directory, Node, NodeId, NodeList},
    explain::Step,
    extension::BoxError,
    invocation::Invocation,
    invoker::Invoker,
    status::Status,
    url::Url,
};
use futures_util::future::join_all;
use tokio::{
    sync::{Mutex, watch},
    task::JoinSet,
};

use super::{
    availability::{Availability, any_available},
    explain::{callable, no_provider, none_available},
    merge::merge,
    providers::{Providers, Unusable, stopped},
};
use crate::{configurator::LiveOverrides, router::RouterChain};

/// A directory of direct URLs. Which there are stays as it is until it is closed; rules may change what they say.
pub struct StaticDirectory {
    consumer: Url,
    shared: Arc<Shared>,
    availability: Availability,
    stop: watch::Sender<bool>,
    task: Mutex<JoinSet<()>>,
}

struct Shared {
    state: ArcSwap<State>,
    routers: RouterChain,
    /// How many there are, disabled ones among them.
    named: usize,
    closed: AtomicBool,
}

struct State {
    nodes: Arc<NodeList>,
    /// The consumer as rules have it: what routers go by.
    consumer: Url,
}

impl StaticDirectory {
    /// Refers to each of `urls` for `consumer`: `refer` makes the invoker of one provider, filters and all, from the merged
    /// URL ([`merge`](super::merge)). A URL that stands there twice counts once.
    ///
    /// # Errors
    ///
    /// `refer` refused one of them; the others' invokers are closed again.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the invokers made so far without closing them.
    pub async fn refer<F, Fut>(
        consumer: Url,
        urls: &[Url],
        routers: RouterChain,
        refer: F,
    ) -> Result<Self, ReferError>
    where
        F: Fn(Url) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Arc<dyn Invoker>, BoxError>> + Send + 'static,
    {
        let overrides = LiveOverrides::default();
        Self::refer_overridden(consumer, urls, routers, &overrides, refer).await
    }

    /// As [`refer`](Self::refer), with the rules that override what the URLs say.
    ///
    /// # Errors
    ///
    /// As [`refer`](Self::refer).
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub async fn refer_overridden<F, Fut>(
        consumer: Url,
        urls: &[Url],
        routers: RouterChain,
        overrides: &LiveOverrides,
        refer: F,
    ) -> Result<Self, ReferError>
    where
        F: Fn(Url) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Arc<dyn Invoker>, BoxError>> + Send + 'static,
    {
        let urls = unique(urls, &consumer);
        let (stop, stopped) = watch::channel(false);
        let mut providers = Providers::new(consumer.clone(), refer, overrides, stopped.clone());
        let listed = providers.list(&urls, |_| None).await;
        for (url, reason) in listed.skipped {
            if let Unusable::Refused(source) = reason {
                providers.close().await;
                return Err(ReferError { url, source });
            }
        }
        let shared = Arc::new(Shared {
            state: ArcSwap::from_pointee(State {
                nodes: Arc::default(),
                consumer: consumer.clone(),
            }),
            routers,
            named: urls.len(),
            closed: AtomicBool::new(false),
        });
        shared.publish(listed.nodes, listed.consumer);
        let mut task = JoinSet::new();
        task.spawn(follow(Arc::clone(&shared), providers, urls, stopped));
        let watched = Arc::clone(&shared);
        Ok(Self {
            consumer,
            shared,
            availability: Availability::new(move || any_available(&watched.state.load().nodes)),
            stop,
            task: Mutex::new(task),
        })
    }
}

impl Shared {
    fn publish(&self, nodes: Vec<Node>, consumer: Url) {
        let nodes: Arc<NodeList> = Arc::new(nodes.into());
        self.routers.listed(&nodes);
        self.state.store(Arc::new(State { nodes, consumer }));
    }

    /// Why there are no providers, if there are none.
    fn why_empty(&self) -> Option<&'static str> {
        if self.closed.load(Ordering::Relaxed) {
            Some("the reference is closed")
        } else if !self.state.load().nodes.is_empty() {
            None
        } else if self.named > 0 {
            Some("an override rule disables every direct URL of the reference")
        } else {
            Some("the reference names no direct URL")
        }
    }
}

/// Goes by the rules until it is told to stop, then closes everything.
async fn follow<F, Fut>(
    shared: Arc<Shared>,
    mut providers: Providers<F>,
    urls: Vec<Url>,
    mut stop: watch::Receiver<bool>,
) where
    F: Fn(Url) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Arc<dyn Invoker>, BoxError>> + Send,
{
    loop {
        tokio::select! {
            biased;
            () = stopped(&mut stop) => break,
            () = providers.changed() => {
                let listed = providers.list(&urls, |_| None).await;
                shared.publish(listed.nodes, listed.consumer);
                providers.part();
            }
        }
    }
    providers.close().await;
}

fn unique(urls: &[Url], consumer: &Url) -> Vec<Url> {
    let mut seen = HashSet::new();
    let is_new = |url: &&Url| {
        let is_new = seen.insert(NodeId::of(&merge(url, consumer)));
        if !is_new {
            tracing::warn!(url = ?url, "a direct URL is given twice; it counts once");
        }
        is_new
    };
    urls.iter().filter(is_new).cloned().collect()
}

#[async_trait]
impl Directory for StaticDirectory {
    fn list(&self, invocation: &Invocation) -> Result<Candidates, Status> {
        if let Some(why) = self.shared.why_empty() {
            return Err(no_provider(&self.consumer.service_key(), &why));
        }
        let state = self.shared.state.load();
        let mut candidates = Candidates::all(Arc::clone(&state.nodes));
        self.shared
            .routers
            .route(&mut candidates, &state.consumer, invocation)
            .map_err(|emptied| no_provider(&self.consumer.service_key(), &emptied))?;
        Ok(candidates)
    }

    fn nodes(&self) -> Arc<NodeList> {
        Arc::clone(&self.shared.state.load().nodes)
    }

    fn why_unavailable(&self) -> Option<String> {
        if let Some(why) = self.shared.why_empty() {
            return Some(why.to_owned());
        }
        let nodes = self.nodes();
        (!any_available(&nodes)).then(|| none_available(ORIGIN, &nodes))
    }

    fn explain(&self, call: &Invocation) -> Vec<Step> {
        let state = self.shared.state.load();
        let nodes = state.nodes.iter();
        let urls: Vec<_> = nodes.map(|node| node.invoker.url().origin()).collect();
        let evidence = format!("the reference names {}", urls.join(", "));
        let mut steps = vec![Step::leaving("direct URLs", evidence, urls.len())];
        let routers = &self.shared.routers;
        steps.extend(callable(&state.nodes, routers, &state.consumer, call));
        steps
    }

    fn consumer_url(&self) -> &Url {
        &self.consumer
    }

    fn origin(&self) -> String {
        ORIGIN.to_owned()
    }

    fn availability(&self) -> watch::Receiver<bool> {
        self.availability.watch()
    }

    async fn close(&self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        self.stop.send_replace(true);
        let mut task = self.task.lock().await;
        while task.join_next().await.is_some() {}
    }
}

impl fmt::Debug for StaticDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticDirectory")
            .field("consumer", &self.consumer)
            .field("nodes", &self.nodes())
            .finish_non_exhaustive()
    }
}

/// A direct URL that cannot be referred to.
#[derive(Debug, thiserror::Error)]
#[error("cannot refer to {url:?}: {source}")]
#[non_exhaustive]
pub struct ReferError {
    /// The URL as it was given.
    pub url: Url,
    /// Why not.
    pub source: BoxError,
}

pub(super) async fn close_all(nodes: &[Node]) {
    join_all(nodes.iter().map(|node| node.invoker.close())).await;
}

/// What messages say in the place of a registry.
const ORIGIN: &str = "direct URLs";
