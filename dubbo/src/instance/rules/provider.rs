//! An exported service under rules.

use std::sync::{Arc, Weak};

use dubbo_cluster::{
    configurator::{Amendment, Configurators, LiveOverrides, OverrideRules},
    migration::Path,
};
use dubbo_core::{registry::RegistrySnapshot, subscription::Subscription, url::Url};
use futures_util::future::{pending, select_all};
use parking_lot::Mutex;

use super::chain::{LiveChain, MakeFilters};
use crate::instance::{Inner, registries::NamedRegistry};

/// A service on one protocol, as rules have it.
pub(in crate::instance) struct Exported {
    /// As the configuration had it at the start, where it is served.
    bound: Url,
    /// What consumers are told of it now.
    published: Mutex<Url>,
    served: Arc<LiveChain>,
    filters: Box<MakeFilters>,
    overrides: LiveOverrides,
    /// The positions of the registries that were told of it.
    registries: Mutex<Vec<usize>>,
}

impl Exported {
    /// The service that `served` serves at `bound`, as `url` has it for consumers where no rule says anything.
    pub(in crate::instance) fn new(
        bound: Url,
        url: Url,
        served: Arc<LiveChain>,
        filters: Box<MakeFilters>,
    ) -> Self {
        Self {
            bound,
            published: Mutex::new(url),
            served,
            filters,
            overrides: LiveOverrides::default(),
            registries: Mutex::default(),
        }
    }

    /// What consumers are told of it now.
    pub(in crate::instance) fn published(&self) -> Url {
        self.published.lock().clone()
    }

    /// Has the service be what its configuration has become; calls under way end as they began.
    pub(in crate::instance) fn amend(&self, amendment: Amendment) {
        self.overrides.set_amendment(Arc::new(amendment));
    }

    /// Notes that the registry at this position is told of it.
    pub(in crate::instance) fn tells(&self, registry: usize) {
        self.registries.lock().push(registry);
    }
}

impl Inner {
    /// Has the service go by what `rules` say now.
    pub(in crate::instance) async fn put_under(&self, exported: &Exported, rules: &OverrideRules) {
        exported.overrides.set_rules(rules.current());
        self.refresh(exported).await;
    }

    /// Has the service go by its rules until the end of the instance.
    pub(in crate::instance) fn follow_rules(
        self: &Arc<Self>,
        exported: Arc<Exported>,
        rules: OverrideRules,
    ) {
        let instance = Arc::downgrade(self);
        self.rules.spawn(go_by(instance, exported, rules));
    }

    /// Exchanges the filters of the service and tells its registries, where the rules have changed something.
    async fn refresh(&self, exported: &Exported) {
        // What operators take out of registries stays out, and is not moved meanwhile.
        let _turn = self.presence.turn().await;
        let before = exported.published();
        let overrides = exported.overrides.current();
        let bound = overrides.amend(&exported.bound);
        let plain = self.to_registry.published(&bound);
        let now = overrides.apply(&plain, plain.host());
        if now == before {
            return;
        }
        let service = now.service_key();
        match (exported.filters)(&bound.with_params(now.params())) {
            Ok(filters) => exported.served.exchange(filters),
            Err(error) => {
                tracing::warn!(
                    %service, %error,
                    "rules or the configuration change options of the service to what cannot be used; they stay as they were"
                );
                return;
            }
        }
        *exported.published.lock() = now.clone();
        let registries = exported.registries.lock().clone();
        if registries.is_empty() {
            return;
        }
        self.told.exchanges(&before, &now);
        for index in registries {
            self.tell(index, &before, &now).await;
        }
        tracing::info!(%service, address = now.address(), "what consumers are told of the service has changed");
    }

    /// Tells one registry what a service is now, and not before.
    async fn tell(&self, index: usize, before: &Url, now: &Url) {
        let registry = self.registries.get(index);
        let service = now.service_key();
        let is_shown = |path| !self.presence.is_offline(now, index, path);
        if let Some(provider) = registry.provider().filter(|_| is_shown(Path::Application))
            && let Err(error) = provider.export(now)
        {
            tracing::warn!(%service, registry = registry.id, %error, "the registry is not told of the change");
        }
        if !registry.takes_interfaces() || !is_shown(Path::Interface) {
            return;
        }
        // Noted before it is done: a register that is cut off may have happened.
        let noted = self.keep((index, now.clone()), |running| &mut running.registered);
        if noted.is_err() {
            return;
        }
        // Both wishes are made at once, so that consumers see no gap.
        let (told, gone) = tokio::join!(registry.register(now), registry.unregister(before));
        let stays = match told {
            Ok(()) => before,
            Err(error) => {
                tracing::warn!(
                    %service, registry = registry.id, %error,
                    "the registry does not take what rules make of the service; it is told what it was told before"
                );
                if let Err(error) = registry.register(before).await {
                    tracing::warn!(%service, registry = registry.id, %error, "nor does it take that");
                }
                now
            }
        };
        if let Err(error) = gone {
            tracing::warn!(%service, registry = registry.id, %error, "the registry may list the service twice for a while");
        }
        let mut running = self.running.lock();
        let registered = &mut running.registered;
        if let Some(old) = registered
            .iter()
            .position(|one| one.0 == index && one.1 == *stays)
        {
            registered.remove(old);
        }
    }
}

async fn go_by(instance: Weak<Inner>, exported: Arc<Exported>, mut rules: OverrideRules) {
    let Some(mut held) = instance
        .upgrade()
        .map(|instance| HeldRules::of(&instance, &exported))
    else {
        return;
    };
    held.follow().await;
    exported.overrides.set_rules(rules.current());
    exported.overrides.set_registry(held.configurators());
    let mut changes = exported.overrides.subscribe();
    loop {
        changes.mark_unchanged();
        let Some(instance) = instance.upgrade() else {
            return;
        };
        instance.refresh(&exported).await;
        drop(instance);
        tokio::select! {
            () = rules.changed() => exported.overrides.set_rules(rules.current()),
            () = held.changed() => exported.overrides.set_registry(held.configurators()),
            // The configuration may have become another one; its sender is in `exported`.
            _ = changes.changed() => {}
        }
    }
}

/// The overrides that registries hold for one service.
struct HeldRules {
    url: Url,
    registries: Vec<Arc<NamedRegistry>>,
    subscriptions: Vec<Subscription<RegistrySnapshot>>,
    /// What each registry said last, as long as it knows.
    said: Vec<Arc<[Url]>>,
}

impl HeldRules {
    fn of(instance: &Inner, exported: &Exported) -> Self {
        let told = exported.registries.lock();
        let registries = told.iter().map(|index| instance.registries.shared(*index));
        Self {
            url: exported.published(),
            registries: registries
                .filter(|registry| registry.takes_interfaces())
                .collect(),
            subscriptions: Vec::new(),
            said: Vec::new(),
        }
    }

    async fn follow(&mut self) {
        for registry in std::mem::take(&mut self.registries) {
            match registry.configurators(&self.url).await {
                Ok(mut subscription) => {
                    let said = subscription.current().state;
                    self.said.push(
                        said.map(|snapshot| snapshot.configurators)
                            .unwrap_or_default(),
                    );
                    self.subscriptions.push(subscription);
                }
                Err(error) => {
                    tracing::warn!(registry = registry.id, %error, "override rules that this registry holds are not applied");
                }
            }
        }
    }

    /// Waits until a registry says something else. One that fails keeps what it said.
    async fn changed(&mut self) {
        loop {
            if self.subscriptions.is_empty() {
                return pending().await;
            }
            let changes = self
                .subscriptions
                .iter_mut()
                .map(|one| Box::pin(one.changed()));
            let (update, index, _) = select_all(changes).await;
            match update.map(|update| update.state) {
                Some(Ok(snapshot)) if *snapshot.configurators != *self.said[index] => {
                    self.said[index] = snapshot.configurators;
                    return;
                }
                Some(_) => {}
                None => {
                    drop(self.subscriptions.remove(index));
                    self.said.remove(index);
                    return;
                }
            }
        }
    }

    fn configurators(&self) -> Configurators {
        let all: Vec<Url> = self
            .said
            .iter()
            .flat_map(|said| said.iter().cloned())
            .collect();
        Configurators::of_urls(&all)
    }
}
