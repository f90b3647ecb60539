//! The connections to one address: kept up in the background while anybody refers to it.

use std::{fmt, sync::Arc, time::Duration};

use dubbo_core::{
    backoff::{Backoff, BackoffPolicy},
    status::{Origin, Status},
};
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    task::{JoinSet, consume_budget},
    time::{Instant, sleep},
};

use super::{
    connect::Connector, connection::Connection, drivers::Drivers, options::ConnectOptions,
};

/// The connections to one address, shared by all who refer to a service there.
///
/// Dropping it ends the attempts to connect; open connections end with their last call.
pub(super) struct Endpoint {
    shared: Arc<Shared>,
    keepers: Mutex<JoinSet<()>>,
}

struct Shared {
    address: Arc<str>,
    options: ConnectOptions,
    connector: Arc<dyn Connector>,
    slots: Box<[Mutex<Slot>]>,
    changed: Notify,
    drivers: Drivers,
}

/// The place of one connection.
enum Slot {
    /// No more connections.
    Closed,
    /// An attempt is under way.
    Connecting {
        was_up: bool,
        /// Why the attempt before this one failed, if it did.
        failed: Option<Arc<str>>,
    },
    /// There is one, unless it has been retired and its successor is about to be tried.
    Ready(Arc<Connection>),
    /// The last attempt failed, and the next one has to wait.
    Waiting { why: Arc<str>, until: Instant },
}

impl Endpoint {
    /// Starts to connect to `address`.
    pub(super) fn start(
        address: Arc<str>,
        options: ConnectOptions,
        connector: Arc<dyn Connector>,
        drivers: Drivers,
    ) -> Self {
        let connecting = || {
            Mutex::new(Slot::Connecting {
                was_up: false,
                failed: None,
            })
        };
        let shared = Arc::new(Shared {
            address,
            options,
            connector,
            slots: (0..options.connections).map(|_| connecting()).collect(),
            changed: Notify::new(),
            drivers,
        });
        let mut keepers = JoinSet::new();
        for index in 0..options.connections {
            keepers.spawn(Arc::clone(&shared).keep(index));
        }
        Self {
            shared,
            keepers: Mutex::new(keepers),
        }
    }

    /// How many connections it keeps.
    pub(super) fn size(&self) -> usize {
        self.shared.slots.len()
    }

    /// Whether a call has a chance: a connection is there, or one was and is being replaced.
    pub(super) fn is_available(&self) -> bool {
        self.shared.slots.iter().any(|slot| {
            matches!(
                &*slot.lock(),
                Slot::Ready(_) | Slot::Connecting { was_up: true, .. }
            )
        })
    }

    /// Why a call has no chance, unless it has one: how the last attempt to connect failed, as calls are told.
    pub(super) fn why_unavailable(&self) -> Option<String> {
        if self.is_available() {
            return None;
        }
        let Shared { address, slots, .. } = &*self.shared;
        let mut closed = false;
        for slot in slots {
            match &*slot.lock() {
                Slot::Waiting { why, .. }
                | Slot::Connecting {
                    failed: Some(why), ..
                } => return Some(format!("cannot connect to {address}: {why}")),
                Slot::Closed => closed = true,
                Slot::Connecting { .. } | Slot::Ready(_) => {}
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
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, Status> {
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

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("address", &self.shared.address)
            .finish_non_exhaustive()
    }
}

/// What there is for a call.
enum Pick {
    Connection(Arc<Connection>),
    None(Status),
    Wait,
}

impl Shared {
    fn pick(&self) -> Pick {
        let mut best: Option<(usize, Arc<Connection>)> = None;
        let mut wait = false;
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
                Slot::Connecting { .. } | Slot::Ready(_) => wait = true,
                Slot::Waiting { why, until } => {
                    if failure.as_ref().is_none_or(|(_, sooner)| until < sooner) {
                        failure = Some((Arc::clone(why), *until));
                    }
                }
            }
        }
        match (best, failure) {
            (Some((_, connection)), _) => Pick::Connection(connection),
            (None, _) if wait => Pick::Wait,
            (None, Some((why, until))) => {
                let next = until.saturating_duration_since(Instant::now());
                Pick::None(unreachable_now(format!(
                    "cannot connect: {why}; the next attempt is in {} ms",
                    next.as_millis()
                )))
            }
            (None, None) => Pick::None(unreachable_now("the client has been closed".to_owned())),
        }
    }

    /// Keeps one slot filled.
    async fn keep(self: Arc<Self>, index: usize) {
        let mut backoff = Backoff::new(RECONNECT);
        let mut was_up = false;
        let mut failed = None;
        let mut useless_before = false;
        loop {
            let slot = Slot::Connecting {
                was_up,
                failed: failed.take(),
            };
            self.set(index, slot);
            let used = self.connect_and_use(index).await;
            let useless = matches!(used, Use::Useless(_));
            match used {
                Use::Good => {
                    backoff.reset();
                    was_up = true;
                }
                // The first in a row may be chance: a peer that was just about to stop.
                Use::Useless(_) if !useless_before => was_up = true,
                Use::None(why) | Use::Useless(why) => {
                    let wait = backoff.next_wait();
                    tracing::debug!(address = %self.address, %why, ?wait, "no connection");
                    let until = Instant::now() + wait;
                    let why: Arc<str> = why.into();
                    failed = Some(Arc::clone(&why));
                    self.set(index, Slot::Waiting { why, until });
                    sleep(wait).await;
                    was_up = false;
                }
            }
            useless_before = useless;
        }
    }

    /// Connects, and waits until the connection takes no more calls.
    async fn connect_and_use(&self, index: usize) -> Use {
        let opened = Connection::open(&*self.connector, &self.address, &self.options).await;
        let (connection, driver) = match opened {
            Ok(opened) => opened,
            Err(error) => return Use::None(error.to_string()),
        };
        tracing::debug!(address = %self.address, "connected");
        self.drivers.spawn(Arc::downgrade(&connection), driver);
        self.set(index, Slot::Ready(Arc::clone(&connection)));
        connection.retired().await;
        let why = connection.reason().unwrap_or_default();
        tracing::debug!(address = %self.address, why, "the connection takes no more calls");
        if connection.was_useful() {
            Use::Good
        } else {
            Use::Useless(format!("the peer took the connection and no call: {why}"))
        }
    }

    fn set(&self, index: usize, slot: Slot) {
        let mut place = self.slots[index].lock();
        // Once closed, it stays so, whatever an attempt under way came to.
        if !matches!(*place, Slot::Closed) {
            *place = slot;
        }
        drop(place);
        self.changed.notify_waiters();
    }
}

/// How one attempt went.
enum Use {
    /// It was used.
    Good,
    /// It failed.
    None(String),
    /// It succeeded, and the connection was gone before it was of use.
    Useless(String),
}

fn unreachable_now(text: String) -> Status {
    Status::unavailable(text)
        .with_origin(Origin::Transport)
        .not_processed()
}

/// Short, because calls fail meanwhile: a provider that is back is found within seconds.
const RECONNECT: BackoffPolicy = BackoffPolicy {
    initial: Duration::from_millis(250),
    max: Duration::from_secs(5),
    multiplier: 1.6,
    jitter: 0.2,
};
