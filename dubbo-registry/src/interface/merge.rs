//! All places where what a consumer asks for stands, as one state.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
};

use async_trait::async_trait;
use dubbo_core::{
    explain::Step,
    list::List,
    registry::{RegistryError, RegistrySnapshot},
    url::Url,
};
use futures_util::future::{BoxFuture, select_all, try_join_all};
use tokio::sync::watch;

use super::snapshot::snapshot;
use crate::{
    backend::{Backend, Entry, Place},
    layout::InterfaceLayout,
    matching::Category,
    reconcile::{FollowedFolder, FollowedPlace, Merge, News, Reconciler, Seen},
};

/// What one consumer follows.
pub(super) struct Listing<B: Backend, L> {
    reconciler: Arc<Reconciler<B>>,
    layout: Arc<L>,
    consumer: Url,
    folder: Option<Folder>,
    /// Those that do not depend on a folder are there from the beginning.
    shelves: BTreeMap<(Place, Category), Shelf<B::Value>>,
    /// With empty protection, what stays.
    protected: Option<Protected>,
}

/// The providers that stay when there are none any more.
#[derive(Default)]
struct Protected {
    last: List<Url>,
    /// Whether a warning was given that they stay.
    warned: bool,
}

/// One place that is followed.
struct Shelf<V> {
    _followed: FollowedPlace<V>,
    seen: watch::Receiver<Seen<List<Entry<V>>>>,
    /// Whether `seen` has changed since it was read.
    stale: bool,
    /// Whether a name in a folder led here.
    named: bool,
    /// What stood there when it was read last; `None` if it never was.
    urls: Option<Vec<Url>>,
    error: Option<Arc<RegistryError>>,
}

/// The folder whose names lead to places.
struct Folder {
    _followed: FollowedFolder,
    seen: watch::Receiver<Seen<Arc<[Arc<str>]>>>,
    stale: bool,
    /// Whether it was ever read.
    known: bool,
    error: Option<Arc<RegistryError>>,
}

impl<B: Backend, L: InterfaceLayout<B::Value>> Listing<B, L> {
    pub(super) fn new(
        reconciler: Arc<Reconciler<B>>,
        layout: Arc<L>,
        consumer: Url,
        keeps_last: bool,
    ) -> Self {
        let folder = layout.folder(&consumer).map(|folder| {
            let followed = reconciler.follow_names(&folder);
            Folder {
                seen: followed.seen(),
                _followed: followed,
                stale: true,
                known: false,
                error: None,
            }
        });
        let mut listing = Self {
            folder,
            shelves: BTreeMap::new(),
            protected: keeps_last.then(Protected::default),
            reconciler,
            layout,
            consumer,
        };
        let places = listing.layout.places(&listing.consumer);
        let places: Vec<_> = wanted(places, &listing.consumer).collect();
        for (place, category) in places {
            listing.put_up(place, category, false);
        }
        listing
    }

    fn put_up(&mut self, place: Place, category: Category, named: bool) {
        let followed = self.reconciler.follow(&place);
        let new = Shelf {
            seen: followed.seen(),
            _followed: followed,
            stale: true,
            named,
            urls: None,
            error: None,
        };
        self.shelves.insert((place, category), new);
    }

    /// Takes in what has changed.
    fn refresh(&mut self) {
        if let Some(folder) = self.folder.as_mut().filter(|folder| folder.stale) {
            folder.stale = false;
            let seen = folder.seen.borrow_and_update().clone();
            folder.error = seen.error;
            if let Some(names) = seen.last {
                folder.known = true;
                self.follow_names(&names);
            }
        }
        for ((place, _), shelf) in &mut self.shelves {
            // Those that changed at the same time need no round of their own.
            if mem::take(&mut shelf.stale) || shelf.seen.has_changed().unwrap_or(false) {
                let seen = shelf.seen.borrow_and_update();
                if let Some(entries) = &seen.last {
                    let read = entries.iter().filter_map(|e| self.layout.read(place, e));
                    shelf.urls = Some(read.collect());
                }
                shelf.error.clone_from(&seen.error);
            }
        }
    }

    /// Follows what is behind `names`, and no longer what was behind others.
    fn follow_names(&mut self, names: &[Arc<str>]) {
        let places: BTreeSet<_> = names
            .iter()
            .flat_map(|name| wanted(self.layout.named(name, &self.consumer), &self.consumer))
            .collect();
        self.shelves
            .retain(|key, shelf| !shelf.named || places.contains(key));
        for (place, category) in places {
            let key = (place, category);
            if !self.shelves.contains_key(&key) {
                self.put_up(key.0, key.1, true);
            }
        }
    }

    /// Why nobody knows what to show. What is behind one of many names may be unknown without harm to the others.
    fn failure(&self) -> Option<&Arc<RegistryError>> {
        let folder = self.folder.as_ref();
        let unknown = folder
            .filter(|folder| !folder.known)
            .and_then(|folder| folder.error.as_ref());
        let unread = self
            .shelves
            .values()
            .filter(|shelf| !shelf.named && shelf.urls.is_none())
            .find_map(|shelf| shelf.error.as_ref());
        unknown.or(unread).or_else(|| {
            // Lists that cannot be read now stay as they were, unless that is all there is to say.
            let counts = |category: &Category| {
                !Category::Providers.is_wanted_by(&self.consumer)
                    || *category == Category::Providers
            };
            let mut shelves = self
                .shelves
                .iter()
                .filter(|((_, c), _)| counts(c))
                .peekable();
            if shelves.peek().is_none() {
                return folder.and_then(|folder| folder.error.as_ref());
            }
            let errors = shelves.map(|(_, shelf)| shelf.error.as_ref());
            errors.reduce(|first, next| next.and(first)).flatten()
        })
    }

    /// What the registry said, and what it did not.
    fn seen(&self) -> Step {
        let address = self.reconciler.backend().address();
        let folder = self
            .folder
            .iter()
            .filter_map(|folder| folder.error.as_ref());
        let shelves = self
            .shelves
            .values()
            .filter_map(|shelf| shelf.error.as_ref());
        let errors: Vec<_> = folder.chain(shelves).collect();
        let evidence = match errors.split_first() {
            None => format!("{address} answers"),
            Some((first, [])) => {
                format!("{address} answers, but for one list, which stays as it was: {first}")
            }
            Some((first, more)) => format!(
                "{address} answers, but for {} lists, which stay as they were: {first}",
                more.len() + 1
            ),
        };
        Step::new("registry", evidence)
    }

    /// Lets the last providers stay if that was asked for.
    fn protect(&mut self, snapshot: &mut RegistrySnapshot) {
        let seen = self.seen();
        let Some(protected) = &mut self.protected else {
            return;
        };
        if !snapshot.providers.is_empty() || protected.last.is_empty() {
            *protected = Protected {
                last: snapshot.providers.clone(),
                warned: false,
            };
            return;
        }
        let last = &protected.last;
        if !mem::replace(&mut protected.warned, true) {
            tracing::warn!(
                service = %self.consumer.service_key(),
                providers = last.len(),
                "the registry lists no provider any more; the last ones stay because of enable-empty-protection"
            );
        }
        let evidence = format!(
            "the registry lists none any more; the last {} stay",
            last.len()
        );
        let step = Step::leaving("enable-empty-protection", evidence, last.len());
        snapshot.steps = [seen, step].into();
        snapshot.providers = last.clone();
    }
}

#[async_trait]
impl<B: Backend, L: InterfaceLayout<B::Value>> Merge for Listing<B, L> {
    type State = RegistrySnapshot;

    fn now(&mut self) -> Option<News<RegistrySnapshot>> {
        self.refresh();
        let is_heard = |known: bool, error: &Option<_>| known || error.is_some();
        let folder = self.folder.as_ref();
        let all_heard = folder.is_none_or(|folder| is_heard(folder.known, &folder.error))
            && self
                .shelves
                .values()
                .all(|shelf| is_heard(shelf.urls.is_some(), &shelf.error));
        if !all_heard {
            return None;
        }
        if let Some(error) = self.failure() {
            return Some(Err(Arc::clone(error)));
        }
        let standing = self.shelves.iter().flat_map(|((_, category), shelf)| {
            let urls = shelf.urls.iter().flatten();
            urls.map(|url| (*category, url))
        });
        let mut snapshot = snapshot(&self.consumer, standing, self.seen());
        self.protect(&mut snapshot);
        Some(Ok(snapshot))
    }

    fn unheard(&self) -> RegistryError {
        let operation = format!("subscribe to {:?}", self.consumer);
        let address = self.reconciler.backend().address();
        RegistryError::new(operation, address, "no answer yet")
    }

    async fn changed(&mut self) -> bool {
        let mut news: Vec<BoxFuture<'_, bool>> = Vec::with_capacity(1 + self.shelves.len());
        if let Some(Folder { seen, stale, .. }) = &mut self.folder {
            news.push(Box::pin(changed(seen, stale)));
        }
        for Shelf { seen, stale, .. } in self.shelves.values_mut() {
            news.push(Box::pin(changed(seen, stale)));
        }
        if news.is_empty() {
            return std::future::pending().await;
        }
        select_all(news).await.0
    }
}

/// Waits for news, and notes that there are some; `false` once there will not be any.
async fn changed<T>(seen: &mut watch::Receiver<T>, stale: &mut bool) -> bool {
    let goes_on = seen.changed().await.is_ok();
    *stale = true;
    goes_on
}

/// Those of `places` that a consumer is shown something of.
fn wanted(
    places: Vec<(Place, Category)>,
    consumer: &Url,
) -> impl Iterator<Item = (Place, Category)> {
    let is_wanted =
        |category: Category| category != Category::Consumers && category.is_wanted_by(consumer);
    places
        .into_iter()
        .filter(move |(_, category)| is_wanted(*category))
}

/// Reads once what `consumer` asks for.
pub(super) async fn read_once<B: Backend, L: InterfaceLayout<B::Value>>(
    reconciler: &Reconciler<B>,
    layout: &L,
    consumer: &Url,
) -> Result<RegistrySnapshot, RegistryError> {
    let mut places: Vec<_> = wanted(layout.places(consumer), consumer).collect();
    if let Some(folder) = layout.folder(consumer) {
        for name in reconciler.names(&folder).await? {
            places.extend(wanted(layout.named(&name, consumer), consumer));
        }
    }
    let readings = places.iter().map(|(place, category)| async move {
        let entries = reconciler.read(place).await?;
        let urls = entries.iter().filter_map(|e| layout.read(place, e));
        Ok((*category, urls.collect::<Vec<_>>()))
    });
    let standing = try_join_all(readings).await?;
    let standing = standing
        .iter()
        .flat_map(|(category, urls)| urls.iter().map(|url| (*category, url)));
    let seen = Step::new(
        "registry",
        format!("{} answers", reconciler.backend().address()),
    );
    Ok(snapshot(consumer, standing, seen))
}
