//! From the URLs of providers to nodes, and what of them stays when URLs or rules change.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Duration,
};

use dubbo_core::{
    cluster::{Node, NodeId},
    extension::BoxError,
    invoker::Invoker,
    url::Url,
};
use futures_util::FutureExt as _;
use tokio::{sync::watch, task::JoinSet, time::sleep};

use super::{merge::merge, static_list::close_all, weight::weight};
use crate::configurator::{LiveOverrides, Overrides, are_made_alike, is_of_reference};

/// The providers of one reference: a node for each URL.
///
/// As long as a URL stays the same, so does its node. A rule that changes what the provider says changes the node in place;
/// only where its invoker was made with other options than it has to have is it made anew.
pub(super) struct Providers<F> {
    consumer: Url,
    refer: F,
    /// Held, so that `overrides` does not end.
    _source: LiveOverrides,
    overrides: watch::Receiver<Overrides>,
    by_url: HashMap<Url, Provider>,
    /// The URLs left out last time, so that each is warned of once.
    warned: HashSet<Url>,
    /// The options that rules give to single providers in vain, so that each is warned of once.
    in_vain: HashSet<String>,
    /// Those that calls may still choose until the next list is there.
    leaving: Vec<Node>,
    /// Closes the invokers of those that left.
    retiring: JoinSet<()>,
    stop: watch::Receiver<bool>,
}

struct Provider {
    node: Node,
    /// What its invoker was made with.
    made_with: Url,
}

/// What became of a list of URLs.
pub(super) struct Listed {
    pub(super) nodes: Vec<Node>,
    /// The consumer as the same rules have it.
    pub(super) consumer: Url,
    pub(super) skipped: Vec<(Url, Unusable)>,
    /// One of those that are not there any more.
    pub(super) gone: Option<String>,
}

/// Why a provider is not called.
pub(super) enum Unusable {
    /// It is not what the reference wants.
    Unwanted(String),
    Disabled,
    Refused(BoxError),
}

impl<F, Fut> Providers<F>
where
    F: Fn(Url) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Arc<dyn Invoker>, BoxError>> + Send,
{
    pub(super) fn new(
        consumer: Url,
        refer: F,
        overrides: &LiveOverrides,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self {
            consumer,
            refer,
            _source: overrides.clone(),
            overrides: overrides.subscribe(),
            by_url: HashMap::new(),
            warned: HashSet::new(),
            in_vain: HashSet::new(),
            leaving: Vec::new(),
            retiring: JoinSet::new(),
            stop,
        }
    }

    /// Makes `urls` those that there are, under the rules that hold now. One that is there twice counts once.
    ///
    /// Once calls see the new list, [`part`](Self::part) lets go of those that are not in it.
    pub(super) async fn list<'u>(
        &mut self,
        urls: impl IntoIterator<Item = &'u Url>,
        unwanted: impl Fn(&Url) -> Option<String>,
    ) -> Listed {
        let overrides = self.overrides.borrow_and_update().clone();
        let consumer = overrides.amend(&self.consumer);
        let mut old = std::mem::take(&mut self.by_url);
        let mut seen = HashSet::new();
        let mut nodes = Vec::new();
        let mut skipped = Vec::new();
        let warned = std::mem::take(&mut self.warned);
        for url in urls {
            if !seen.insert(NodeId::of(url)) {
                tracing::debug!(provider = ?url, "one provider is listed twice; the first counts");
                continue;
            }
            if let Some(reason) = unwanted(url) {
                skipped.push((url.clone(), Unusable::Unwanted(reason)));
                continue;
            }
            match self
                .provider(url, &consumer, &overrides, old.remove(url))
                .await
            {
                Ok(provider) => {
                    nodes.push(provider.node.clone());
                    self.by_url.insert(url.clone(), provider);
                }
                Err(reason) => {
                    if !warned.contains(url) {
                        tracing::warn!(
                            service = %self.consumer.service_key(), provider = ?url, %reason,
                            "a provider is left out"
                        );
                    }
                    self.warned.insert(url.clone());
                    skipped.push((url.clone(), reason));
                }
            }
        }
        self.leaving.extend(old.into_values().map(|old| old.node));
        let gone = self.leaving.first().map(|node| node.url.origin());
        Listed {
            nodes,
            consumer: overrides.apply(&consumer, consumer.host()),
            skipped,
            gone,
        }
    }

    /// Closes those that the last list left out, each when its calls have ended, or when all are closed.
    pub(super) fn part(&mut self) {
        for node in std::mem::take(&mut self.leaving) {
            let mut stop = self.stop.clone();
            self.retiring.spawn(async move {
                tokio::select! {
                    () = calls_ended(&*node.invoker) => {}
                    () = stopped(&mut stop) => {}
                }
                node.invoker.close().await;
            });
        }
    }

    /// Waits until other rules hold than those of the last list, or an invoker has been closed.
    pub(super) async fn changed(&mut self) {
        loop {
            tokio::select! {
                changed = self.overrides.changed() => {
                    changed.expect("invariant: its sender is in `_source`");
                    return;
                }
                Some(_) = self.retiring.join_next() => {}
            }
        }
    }

    /// Closes all of them.
    pub(super) async fn close(mut self) {
        let nodes: Vec<Node> = self.by_url.into_values().map(|it| it.node).collect();
        close_all(&self.leaving).await;
        close_all(&nodes).await;
        while self.retiring.join_next().await.is_some() {}
    }

    /// The provider at `url`, which may have been there before, for the reference as the configuration has it now.
    async fn provider(
        &mut self,
        url: &Url,
        consumer: &Url,
        overrides: &Overrides,
        old: Option<Provider>,
    ) -> Result<Provider, Unusable> {
        let merged = merge(url, consumer);
        let own = url;
        let url = overrides.apply(&merged, consumer.host());
        let said = said(own, &merged, &url);
        self.look_for_vain(&merged, &url, consumer, overrides);
        if is_disabled(&url) {
            self.leaving.extend(old.map(|old| old.node));
            return Err(Unusable::Disabled);
        }
        let weight = weight(&url);
        let provider = match old {
            Some(old) if are_made_alike(&old.made_with, &url) => Ok(Provider {
                node: old.node.overridden(url, weight),
                made_with: old.made_with,
            }),
            Some(old) => match self.make(url.clone()).await {
                Ok(invoker) => {
                    let mut node = old.node.overridden(url.clone(), weight);
                    node.invoker = invoker;
                    self.leaving.push(old.node);
                    Ok(Provider {
                        node,
                        made_with: url,
                    })
                }
                Err(reason) => {
                    tracing::warn!(
                        provider = ?url, %reason,
                        "a rule changes options of a provider to what cannot be used; it is called as before"
                    );
                    Ok(old)
                }
            },
            None => {
                let mut node = Node::new(self.make(url.clone()).await?, weight);
                // Whatever rules say of it, it is the same one.
                node.id = NodeId::of(&merged);
                node.url = url.clone();
                Ok(Provider {
                    node,
                    made_with: url,
                })
            }
        };
        provider.map(|mut provider| {
            provider.node.said = said;
            provider
        })
    }

    async fn make(&self, url: Url) -> Result<Arc<dyn Invoker>, Unusable> {
        // A panic must not end the task: the list would stay as it is for ever.
        let made = AssertUnwindSafe(async { (self.refer)(url).await }).catch_unwind();
        let made = made
            .await
            .unwrap_or_else(|_| Err("a panic while referring to it; the log has its text".into()));
        made.map_err(Unusable::Refused)
    }

    /// Warns of options that are those of a whole reference, where a rule gives them to one provider.
    fn look_for_vain(
        &mut self,
        merged: &Url,
        overridden: &Url,
        consumer: &Url,
        overrides: &Overrides,
    ) {
        if merged == overridden {
            return;
        }
        let reference = overrides.apply(consumer, consumer.host());
        for (key, value) in overridden.params() {
            if is_of_reference(key)
                && merged.param(key) != Some(value)
                && reference.param(key) != Some(value)
                && self.in_vain.insert(key.to_owned())
            {
                tracing::warn!(
                    service = %self.consumer.service_key(), key, value,
                    "a rule gives this option to single providers, and it is one of the whole reference: it has no effect"
                );
            }
        }
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unwanted(reason) => f.write_str(reason),
            Self::Disabled => f.write_str("it is disabled, by itself or by an override rule"),
            Self::Refused(error) => write!(f, "{error}"),
        }
    }
}

/// What the provider at `own` says of itself where rules make `overridden` of `merged`.
fn said(own: &Url, merged: &Url, overridden: &Url) -> Url {
    if merged == overridden {
        return own.clone();
    }
    let changed = overridden.params();
    own.with_params(changed.filter(|(key, value)| merged.param(key) != Some(value)))
}

/// Whether nobody shall call the provider at `url`: Dubbo Java's `disabled`, and `enabled` where nothing is said about that.
fn is_disabled(url: &Url) -> bool {
    let says = |key| url.param(key).filter(|text| !text.is_empty());
    match says("disabled") {
        Some(disabled) => disabled == "true",
        None => says("enabled") == Some("false"),
    }
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

pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the directory was dropped: that is a stop, too.
    let _ = stop.wait_for(|stop| *stop).await;
}

const RETIRE_EVERY: Duration = Duration::from_millis(100);
