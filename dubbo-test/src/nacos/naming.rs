//! Who offers which service, and who wants to know (`docs/spec/nacos-2.5.1.md` §1, §2, §4).

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use super::{
    answer::Refusal,
    delays::Delays,
    instance::Instance,
    key::{ConnectionId, ServiceKey},
    service_info::{ServiceInfo, select},
};

/// All services.
#[derive(Debug, Default)]
pub(super) struct Naming {
    services: BTreeMap<ServiceKey, Service>,
    /// With the clusters that each wants. Subscribing does not create a service.
    subscribers: BTreeMap<ServiceKey, BTreeMap<ConnectionId, String>>,
    pushes: BTreeMap<ServiceKey, Push>,
    thresholds: BTreeMap<ServiceKey, f32>,
}

#[derive(Debug)]
struct Service {
    ephemeral: bool,
    publications: BTreeMap<Publisher, Vec<Instance>>,
    /// Computed when it is first asked for, and then only before pushes.
    listed: Option<Vec<Instance>>,
    changed: Instant,
}

/// Who has one publication per service.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Publisher {
    Connection(ConnectionId),
    /// A persistent instance is a client of its own: its address.
    Persistent(String),
}

#[derive(Debug)]
struct Push {
    due: Instant,
    to: Targets,
}

#[derive(Debug)]
enum Targets {
    All,
    Some(BTreeSet<ConnectionId>),
}

impl Naming {
    /// Replaces what `publisher` had published under `key`.
    pub(super) fn register(
        &mut self,
        publisher: Publisher,
        key: &ServiceKey,
        instances: Vec<Instance>,
        now: Instant,
        delays: Delays,
    ) -> Result<(), Refusal> {
        let ephemeral = matches!(publisher, Publisher::Connection(_));
        let service = self.service(key, ephemeral, now);
        if service.ephemeral != ephemeral {
            return Err(other_kind(key, service.ephemeral));
        }
        let instances = instances.into_iter();
        let instances = instances.map(|instance| instance.published(key, ephemeral));
        service.publications.insert(publisher, instances.collect());
        service.changed = now;
        self.push(key, Targets::All, now, delays);
        Ok(())
    }

    /// Takes back all that `publisher` had published under `key`.
    pub(super) fn deregister(
        &mut self,
        publisher: &Publisher,
        key: &ServiceKey,
        now: Instant,
        delays: Delays,
    ) {
        let Some(service) = self.services.get_mut(key) else {
            return;
        };
        if service.publications.remove(publisher).is_some() {
            service.changed = now;
            self.push(key, Targets::All, now, delays);
        }
    }

    /// Makes a persistent service, as the HTTP API does.
    pub(super) fn create_persistent(&mut self, key: &ServiceKey, now: Instant) {
        self.service(key, false, now);
    }

    /// From which share of healthy instances downwards all are shown as healthy.
    pub(super) fn protect(
        &mut self,
        key: &ServiceKey,
        threshold: f32,
        now: Instant,
        delays: Delays,
    ) {
        self.thresholds.insert(key.clone(), threshold);
        self.push(key, Targets::All, now, delays);
    }

    /// What a query is answered with.
    pub(super) fn query(
        &mut self,
        key: &ServiceKey,
        clusters: &str,
        healthy_only: bool,
    ) -> ServiceInfo {
        let listed = match self.services.get_mut(key) {
            Some(service) => service.listed(),
            None => &[],
        };
        let threshold = self.thresholds.get(key).copied();
        select(key, listed, clusters, healthy_only, threshold)
    }

    /// Only the first subscription of a connection is answered with a push.
    pub(super) fn subscribe(
        &mut self,
        connection: ConnectionId,
        key: &ServiceKey,
        clusters: &str,
        now: Instant,
        delays: Delays,
    ) {
        let subscribers = self.subscribers.entry(key.clone()).or_default();
        let first = subscribers.insert(connection, clusters.to_owned());
        if first.is_none() {
            let to = Targets::Some(BTreeSet::from([connection]));
            self.push(key, to, now, delays);
        }
    }

    pub(super) fn unsubscribe(&mut self, connection: ConnectionId, key: &ServiceKey) {
        if let Some(subscribers) = self.subscribers.get_mut(key) {
            subscribers.remove(&connection);
        }
    }

    /// One page of the names in a group, and how many there are.
    pub(super) fn names(
        &self,
        namespace: &str,
        group: &str,
        page: i32,
        size: i32,
    ) -> Result<(usize, Vec<String>), Refusal> {
        let within = ServiceKey::new(namespace, group, "");
        let all: Vec<_> = self
            .services
            .keys()
            .filter(|key| key.namespace == within.namespace && key.group == within.group)
            .map(|key| key.name.clone())
            .collect();
        let count = all.len();
        let start = i64::from(page).saturating_sub(1) * i64::from(size);
        let start = usize::try_from(start).unwrap_or(0);
        if start >= count {
            return Ok((count, Vec::new()));
        }
        let Ok(size) = usize::try_from(size) else {
            let end = i64::try_from(start).unwrap_or(i64::MAX) + i64::from(size);
            let text = format!("fromIndex({start}) > toIndex({end})");
            return Err(Refusal::thrown(500, text));
        };
        let names = all.into_iter().skip(start).take(size);
        Ok((count, names.collect()))
    }

    /// All that `connection` published and wanted goes with it.
    pub(super) fn disconnect(&mut self, connection: ConnectionId, now: Instant, delays: Delays) {
        for subscribers in self.subscribers.values_mut() {
            subscribers.remove(&connection);
        }
        let publisher = Publisher::Connection(connection);
        let keys = self.services.iter();
        let keys = keys.filter(|(_, service)| service.publications.contains_key(&publisher));
        let keys: Vec<_> = keys.map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.deregister(&publisher, &key, now, delays);
        }
    }

    /// What is on no disk is gone.
    pub(super) fn crash(&mut self) {
        self.services.retain(|_, service| !service.ephemeral);
        for service in self.services.values_mut() {
            service.listed = None;
        }
        self.subscribers.clear();
        self.pushes.clear();
    }

    /// When [`advance`](Self::advance) has something to do.
    pub(super) fn due(&self, delays: Delays) -> Option<Instant> {
        let pushes = self.pushes.values().map(|push| push.due);
        let ends = self.services.values();
        let ends = ends.filter_map(|service| service.end(delays));
        pushes.chain(ends).min()
    }

    /// The pushes that are due, and the end of services that have been empty for long.
    pub(super) fn advance(
        &mut self,
        now: Instant,
        delays: Delays,
    ) -> Vec<(ConnectionId, ServiceKey, ServiceInfo)> {
        self.services
            .retain(|_, service| service.end(delays).is_none_or(|end| end > now));
        let due: Vec<_> = self
            .pushes
            .extract_if(.., |_, push| push.due <= now)
            .collect();
        let mut pushed = Vec::new();
        for (key, push) in due {
            if let Some(service) = self.services.get_mut(&key) {
                service.listed = None;
                service.listed();
            }
            for (connection, clusters) in self.targets(&key, &push.to) {
                pushed.push((connection, key.clone(), self.query(&key, &clusters, false)));
            }
        }
        pushed
    }

    /// What is registered under `key`, whether listed already or not.
    pub(super) fn registered(
        &self,
        key: &ServiceKey,
    ) -> impl Iterator<Item = (&Publisher, &Instance)> {
        let service = self.services.get(key).into_iter();
        let publications = service.flat_map(|service| &service.publications);
        publications.flat_map(|(publisher, instances)| {
            instances.iter().map(move |instance| (publisher, instance))
        })
    }

    /// The addresses of what was listed last; none if nobody has asked yet.
    pub(super) fn listed(&self, key: &ServiceKey) -> Vec<String> {
        let service = self.services.get(key);
        let listed = service.and_then(|service| service.listed.as_ref());
        let enabled = listed.into_iter().flatten().filter(|i| i.enabled);
        enabled.map(Instance::address).collect()
    }

    pub(super) fn services(&self) -> impl Iterator<Item = &ServiceKey> {
        self.services.keys()
    }

    /// With the clusters that each wants.
    pub(super) fn subscribers(
        &self,
        key: &ServiceKey,
    ) -> impl Iterator<Item = (ConnectionId, &str)> {
        let subscribers = self.subscribers.get(key).into_iter().flatten();
        subscribers.map(|(connection, clusters)| (*connection, clusters.as_str()))
    }

    fn service(&mut self, key: &ServiceKey, ephemeral: bool, now: Instant) -> &mut Service {
        let entry = self.services.entry(key.clone());
        entry.or_insert_with(|| Service {
            ephemeral,
            publications: BTreeMap::new(),
            listed: None,
            changed: now,
        })
    }

    /// Pushes of one service that come together are one, at the time of the first.
    fn push(&mut self, key: &ServiceKey, to: Targets, now: Instant, delays: Delays) {
        let due = now + delays.push;
        let push = self.pushes.entry(key.clone());
        let push = push.or_insert_with(|| Push {
            due,
            to: Targets::Some(BTreeSet::new()),
        });
        match (&mut push.to, to) {
            (Targets::Some(all), Targets::Some(more)) => all.extend(more),
            (any, _) => *any = Targets::All,
        }
    }

    fn targets(&self, key: &ServiceKey, to: &Targets) -> Vec<(ConnectionId, String)> {
        let subscribers = self.subscribers.get(key).into_iter().flatten();
        let wanted = subscribers.filter(|(connection, _)| match to {
            Targets::All => true,
            Targets::Some(some) => some.contains(connection),
        });
        wanted.map(|(c, clusters)| (*c, clusters.clone())).collect()
    }
}

impl Service {
    /// The same instance of two publishers is one, if it is the same in everything.
    fn listed(&mut self) -> &[Instance] {
        self.listed.get_or_insert_with(|| {
            let mut all: Vec<Instance> = Vec::new();
            for instance in self.publications.values().flatten() {
                if !all.contains(instance) {
                    all.push(instance.clone());
                }
            }
            all
        })
    }

    fn end(&self, delays: Delays) -> Option<Instant> {
        let empty = self.ephemeral && self.publications.is_empty();
        empty.then(|| self.changed + delays.empty_service)
    }
}

fn other_kind(key: &ServiceKey, ephemeral: bool) -> Refusal {
    let (is, not) = if ephemeral {
        ("ephemeral", "persistent")
    } else {
        ("persistent", "ephemeral")
    };
    let grouped = key.grouped();
    let text = format!(
        "errCode: 400, errMsg: Current service {grouped} is {is} service, can't register {not} instance. "
    );
    Refusal::thrown(400, text)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn pushes_that_come_together_are_one_and_a_service_ends_late() {
        let (mut naming, delays) = (Naming::default(), Delays::default());
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let key = ServiceKey::new("", "G", "s");
        let (provider, early, late) = (ConnectionId(1), ConnectionId(2), ConnectionId(3));
        let publisher = Publisher::Connection(provider);
        let pushed = |naming: &mut Naming, millis| {
            let pushes = naming.advance(at(millis), delays);
            let pushes = pushes.into_iter();
            let lists = pushes.map(|(to, _, list)| (to, list.addresses().join(" ")));
            lists.collect::<Vec<_>>()
        };

        naming.subscribe(early, &key, "", at(0), delays);
        let instances = vec![Instance::at("h", 1)];
        naming
            .register(publisher.clone(), &key, instances, at(100), delays)
            .expect("nothing else is there");
        assert_eq!(naming.due(delays), Some(at(500)));
        assert_eq!(pushed(&mut naming, 499), []);
        assert_eq!(pushed(&mut naming, 500), [(early, "h:1".to_owned())]);

        naming.subscribe(late, &key, "", at(600), delays);
        naming.subscribe(early, &key, "c", at(700), delays);
        assert_eq!(pushed(&mut naming, 1100), [(late, "h:1".to_owned())]);
        assert_eq!(naming.due(delays), None);

        naming.disconnect(provider, at(2000), delays);
        let empty = |to| (to, String::new());
        assert_eq!(pushed(&mut naming, 2500), [empty(early), empty(late)]);
        assert_eq!(naming.due(delays), Some(at(62_000)));
        naming.advance(at(62_000), delays);
        assert_eq!(naming.services().count(), 0);
        assert_eq!(naming.due(delays), None);
    }

    #[test]
    fn the_same_address_is_listed_twice_if_anything_differs() {
        let (delays, now) = (Delays::default(), Instant::now());
        let key = ServiceKey::new("", "G", "s");
        let ours = Instance::at("h", 1);
        for (theirs, want) in [
            (ours.clone(), &["h:1"][..]),
            (ours.clone().with("k", "v"), &["h:1", "h:1"]),
        ] {
            let mut naming = Naming::default();
            for (connection, instance) in [(1, ours.clone()), (2, theirs)] {
                let publisher = Publisher::Connection(ConnectionId(connection));
                naming
                    .register(publisher, &key, vec![instance], now, delays)
                    .expect("nothing else is there");
            }
            assert_eq!(naming.query(&key, "", false).addresses(), want);
        }
    }
}
