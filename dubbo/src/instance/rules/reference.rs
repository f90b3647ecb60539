//! A reference under rules.

use std::sync::{Arc, Weak};

use dubbo_cluster::{
    cluster::{LiveCluster, SettingsMaker},
    configurator::{Amendment, LiveOverrides, OverrideRules, Overrides},
    rules::RuleBook,
};
use dubbo_core::{
    cluster::Directory,
    extension::{BoxError, ExtensionError},
    invoker::Invoker,
    service::ServiceKey,
    url::Url,
};
use tokio::{sync::watch, task::JoinSet};

use super::{LiveChain, MakeFilters, Rules};

/// What the rules say about one reference: the options of its calls, and what its directories go by.
pub(in crate::instance) struct ReferenceRules {
    maker: SettingsMaker,
    /// As the configuration had it when the reference was made.
    consumer: Url,
    /// What the configuration has become since.
    amendment: watch::Sender<Arc<Amendment>>,
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
            amendment: watch::Sender::default(),
            service,
            application: rules.application.clone(),
            book: rules.book.clone(),
        })
    }

    /// The reference's URL, as the configuration had it when the reference was made.
    pub(in crate::instance) fn consumer(&self) -> &Url {
        &self.consumer
    }

    /// Has the reference be what its configuration has become; calls under way end as they began.
    pub(in crate::instance) fn amend(&self, amendment: Amendment) {
        self.amendment.send_if_modified(|held| {
            let is_new = **held != amendment;
            *held = Arc::new(amendment);
            is_new
        });
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
        let mut amendment = self.amendment.subscribe();
        let mut changes = overrides.subscribe();
        overrides.set_rules(rules.current());
        overrides.set_amendment(Arc::clone(&amendment.borrow_and_update()));
        self.exchange(&cluster, &changes.borrow_and_update());
        let (reference, overrides) = (Arc::clone(self), overrides.clone());
        let held = Arc::downgrade(&cluster);
        let mut task = JoinSet::new();
        task.spawn(async move {
            loop {
                tokio::select! {
                    () = rules.changed() => overrides.set_rules(rules.current()),
                    // Its sender is in `reference`.
                    Ok(()) = amendment.changed() => {
                        overrides.set_amendment(Arc::clone(&amendment.borrow_and_update()));
                    }
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
        let mut amendment = self.amendment.subscribe();
        let mut current = self.consumer.clone();
        self.exchange_filters(&mut current, &chain, &filters, &rules);
        let (reference, held): (_, Weak<LiveChain>) = (Arc::clone(self), Arc::downgrade(&chain));
        chain.run(async move {
            loop {
                tokio::select! {
                    () = rules.changed() => {}
                    Ok(()) = amendment.changed() => {}
                }
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
        let consumer = overrides.amend(&self.consumer);
        let url = overrides.apply(&consumer, consumer.host());
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
        let overrides = LiveOverrides::new(rules.current());
        overrides.set_amendment(Arc::clone(&self.amendment.borrow()));
        let overrides = overrides.current();
        let consumer = overrides.amend(&self.consumer);
        let url = overrides.apply(&consumer, consumer.host());
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
            "rules or the configuration change options of the reference to what cannot be used; they stay as they were"
        );
    }
}
