//! Where the services of an instance stand in registries, and taking them out and putting them back while it runs
//! (`docs/spec/config.md` §4.4). Nothing is stopped: whoever calls is served.

mod selection;

use std::{collections::BTreeSet, sync::Arc};

use dubbo_cluster::migration::Path;
use dubbo_core::{registry::RegistryError, service::ServiceKey, url::Url};
use parking_lot::Mutex;
use tokio::sync::oneshot;

pub use self::selection::{BadPattern, Selection};
use super::{Inner, Instance, rules::Exported};
use crate::error::Error;

/// One service in one registry, in one of the ways in which it stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Presence {
    /// The service.
    pub service: ServiceKey,
    /// Where it is served, as consumers are told: `tri://10.0.0.1:50051`.
    pub provider: String,
    /// What the configuration calls the registry.
    pub registry: String,
    /// Whether it stands there by its interface or with the application.
    pub path: Path,
    /// Whether it is there now: it is not when it was taken [offline](Instance::offline).
    pub online: bool,
}

impl Instance {
    /// Takes what is `selected` out of the registries, so that consumers find other providers. It is still served: calls
    /// in flight end, and those of consumers that hear of it late are answered. The services that are concerned come back,
    /// none if nothing fits.
    ///
    /// # Errors
    ///
    /// A registry says that it could not; the first one that does. The others have been told all the same.
    ///
    /// # Cancel safety
    ///
    /// It goes on when the future is dropped.
    pub async fn offline(&self, selected: &Selection) -> Result<Vec<Presence>, Error> {
        self.move_selected(selected, false).await
    }

    /// Puts what is `selected` into the registries again.
    ///
    /// # Errors
    ///
    /// As [`offline`](Self::offline); what a registry refuses stays offline there. After the instance has begun to end
    /// nothing can be registered.
    ///
    /// # Cancel safety
    ///
    /// It goes on when the future is dropped.
    pub async fn online(&self, selected: &Selection) -> Result<Vec<Presence>, Error> {
        self.move_selected(selected, true).await
    }

    async fn move_selected(
        &self,
        selected: &Selection,
        online: bool,
    ) -> Result<Vec<Presence>, Error> {
        let (done, outcome) = oneshot::channel();
        let (inner, selected) = (Arc::clone(&self.0), selected.clone());
        // Half of it would leave a registry that says one thing and an instance that says another.
        // detached: it ends with the answers of the registries, for which they have their time.
        tokio::spawn(async move {
            let _ = done.send(inner.move_selected(&selected, online).await);
        });
        outcome.await.unwrap_or(Err(Error::State(
            "taking services out of registries or putting them back has failed: the log has more",
        )))
    }
}

/// Where the services of an instance stand.
#[derive(Default)]
pub(super) struct Places {
    all: Mutex<Vec<Place>>,
    /// Who changes them, one at a time.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct Place {
    exported: Arc<Exported>,
    /// The position of the registry.
    registry: usize,
    path: Path,
    online: bool,
}

impl Places {
    /// Notes that a service stands in a registry.
    pub(super) fn add(&self, exported: &Arc<Exported>, registry: usize, path: Path) {
        self.all.lock().push(Place {
            exported: Arc::clone(exported),
            registry,
            path,
            online: true,
        });
    }

    /// Nobody else changes what registries are told while this is held.
    pub(super) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Whether the service that consumers are told to be at `url` was taken out of that registry.
    pub(super) fn is_offline(&self, url: &Url, registry: usize, path: Path) -> bool {
        let all = self.all.lock();
        all.iter().any(|place| {
            !place.online
                && place.registry == registry
                && place.path == path
                && place.exported.published() == *url
        })
    }

    /// Where a service stands: the positions of registries, in which way, and whether it is there now.
    pub(super) fn of(&self, exported: &Arc<Exported>) -> Vec<(usize, Path, bool)> {
        let places = self.matching(|place| Arc::ptr_eq(&place.exported, exported));
        let places = places.iter();
        places
            .map(|place| (place.registry, place.path, place.online))
            .collect()
    }

    /// Whether anything was registered, now or before.
    pub(super) fn is_empty(&self) -> bool {
        self.all.lock().is_empty()
    }

    /// Notes that the instance has left all registries.
    pub(super) fn leave(&self) {
        for place in &mut *self.all.lock() {
            place.online = false;
        }
    }

    /// Why consumers do not find the instance: all that it has in registries was taken out.
    pub(super) fn why_absent(&self) -> Option<String> {
        let all = self.all.lock();
        let is_absent = !all.is_empty() && all.iter().all(|place| !place.online);
        is_absent.then(|| "every service was taken out of the registries: it is offline".to_owned())
    }

    fn matching(&self, mut fits: impl FnMut(&Place) -> bool) -> Vec<Place> {
        let all = self.all.lock();
        all.iter().filter(|place| fits(place)).cloned().collect()
    }

    /// Notes what was done with `place`.
    fn set(&self, place: &Place, online: bool) {
        for one in &mut *self.all.lock() {
            if one.is(place) {
                one.online = online;
            }
        }
    }
}

impl Place {
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.exported, &other.exported)
            && self.registry == other.registry
            && self.path == other.path
    }
}

impl Inner {
    /// Where the services stand that are `selected`.
    pub(super) fn presence_of(&self, selected: &Selection) -> Vec<Presence> {
        let places = self
            .presence
            .matching(|place| self.selects(selected, place));
        places.iter().map(|place| self.present(place)).collect()
    }

    fn selects(&self, selected: &Selection, place: &Place) -> bool {
        let registry = &self.registries.get(place.registry).id;
        let service = place.exported.published().service_key();
        selected.fits(&service, registry, place.path)
    }

    fn present(&self, place: &Place) -> Presence {
        let url = place.exported.published();
        Presence {
            service: ServiceKey::clone(&url.service_key()),
            provider: url.origin(),
            registry: self.registries.get(place.registry).id.clone(),
            path: place.path,
            online: place.online,
        }
    }

    async fn move_selected(
        &self,
        selected: &Selection,
        online: bool,
    ) -> Result<Vec<Presence>, Error> {
        let _turn = self.presence.turn().await;
        if online && self.is_ending() {
            return Err(Error::State(
                "services cannot be put into registries any more: the instance is shut down",
            ));
        }
        let selects = |place: &Place| self.selects(selected, place);
        let moving = self
            .presence
            .matching(|place| selects(place) && place.online != online);
        let (by_application, by_interface): (Vec<_>, Vec<_>) = moving
            .into_iter()
            .partition(|place| place.path == Path::Application);
        let mut first_error = None;
        for place in by_interface {
            let moved = self.move_interface(&place, online).await;
            note(&mut first_error, moved);
        }
        let registries: BTreeSet<_> = by_application.iter().map(|place| place.registry).collect();
        for place in by_application {
            let moved = self.move_in_application(&place, online);
            note(&mut first_error, moved);
        }
        for registry in registries {
            let told = self.tell_application(registry).await;
            note(&mut first_error, told);
        }
        let all = self.presence_of(selected);
        let services: BTreeSet<_> = all.iter().map(|one| one.service.to_string()).collect();
        tracing::info!(online, ?services, "an operator has moved services");
        match first_error {
            Some(error) => Err(error),
            None => Ok(all),
        }
    }

    /// Registers or unregisters a service by itself.
    async fn move_interface(&self, place: &Place, online: bool) -> Result<(), Error> {
        let url = place.exported.published();
        let registry = self.registries.get(place.registry);
        if online {
            self.register(place.registry, registry, &url).await?;
            self.shows(place, true);
            return Ok(());
        }
        // Noted first: one that a registry does not answer for may be gone there.
        self.shows(place, false);
        let is_it = |one: &(usize, Url)| one.0 == place.registry && one.1 == url;
        self.running.lock().registered.retain(|one| !is_it(one));
        Ok(registry.unregister(&url).await?)
    }

    /// Adds a service to what the application says of itself in a registry, or takes it out of that. The registry is told
    /// [next](Self::tell_application).
    fn move_in_application(&self, place: &Place, online: bool) -> Result<(), Error> {
        let url = place.exported.published();
        let Some(provider) = self.registries.get(place.registry).provider() else {
            return Ok(());
        };
        if online {
            provider.export(&url)?;
        } else {
            provider.unexport(&url);
        }
        self.shows(place, online);
        Ok(())
    }

    /// Has a registry know the application as it is now: not at all, when none of its services is to be found there.
    async fn tell_application(&self, index: usize) -> Result<(), Error> {
        let registry = self.registries.get(index);
        let is_there = !self
            .presence
            .matching(|place| {
                place.registry == index && place.path == Path::Application && place.online
            })
            .is_empty();
        let was_told = self.running.lock().applications.contains(&index);
        let told: Result<(), RegistryError> = match (is_there, was_told) {
            (true, false) => return self.register_application(index).await,
            (true, true) => registry.register_application().await,
            (false, _) => {
                self.running.lock().applications.retain(|one| *one != index);
                registry.unregister_application().await
            }
        };
        Ok(told?)
    }

    /// Notes that a place is filled or empty, for those who ask this instance what it has told of.
    fn shows(&self, place: &Place, online: bool) {
        let elsewhere = |other: &Place| {
            other.online && Arc::ptr_eq(&other.exported, &place.exported) && !other.is(place)
        };
        if self.presence.matching(elsewhere).is_empty() {
            let url = place.exported.published();
            if online {
                self.told.exports(url);
            } else {
                self.told.retracts(&url);
            }
        }
        self.presence.set(place, online);
    }
}

fn note(first: &mut Option<Error>, result: Result<(), Error>) {
    if let Err(error) = result {
        tracing::warn!(%error, "a registry was not told");
        first.get_or_insert(error);
    }
}
