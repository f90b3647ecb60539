//! The providers that a reference names itself, by URL.

use std::{
    collections::HashSet,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

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
use tokio::sync::watch;

use super::{
    availability::{Availability, any_available},
    explain::{available, no_provider, none_available},
    merge::merge,
    weight::weight,
};
use crate::router::RouterChain;

/// A directory of direct URLs. They stay what they are until it is closed.
pub struct StaticDirectory {
    consumer: Url,
    nodes: Arc<NodeList>,
    routers: RouterChain,
    availability: Availability,
    closed: AtomicBool,
}

impl StaticDirectory {
    /// Refers to each of `urls` for `consumer`: `refer` makes the invoker of one provider, filters and all, from the merged
    /// URL ([`merge`]). A URL that stands there twice counts once.
    ///
    /// # Errors
    ///
    /// `refer` refused one of them; the others' invokers are closed again.
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
        F: Fn(Url) -> Fut + Sync,
        Fut: Future<Output = Result<Arc<dyn Invoker>, BoxError>> + Send,
    {
        let mut nodes: Vec<Node> = Vec::with_capacity(urls.len());
        let mut seen = HashSet::new();
        for url in urls {
            let merged = merge(url, &consumer);
            if !seen.insert(NodeId::of(&merged)) {
                tracing::warn!(url = ?url, "a direct URL is given twice; it counts once");
                continue;
            }
            let weight = weight(&merged);
            match refer(merged).await {
                Ok(invoker) => nodes.push(Node::new(invoker, weight)),
                Err(source) => {
                    close_all(&nodes).await;
                    return Err(ReferError {
                        url: url.clone(),
                        source,
                    });
                }
            }
        }
        let nodes: Arc<NodeList> = Arc::new(nodes.into());
        let watched = Arc::clone(&nodes);
        Ok(Self {
            consumer,
            nodes,
            routers,
            availability: Availability::new(move || any_available(&watched)),
            closed: AtomicBool::new(false),
        })
    }

    /// Why there are no providers, if there are none.
    fn why_empty(&self) -> Option<&'static str> {
        if self.closed.load(Ordering::Relaxed) {
            Some("the reference is closed")
        } else if self.nodes.is_empty() {
            Some("the reference names no direct URL")
        } else {
            None
        }
    }
}

#[async_trait]
impl Directory for StaticDirectory {
    fn list(&self, invocation: &Invocation) -> Result<Candidates, Status> {
        if let Some(why) = self.why_empty() {
            return Err(no_provider(&self.consumer.service_key(), &why));
        }
        let mut candidates = Candidates::all(Arc::clone(&self.nodes));
        self.routers
            .route(&mut candidates, &self.consumer, invocation)
            .map_err(|emptied| no_provider(&self.consumer.service_key(), &emptied))?;
        Ok(candidates)
    }

    fn nodes(&self) -> Arc<NodeList> {
        Arc::clone(&self.nodes)
    }

    fn why_unavailable(&self) -> Option<String> {
        if let Some(why) = self.why_empty() {
            return Some(why.to_owned());
        }
        (!any_available(&self.nodes)).then(|| none_available(ORIGIN, &self.nodes))
    }

    fn explain(&self) -> Vec<Step> {
        let urls: Vec<_> = self
            .nodes
            .iter()
            .map(|node| node.invoker.url().origin())
            .collect();
        let evidence = format!("the reference names {}", urls.join(", "));
        vec![
            Step::leaving("direct URLs", evidence, urls.len()),
            available(&self.nodes),
        ]
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
        self.closed.store(true, Ordering::Relaxed);
        close_all(&self.nodes).await;
    }
}

impl fmt::Debug for StaticDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticDirectory")
            .field("consumer", &self.consumer)
            .field("nodes", &self.nodes)
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
