//! The connections to one address: which of them takes the next call.

use std::{fmt, sync::Arc};

use dubbo_core::status::{Origin, Status};
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    task::{JoinSet, consume_budget},
    time::Instant,
};

use super::{
    drivers::Drivers,
    link::{Link, Opener},
};

/// The connections to one address, shared by all who refer to a service there.
///
/// Dropping it ends the attempts to connect; open connections end with their last call.
pub(crate) struct Endpoint<O: Opener> {
    shared: Arc<Shared<O>>,
    keepers: Mutex<JoinSet<()>>,
}

pub(super) struct Shared<O: Opener> {
    pub(super) opener: O,
    slots: Box<[Mutex<Slot<O::Link>>]>,
    changed: Notify,
    pub(super) drivers: Drivers,
}

/// The place of one connection.
pub(super) enum Slot<L> {
    /// No more connections.
    Closed,
    /// An attempt is under way.
    Connecting {
        was_up: bool,
        /// Why the attempt before this one failed, if it did.
        failed: Option<Arc<str>>,
    },
    /// There is one, unless it has been retired and its successor is about to be tried.
    Ready(Arc<L>),
    /// The last attempt failed, and the next one has to wait.
    Waiting { why: Arc<str>, until: Instant },
}

impl<O: Opener> Endpoint<O> {
    /// Starts to open `size` connections.
    pub(super) fn start(size: usize, opener: O, drivers: Drivers) -> Self {
        let connecting = || {
            Mutex::new(Slot::Connecting {
                was_up: false,
                failed: None,
            })
        };
        let shared = Arc::new(Shared {
            opener,
            slots: (0..size).map(|_| connecting()).collect(),
            changed: Notify::new(),
            drivers,
        });
        let mut keepers = JoinSet::new();
        for index in 0..size {
            keepers.spawn(Arc::clone(&shared).keep(index));
        }
        Self {
            shared,
            keepers: Mutex::new(keepers),
        }
    }

    /// Where they lead.
    pub(super) fn address(&self) -> &Arc<str> {
        self.shared.opener.address()
    }

    /// How many connections it keeps.
    pub(crate) fn size(&self) -> usize {
        self.shared.slots.len()
    }

    /// Whether a call has a chance: a connection is there, or one was and is being replaced.
    pub(crate) fn is_available(&self) -> bool {
        self.shared.slots.iter().any(|slot| match &*slot.lock() {
            Slot::Ready(link) => link.pause().is_none(),
            Slot::Connecting { was_up, .. } => *was_up,
            Slot::Closed | Slot::Waiting { .. } => false,
        })
    }

    /// Whether none of its connections has been there, and none has failed: the first attempts are under way.
    pub(crate) fn is_connecting(&self) -> bool {
        let is_first = |slot: &Mutex<Slot<O::Link>>| {
            matches!(
                &*slot.lock(),
                Slot::Connecting {
                    failed: None,
                    was_up: false,
                    ..
                }
            )
        };
        self.shared.slots.iter().all(is_first)
    }

    /// Why a call has no chance, unless it has one: how the last attempt to connect failed, as calls are told.
    pub(crate) fn why_unavailable(&self) -> Option<String> {
        if self.is_available() {
            return None;
        }
        let Shared { opener, slots, .. } = &*self.shared;
        let address = opener.address();
        let mut closed = false;
        for slot in slots {
            match &*slot.lock() {
                Slot::Waiting { why, .. }
                | Slot::Connecting {
                    failed: Some(why), ..
                } => return Some(format!("cannot connect to {address}: {why}")),
                Slot::Ready(link) => {
                    if let Some(why) = link.pause() {
                        return Some(format!("{address} takes no calls: {why}"));
                    }
                }
                Slot::Closed => closed = true,
                Slot::Connecting { .. } => {}
            }
        }
        Some(if closed {
            format!("the client of {address} has been closed")
        } else {
            format!("connecting to {address}: no answer yet")
        })
    }

    /// The connection with the fewest calls. Without one it waits for the attempt under way.
    ///
    /// # Errors
    ///
    /// Code 14, not processed: there is none and no attempt under way, or it failed. The text has no address yet.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing but the wait is lost.
    pub(crate) async fn connection(&self) -> Result<Arc<O::Link>, Status> {
        // A caller that tries again at once, and fails at once, would never let the attempt to connect run.
        consume_budget().await;
        loop {
            // Made before looking: it sees every change from now on.
            let changed = self.shared.changed.notified();
            match self.shared.pick() {
                Pick::Connection(connection) => return Ok(connection),
                Pick::None(status) => return Err(status),
                Pick::Wait => changed.await,
            }
        }
    }

    /// Connects no more and takes no more calls; those under way go on.
    pub(super) fn close(&self) {
        self.keepers.lock().abort_all();
        for slot in &self.shared.slots {
            *slot.lock() = Slot::Closed;
        }
        self.shared.changed.notify_waiters();
    }
}

impl<O: Opener> fmt::Debug for Endpoint<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("address", self.shared.opener.address())
            .finish_non_exhaustive()
    }
}

/// What there is for a call.
enum Pick<L> {
    Connection(Arc<L>),
    None(Status),
    Wait,
}

impl<O: Opener> Shared<O> {
    fn pick(&self) -> Pick<O::Link> {
        let mut best: Option<(usize, Arc<O::Link>)> = None;
        let mut wait = false;
        let mut paused = None;
        let mut failure: Option<(Arc<str>, Instant)> = None;
        for slot in &self.slots {
            match &*slot.lock() {
                Slot::Closed => {}
                Slot::Ready(connection) if connection.is_usable() => {
                    let calls = connection.in_flight();
                    if best.as_ref().is_none_or(|(fewest, _)| calls < *fewest) {
                        best = Some((calls, Arc::clone(connection)));
                    }
                }
                Slot::Ready(connection) => match connection.pause() {
                    Some(why) => paused = Some(why),
                    None => wait = true,
                },
                Slot::Connecting { .. } => wait = true,
                Slot::Waiting { why, until } => {
                    if failure.as_ref().is_none_or(|(_, sooner)| until < sooner) {
                        failure = Some((Arc::clone(why), *until));
                    }
                }
            }
        }
        match (best, failure, paused) {
            (Some((_, connection)), ..) => Pick::Connection(connection),
            (None, ..) if wait => Pick::Wait,
            (None, Some((why, until)), _) => {
                let next = until.saturating_duration_since(Instant::now());
                Pick::None(unreachable_now(format!(
                    "cannot connect: {why}; the next attempt is in {} ms",
                    next.as_millis()
                )))
            }
            (None, None, Some(why)) => {
                Pick::None(unreachable_now(format!("no calls are taken: {why}")))
            }
            (None, None, None) => {
                Pick::None(unreachable_now("the client has been closed".to_owned()))
            }
        }
    }

    pub(super) fn set(&self, index: usize, slot: Slot<O::Link>) {
        let mut place = self.slots[index].lock();
        // Once closed, it stays so, whatever an attempt under way came to.
        if !matches!(*place, Slot::Closed) {
            *place = slot;
        }
        drop(place);
        self.changed.notify_waiters();
    }
}

fn unreachable_now(text: String) -> Status {
    Status::unavailable(text)
        .with_origin(Origin::Transport)
        .not_processed()
}
