//! Application-level discovery on any backend.

use std::{fmt, mem, sync::Arc};

use async_trait::async_trait;
use dubbo_core::{
    discovery::{Instances as InstanceList, ServiceDiscovery, ServiceInstance},
    list::List,
    registry::RegistryError,
    subscription::Subscription,
    text_map::Common,
    url::{Url, UrlError},
};
use tokio::sync::watch;

use crate::{
    backend::{Backend, Entry, Place},
    errors, keys,
    layout::InstanceLayout,
    reconcile::{FollowedPlace, Handle, Merge, News, Reconciler, Seen},
};

/// A [`ServiceDiscovery`] that writes and reads `L` on `B`.
pub(crate) struct Instances<B: Backend, L> {
    url: Url,
    handle: Handle<B>,
    layout: Arc<L>,
    /// Whether the last instances stay when the registry lists none any more.
    keeps_last: bool,
}

impl<B: Backend, L: InstanceLayout<B::Value>> Instances<B, L> {
    /// The discovery of `url` on the client of `reconciler`.
    ///
    /// # Errors
    ///
    /// A parameter of `url` cannot be read.
    pub(crate) fn new(
        url: Url,
        reconciler: Arc<Reconciler<B>>,
        layout: L,
    ) -> Result<Self, UrlError> {
        let keeps_last = url.get(&keys::EMPTY_PROTECTION)?;
        Ok(Self {
            keeps_last,
            ..Self::plain(url, reconciler, layout)
        })
    }

    /// As [`new`](Self::new), without a look at the parameters of `url`.
    pub(crate) fn plain(url: Url, reconciler: Arc<Reconciler<B>>, layout: L) -> Self {
        Self {
            url,
            handle: Handle::new(reconciler),
            layout: Arc::new(layout),
            keeps_last: false,
        }
    }

    /// Where `instance` stands and how, for `operation` on it.
    fn write(
        &self,
        operation: &str,
        instance: &ServiceInstance,
    ) -> Result<(Place, Entry<B::Value>), RegistryError> {
        let operation = || name(operation, instance);
        self.handle.open(operation)?;
        let place = self.layout.place(&instance.application);
        let place = place.map_err(|error| errors::during(operation(), error))?;
        let entry = self.layout.write(instance);
        Ok((
            place,
            entry.map_err(|error| errors::during(operation(), error))?,
        ))
    }

    /// Where instances of `application` stand, for `operation` on them.
    fn place(&self, operation: &str, application: &str) -> Result<Place, RegistryError> {
        let operation = || format!("{operation} {application}");
        self.handle.open(operation)?;
        let place = self.layout.place(application);
        place.map_err(|error| errors::during(operation(), error))
    }
}

#[async_trait]
impl<B: Backend, L: InstanceLayout<B::Value>> ServiceDiscovery for Instances<B, L> {
    fn url(&self) -> &Url {
        &self.url
    }

    fn trouble(&self) -> Option<Arc<RegistryError>> {
        self.handle.trouble()
    }

    async fn register(&self, instance: &ServiceInstance) -> Result<(), RegistryError> {
        let (place, entry) = self.write("register", instance)?;
        let wish = self.handle.show(&place, entry);
        errors::fulfilled(&self.handle, || name("register", instance), wish).await
    }

    async fn update(
        &self,
        old: &ServiceInstance,
        new: &ServiceInstance,
    ) -> Result<(), RegistryError> {
        let (was_at, was) = self.write("update", old)?;
        let (place, entry) = self.write("update", new)?;
        let moved = (&was_at, &was.id) != (&place, &entry.id);
        let wish = self.handle.show(&place, entry);
        errors::fulfilled(&self.handle, || name("update", new), wish).await?;
        // The new one is there before the old one goes.
        if moved && let Some(gone) = self.handle.hide(&was_at, &was.id) {
            errors::gone(&self.handle, || name("update", old), gone).await?;
        }
        Ok(())
    }

    async fn unregister(&self, instance: &ServiceInstance) -> Result<(), RegistryError> {
        let (place, entry) = self.write("unregister", instance)?;
        match self.handle.hide(&place, &entry.id) {
            Some(gone) => errors::gone(&self.handle, || name("unregister", instance), gone).await,
            None => Ok(()),
        }
    }

    async fn snapshot(&self, application: &str) -> Result<InstanceList, RegistryError> {
        let place = self.place("read the instances of", application)?;
        let entries = self.handle.reconciler().read(&place).await;
        let entries = entries.map_err(|error| {
            errors::during(format!("read the instances of {application}"), error)
        })?;
        let instances = entries
            .iter()
            .filter_map(|e| self.layout.read(application, e).map(Arc::new));
        Ok(instances.collect())
    }

    async fn applications(&self) -> Result<Vec<String>, RegistryError> {
        let operation = || "list the applications".to_owned();
        self.handle.open(operation)?;
        let folder = self.layout.applications();
        let names = self.handle.reconciler().names(&folder).await;
        let names = names.map_err(|error| errors::during(operation(), error))?;
        let names = names.iter();
        let mut applications: Vec<_> = names
            .filter_map(|name| self.layout.application(name))
            .collect();
        applications.sort_unstable();
        Ok(applications)
    }

    async fn watch(&self, application: &str) -> Result<Subscription<InstanceList>, RegistryError> {
        let place = self.place("follow the instances of", application)?;
        let followed = self.handle.reconciler().follow(&place);
        let list = Followed {
            seen: followed.seen(),
            _share: followed,
            layout: Arc::clone(&self.layout),
            application: application.into(),
            entries: List::default(),
            instances: List::default(),
            common: Common::default(),
            address: self.handle.address().to_owned(),
            protected: self.keeps_last.then(List::default),
        };
        Ok(self.handle.view(list).await)
    }

    async fn close(&self) {
        self.handle.close().await;
    }
}

impl<B: Backend, L> fmt::Debug for Instances<B, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instances")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// The instances of one application, as they are followed.
struct Followed<V, L> {
    _share: FollowedPlace<V>,
    seen: watch::Receiver<Seen<List<Entry<V>>>>,
    layout: Arc<L>,
    application: Arc<str>,
    address: String,
    /// What stood there last, in the order of the ids.
    entries: List<Entry<V>>,
    /// Those of it that are instances.
    instances: InstanceList,
    common: Common,
    /// With empty protection, those that stay when there are none any more.
    protected: Option<InstanceList>,
}

impl<V: PartialEq, L: InstanceLayout<V>> Followed<V, L> {
    /// Reads what has changed.
    fn take(&mut self, entries: &List<Entry<V>>) {
        let old = mem::replace(&mut self.entries, entries.clone());
        // If not, nobody knows which instance an entry was.
        let are_all = self.instances.len() == old.len();
        if let Some(positions) = entries.differing(&old).filter(|_| are_all) {
            let others = positions.into_iter().filter(|at| entries[*at] != old[*at]);
            let others: Option<Vec<_>> = others
                .map(|at| Some((at, self.read(&entries[at])?)))
                .collect();
            if let Some(others) = others {
                self.instances = self.instances.with(others);
                return;
            }
        }
        let before = mem::take(&mut self.instances);
        let before = if are_all { before } else { List::default() };
        let mut before = old.iter().zip(&before).peekable();
        let mut instances = Vec::with_capacity(entries.len());
        for entry in entries {
            while before.next_if(|(old, _)| old.id < entry.id).is_some() {}
            let instance = match before.next_if(|(old, _)| *old == entry) {
                Some((_, instance)) => Some(Arc::clone(instance)),
                None => self.read(entry),
            };
            instances.extend(instance);
        }
        self.instances = instances.into();
    }

    fn read(&mut self, entry: &Entry<V>) -> Option<Arc<ServiceInstance>> {
        let mut instance = self.layout.read(&self.application, entry)?;
        instance.application = Arc::clone(&self.application);
        instance.metadata = self.common.share(&instance.metadata, is_own);
        Some(Arc::new(instance))
    }
}

/// Whether instances that are alike differ in the value of `key`.
fn is_own(key: &str) -> bool {
    ["id", "timestamp"].contains(&key)
}

#[async_trait]
impl<V, L> Merge for Followed<V, L>
where
    V: Clone + PartialEq + fmt::Debug + Send + Sync + 'static,
    L: InstanceLayout<V>,
{
    type State = InstanceList;

    fn now(&mut self) -> Option<News<Self::State>> {
        let seen = self.seen.borrow_and_update();
        if let Some(error) = &seen.error {
            return Some(Err(Arc::clone(error)));
        }
        let entries = seen.last.clone()?;
        drop(seen);
        self.take(&entries);
        let mut instances = self.instances.clone();
        if let Some(last) = &mut self.protected {
            if instances.is_empty() && !last.is_empty() {
                tracing::warn!(
                    application = &*self.application,
                    instances = last.len(),
                    "the registry lists no instance any more; the last ones stay because of enable-empty-protection"
                );
                instances = mem::take(last);
            }
            last.clone_from(&instances);
        }
        Some(Ok(instances))
    }

    fn unheard(&self) -> RegistryError {
        let operation = format!("follow the instances of {}", self.application);
        RegistryError::new(operation, &self.address, "no answer yet")
    }

    async fn changed(&mut self) -> bool {
        self.seen.changed().await.is_ok()
    }
}

fn name(operation: &str, instance: &ServiceInstance) -> String {
    format!("{operation} {} of {}", instance.id(), instance.application)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        memory::{MemoryClient, MemoryRegistry, Store},
        plain::{self, Plain},
    };

    #[tokio::test(start_paused = true)]
    async fn what_is_followed_is_what_is_read_whatever_changed_before() {
        for seed in 0..20 {
            let mut random = fastrand::Rng::with_seed(seed);
            let (url, store) = (Url::new("memory", "local"), Arc::<Store>::default());
            let place = InstanceLayout::place(&Plain::of(&url), "app").expect("a place");
            let discovery = MemoryRegistry::on(url, Arc::clone(&store)).discovery();
            // Several programs, of which two may show the same instance.
            let mut programs: [_; 3] = std::array::from_fn(|_| Program {
                client: MemoryClient::new(discovery.url(), Arc::clone(&store)),
                shows: Vec::new(),
            });
            for which in (0..3).cycle().take(120) {
                programs[which].change(&place, &mut random).await;
            }
            let mut followed = discovery.watch("app").await.expect("followed");
            for round in 0..60 {
                let which = random.usize(..3);
                programs[which].change(&place, &mut random).await;
                if random.bool() {
                    tokio::time::sleep(Duration::from_mins(2)).await;
                    let followed = followed.current().state.expect("known");
                    let read = discovery.snapshot("app").await.expect("read");
                    assert_eq!(followed, read, "seed {seed}, round {round}");
                }
            }
        }
    }

    struct Program {
        client: MemoryClient,
        shows: Vec<Url>,
    }

    impl Program {
        /// Changes what it shows, which is at times no instance.
        async fn change(&mut self, place: &Place, random: &mut fastrand::Rng) {
            let shows = &mut self.shows;
            let is_sound = |url: &Url| url.port().is_some() && url.param("weight") != Some("junk");
            if random.u8(..3) == 0 {
                shows.retain(is_sound);
            }
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..shows.len().max(1));
                let weight = ["junk", "100", "200"][random.usize(..20).min(2)];
                match random.u8(..30) {
                    0 if !shows.is_empty() => drop(shows.remove(at)),
                    1..20 if !shows.is_empty() => {
                        shows[at] = shows[at].with_param("weight", weight);
                    }
                    20..25 if !shows.is_empty() => {
                        let timestamp = random.u8(..3).to_string();
                        shows[at] = shows[at].with_param("metadata.timestamp", timestamp);
                    }
                    25 => shows.push(Url::new("else", format!("h{}", random.u8(..3)))),
                    _ => {
                        let url = Url::new("instance", format!("10.0.0.{}", random.u8(..80)));
                        shows.push(url.with_port(1).with_param("metadata.rack", "r1"));
                    }
                }
            }
            let entries: Vec<_> = shows.iter().cloned().map(plain::entry).collect();
            self.client.show(place, &entries).await.expect("open");
        }
    }
}
