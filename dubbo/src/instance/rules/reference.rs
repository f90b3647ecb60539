//! A reference under rules.

use std::sync::{Arc, Weak};

use dubbo_cluster::{
    cluster::{LiveCluster, SettingsMaker},
    configurator::{LiveOverrides, OverrideRules, Overrides},
    rules::RuleBook,
};
use dubbo_core::{
    cluster::Directory,
    extension::{BoxError, ExtensionError},
    invoker::Invoker,
    service::ServiceKey,
    url::Url,
};
use tokio::task::JoinSet;

use super::{LiveChain, MakeFilters, Rules};

/// What the rules say about one reference: the options of its calls, and what its directories go by.
pub(in crate::instance) struct ReferenceRules {
    maker: SettingsMaker,
    /// As the configuration has it.
    consumer: Url,
    service: ServiceKey,
    application: String,
    book: RuleBook,
    /// Followed from the beginning, so that what they say has been asked for.
    rules: OverrideRules,
}

impl ReferenceRules {
    pub(in crate::instance) fn new(
        maker: SettingsMaker,
        consumer: &Url,
        rules: &Rules,
    ) -> Arc<Self> {
        let service = consumer.service_key();
        Arc::new(Self {
            rules: rules.of(&service),
            maker,
            consumer: consumer.clone(),
            service,
            application: rules.application.clone(),
            book: rules.book.clone(),
        })
    }

    /// What overrides the reference at one source.
    pub(in crate::instance) fn overrides(&self) -> LiveOverrides {
        LiveOverrides::new(self.rules.current())
    }

    /// The clusters of the reference over `directory`, whose `overrides` these are. They go by the rules while they live.
    ///
    /// # Errors
    ///
    /// The configuration has an option that cannot be used. One of a rule changes nothing.
    pub(in crate::instance) fn cluster(
        self: &Arc<Self>,
        directory: Arc<dyn Directory>,
        overrides: &LiveOverrides,
    ) -> Result<Arc<LiveCluster>, BoxError> {
        let plain = self.maker.resolve(&self.consumer)?;
        let cluster = Arc::new(LiveCluster::new(directory, &plain)?);
        let mut rules = self.follow();
        let mut changes = overrides.subscribe();
        overrides.set_rules(rules.current());
        self.exchange(&cluster, &changes.borrow_and_update());
        let (reference, overrides) = (Arc::clone(self), overrides.clone());
        let held = Arc::downgrade(&cluster);
        let mut task = JoinSet::new();
        task.spawn(async move {
            loop {
                tokio::select! {
                    () = rules.changed() => overrides.set_rules(rules.current()),
                    told = changes.changed() => {
                        let (Ok(()), Some(cluster)) = (told, held.upgrade()) else {
                            return;
                        };
                        reference.exchange(&cluster, &changes.borrow_and_update());
                    }
                }
            }
        });
        cluster.hold(task);
        Ok(cluster)
    }

    /// The whole reference: `clusters` behind the filters that see each call once. They go by the rules while it lives.
    ///
    /// # Errors
    ///
    /// A filter is not there, or refuses an option of the configuration. One of a rule changes nothing.
    pub(in crate::instance) fn chain(
        self: &Arc<Self>,
        filters: Box<MakeFilters>,
        clusters: Arc<dyn Invoker>,
    ) -> Result<Arc<LiveChain>, ExtensionError> {
        let chain = LiveChain::new(filters(&self.consumer)?, clusters);
        let mut rules = self.follow();
        let mut current = self.consumer.clone();
        self.exchange_filters(&mut current, &chain, &filters, &rules);
        let (reference, held): (_, Weak<LiveChain>) = (Arc::clone(self), Arc::downgrade(&chain));
        chain.run(async move {
            loop {
                rules.changed().await;
                let Some(chain) = held.upgrade() else {
                    return;
                };
                reference.exchange_filters(&mut current, &chain, &filters, &rules);
            }
        });
        Ok(chain)
    }

    /// Rules of its own for each that goes by them: a change is told to each once.
    fn follow(&self) -> OverrideRules {
        OverrideRules::follow(&self.book, &self.application, &self.service)
    }

    /// Has calls from now on go as `overrides` say.
    fn exchange(&self, cluster: &LiveCluster, overrides: &Overrides) {
        let url = overrides.apply(&self.consumer, self.consumer.host());
        let settings = self.maker.resolve(&url);
        let changed = settings.and_then(|settings| cluster.exchange(&settings));
        if let Err(error) = changed {
            self.refuse(&error.to_string());
        }
    }

    /// Has calls from now on go through the filters that `rules` ask for, where those are others than for `current`.
    fn exchange_filters(
        &self,
        current: &mut Url,
        chain: &LiveChain,
        filters: &MakeFilters,
        rules: &OverrideRules,
    ) {
        let overrides = Overrides::of_rules(rules.current());
        let url = overrides.apply(&self.consumer, self.consumer.host());
        if url == *current {
            return;
        }
        match filters(&url) {
            Ok(filters) => chain.exchange(filters),
            Err(error) => self.refuse(&error.to_string()),
        }
        *current = url;
    }

    fn refuse(&self, error: &str) {
        tracing::warn!(
            service = %self.service, error,
            "rules change options of the reference to what cannot be used; they stay as they were"
        );
    }
}
