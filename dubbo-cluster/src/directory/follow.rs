//! The task that turns what a registry says into a list of nodes.

use std::sync::Arc;

use dubbo_core::{
    cluster::NodeList,
    extension::BoxError,
    invoker::Invoker,
    registry::{RegistryError, RegistrySnapshot},
    subscription::{Subscription, Update},
    url::Url,
};
use tokio::{sync::watch, time::Instant};

use super::{
    dynamic::{Shared, State},
    explain::{Failing, Skipped, View},
    providers::{Providers, stopped},
};
use crate::configurator::{Configurators, LiveOverrides};

pub(super) struct Follower<F> {
    shared: Arc<Shared>,
    consumer: Url,
    subscription: Subscription<RegistrySnapshot>,
    providers: Providers<F>,
    overrides: LiveOverrides,
    /// What the registry said last.
    snapshot: Option<RegistrySnapshot>,
    stop: watch::Receiver<bool>,
    epoch: u64,
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
        overrides: LiveOverrides,
        refer: F,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self {
            shared,
            subscription,
            providers: Providers::new(consumer.clone(), refer, &overrides, stop.clone()),
            consumer,
            overrides,
            snapshot: None,
            stop,
            epoch: 0,
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
                () = self.providers.changed() => {
                    if let Some(snapshot) = self.snapshot.clone() {
                        self.replace(&snapshot).await;
                    }
                }
            }
        }
        self.publish(Arc::default(), self.consumer.clone(), |view| {
            view.closed = true;
        });
        if self
            .snapshot
            .is_some_and(|snapshot| !snapshot.configurators.is_empty())
        {
            // They hold as long as they are followed.
            self.overrides.set_registry(Configurators::default());
        }
        self.providers.close().await;
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
            Ok(snapshot) => {
                let began = Instant::now();
                self.look_at_rules(&snapshot);
                self.replace(&snapshot).await;
                self.snapshot = Some(snapshot);
                self.shared.tell(began.elapsed());
            }
            Err(error) => self.lose(error),
        }
    }

    /// Keeps the list: nobody knows of a better one.
    fn lose(&self, error: Arc<RegistryError>) {
        let before = self.shared.state.load_full();
        let nodes = Arc::clone(&before.nodes);
        tracing::warn!(
            service = %self.shared.service, registry = %self.shared.registry, providers = nodes.len(), %error,
            "the registry fails; the last list of providers is kept"
        );
        self.publish(nodes, before.consumer.clone(), |view| {
            let since = view.failing.take().map_or_else(Instant::now, |f| f.since);
            view.failing = Some(Failing { error, since });
        });
    }

    async fn replace(&mut self, snapshot: &RegistrySnapshot) {
        let consumer = self.consumer.clone();
        let listed = self
            .providers
            .list(providers(snapshot), |url| unwanted(&consumer, url))
            .await;
        tracing::debug!(
            service = %self.shared.service, providers = listed.nodes.len(), "the list of providers changed"
        );
        let skipped = listed.skipped.into_iter().map(|(url, reason)| Skipped {
            provider: url.origin(),
            reason: reason.to_string(),
        });
        let skipped = skipped.collect();
        let now_empty = listed.nodes.is_empty();
        self.publish(Arc::new(listed.nodes.into()), listed.consumer, |view| {
            view.listed = Some(providers(snapshot).count());
            view.skipped = skipped;
            view.steps = Arc::clone(&snapshot.steps);
            view.failing = None;
            if now_empty && listed.gone.is_some() {
                view.empty_since = Instant::now();
                view.last = listed.gone;
            }
        });
        self.providers.part();
    }

    /// Takes in the overrides that the registry holds, and warns of routing rules, which nothing here applies.
    fn look_at_rules(&mut self, snapshot: &RegistrySnapshot) {
        let before = self.snapshot.as_ref();
        let of_before =
            |of: fn(&RegistrySnapshot) -> &Arc<[Url]>| before.map_or(&[][..], |it| of(it));
        if *snapshot.configurators != *of_before(|it| &it.configurators) {
            let configurators = Configurators::of_urls(&snapshot.configurators);
            self.overrides.set_registry(configurators);
        }
        let rules = snapshot.routers.len();
        if rules > 0 && *snapshot.routers != *of_before(|it| &it.routers) {
            tracing::warn!(
                service = %self.shared.service, registry = %self.shared.registry, rules,
                "the registry holds routing rules for this service, which are not applied; put them into a config center"
            );
        }
    }

    fn publish(&self, nodes: Arc<NodeList>, consumer: Url, change: impl FnOnce(&mut View)) {
        let mut view = self.shared.state.load().view.clone();
        change(&mut view);
        self.shared.publish(State::new(nodes, consumer, view));
    }
}

/// The providers of `snapshot`; Java's way of listing none is a URL with the protocol `empty`.
fn providers(snapshot: &RegistrySnapshot) -> impl Iterator<Item = &Url> {
    snapshot
        .providers
        .iter()
        .filter(|url| url.protocol() != "empty")
}

/// Why `consumer` does not want the provider at `url`, if so: it speaks another protocol.
fn unwanted(consumer: &Url, url: &Url) -> Option<String> {
    let wanted = consumer.param("protocol")?;
    let mut names = wanted.split(',').map(str::trim);
    let matches = wanted.is_empty() || names.any(|name| name.eq_ignore_ascii_case(url.protocol()));
    (!matches).then(|| format!("the reference wants the protocol `{wanted}`"))
}
