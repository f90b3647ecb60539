//! Opening and closing the two paths of a reference.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use dubbo_core::{cluster::Directory, registry::RegistryError};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{Meter, Path, evidence::Evidence, machine::Machine, path::Both};

/// Makes the directories of one reference, each when it is needed.
#[async_trait]
pub trait Roads: Send + Sync + 'static {
    /// Follows the providers by `path`; their invokers go through `meter`. It is made anew after it was closed.
    ///
    /// # Errors
    ///
    /// They cannot be followed, whatever the registry answers.
    async fn open(&self, path: Path, meter: Meter) -> Result<Road, RegistryError>;

    /// The applications that provide the service, as far as the consumer knows them by its mapping.
    fn applications(&self) -> Vec<String>;
}

/// A path that is followed.
pub struct Road {
    /// Who is there.
    pub directory: Arc<dyn Directory>,
    /// Changes with each list; `None` until the registry has answered
    /// ([`DynamicDirectory::lists`](crate::directory::DynamicDirectory::lists)).
    pub lists: watch::Receiver<Option<u64>>,
}

impl Road {
    pub(super) fn evidence(&self) -> Evidence {
        Evidence::of(&self.directory.nodes(), self.lists.borrow().is_some())
    }
}

impl fmt::Debug for Road {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Road")
            .field("lists", &*self.lists.borrow())
            .finish_non_exhaustive()
    }
}

/// Both paths, each as far as it is open, and what is going on with them.
pub(super) struct OpenRoads {
    roads: Arc<dyn Roads>,
    meters: Both<Meter>,
    slots: Both<Slot>,
    opening: JoinSet<(Path, Result<Road, RegistryError>)>,
    closing: JoinSet<()>,
    drain: Duration,
}

enum Slot {
    /// Not wanted, or not to be had for a while.
    Closed {
        retry: Option<Instant>,
    },
    Opening,
    Open(Road),
    /// No new call goes there; at the end of the time it is closed.
    Draining(Road, Instant),
}

impl OpenRoads {
    pub(super) fn new(roads: Arc<dyn Roads>, meters: Both<Meter>, drain: Duration) -> Self {
        Self {
            roads,
            meters,
            slots: Both::of(|_| Slot::Closed { retry: None }),
            opening: JoinSet::new(),
            closing: JoinSet::new(),
            drain,
        }
    }

    /// The road that calls may take.
    pub(super) fn open(&self, path: Path) -> Option<&Road> {
        match self.slots.get(path) {
            Slot::Open(road) => Some(road),
            Slot::Closed { .. } | Slot::Opening | Slot::Draining(..) => None,
        }
    }

    /// Begins to open what `machine` needs, and to drain what it does not need any more. Whether one that was being
    /// drained is open again.
    pub(super) fn adjust(&mut self, machine: &Machine, now: Instant) -> bool {
        let mut taken_up = false;
        for path in Path::BOTH {
            let slot = self.slots.get_mut(path);
            let before = std::mem::replace(slot, Slot::Opening);
            *slot = match (machine.needs(path), before) {
                (true, Slot::Closed { retry }) if retry.is_none_or(|retry| retry <= now) => {
                    let (roads, meter) = (Arc::clone(&self.roads), self.meters.get(path).clone());
                    self.opening
                        .spawn(async move { (path, roads.open(path, meter).await) });
                    Slot::Opening
                }
                (true, Slot::Draining(road, _)) => {
                    taken_up = true;
                    Slot::Open(road)
                }
                (false, Slot::Open(road)) => Slot::Draining(road, now + self.drain),
                (false, Slot::Closed { .. }) => Slot::Closed { retry: None },
                (false, Slot::Draining(road, until)) if until <= now => {
                    self.closing
                        .spawn(async move { road.directory.close().await });
                    Slot::Closed { retry: None }
                }
                (_, before) => before,
            };
        }
        taken_up
    }

    /// Waits until all that is being opened is there.
    ///
    /// # Errors
    ///
    /// Something cannot be opened; nothing is left open then.
    pub(super) async fn opened(&mut self) -> Result<(), RegistryError> {
        while let Some(opened) = self.opening.join_next().await {
            let Ok((path, opened)) = opened else { continue };
            match opened {
                Ok(road) => *self.slots.get_mut(path) = Slot::Open(road),
                Err(error) => {
                    self.close().await;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Waits until something changes: a list, or what is open.
    ///
    /// # Cancel safety
    ///
    /// Safe: what has changed is noted before it returns.
    pub(super) async fn changed(&mut self) {
        let Both {
            application,
            interface,
        } = &mut self.slots;
        tokio::select! {
            Some(Ok((path, opened))) = self.opening.join_next() => self.take(path, opened),
            () = application.changed() => {}
            () = interface.changed() => {}
            Some(_) = self.closing.join_next() => {}
            else => std::future::pending().await,
        }
    }

    /// When something is to be done, although nothing may change.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let moments = [&self.slots.application, &self.slots.interface];
        let moments = moments.into_iter().filter_map(|slot| match slot {
            Slot::Closed { retry } => *retry,
            Slot::Draining(_, until) => Some(*until),
            Slot::Opening | Slot::Open(_) => None,
        });
        moments.min()
    }

    /// Closes all.
    pub(super) async fn close(&mut self) {
        self.opening.abort_all();
        while let Some(opened) = self.opening.join_next().await {
            // What was quicker than its end is open.
            if let Ok((_, Ok(road))) = opened {
                self.closing
                    .spawn(async move { road.directory.close().await });
            }
        }
        for path in Path::BOTH {
            let slot = self.slots.get_mut(path);
            let closed = Slot::Closed { retry: None };
            if let Slot::Open(road) | Slot::Draining(road, _) = std::mem::replace(slot, closed) {
                self.closing
                    .spawn(async move { road.directory.close().await });
            }
        }
        while self.closing.join_next().await.is_some() {}
    }

    fn take(&mut self, path: Path, opened: Result<Road, RegistryError>) {
        *self.slots.get_mut(path) = match opened {
            Ok(road) => Slot::Open(road),
            Err(error) => {
                tracing::warn!(%path, %error, "a path of a migration cannot be followed; it is tried again");
                Slot::Closed {
                    retry: Some(Instant::now() + RETRY_AFTER),
                }
            }
        };
    }
}

impl Slot {
    /// Waits for a new list of a road that is open.
    async fn changed(&mut self) {
        if let Self::Open(road) | Self::Draining(road, _) = self
            && road.lists.changed().await.is_ok()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}

/// Waits until `moment`; for ever without one.
pub(super) async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

const RETRY_AFTER: Duration = Duration::from_secs(5);
