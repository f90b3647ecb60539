//! One connection, as those see it who send calls on it.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::time::timeout;

use super::{
    super::outbox::Outbox,
    driver::Driver,
    life::{Life, Pause},
    options::ConnectOptions,
    table::Table,
};
use crate::{
    endpoint::{Link, Opened, Opener},
    net::Connector,
};

/// A connection. Dropping the last handle closes it; calls hold one each.
pub(super) struct Connection {
    wire: Arc<Wire>,
}

/// What those who send calls and the task that moves the bytes have in common.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) address: Arc<str>,
    pub(super) table: Table,
    pub(super) outbox: Outbox,
    pub(super) life: Life,
    /// Responses to calls that waited no more.
    pub(super) late: AtomicU64,
}

impl Connection {
    pub(super) fn new(address: Arc<str>) -> (Arc<Self>, Arc<Wire>) {
        let wire = Arc::new(Wire {
            address,
            table: Table::default(),
            outbox: Outbox::new(),
            life: Life::new(),
            late: AtomicU64::new(0),
        });
        let connection = Self {
            wire: Arc::clone(&wire),
        };
        (Arc::new(connection), wire)
    }

    /// The calls that wait on it.
    pub(super) fn table(&self) -> &Table {
        &self.wire.table
    }

    /// What is to be written to it.
    pub(super) fn outbox(&self) -> &Outbox {
        &self.wire.outbox
    }

    /// Takes no calls until the peer says otherwise.
    pub(super) fn pause_for(&self, why: Pause) {
        self.wire.pause(why);
    }

    /// How many responses came to calls that waited no more.
    #[cfg(test)]
    pub(super) fn late_replies(&self) -> u64 {
        self.wire.late.load(Ordering::Relaxed)
    }
}

impl Link for Connection {
    fn is_usable(&self) -> bool {
        self.wire.life.is_open()
    }

    fn pause(&self) -> Option<String> {
        self.wire.life.paused().map(|why| why.text().to_owned())
    }

    fn in_flight(&self) -> usize {
        self.wire.table.len()
    }

    fn retire(&self, reason: String) {
        self.wire.life.retire(reason);
    }

    async fn retired(&self) {
        self.wire.life.retired().await;
    }

    fn reason(&self) -> Option<&str> {
        self.wire.life.reason()
    }

    fn was_useful(&self) -> bool {
        self.wire.life.was_useful()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.wire.outbox.finish();
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.wire.fmt(f)
    }
}

impl Wire {
    pub(super) fn pause(&self, why: Pause) {
        tracing::debug!(address = %self.address, why = why.text(), "no new calls on this connection");
        self.life.pause(why);
    }

    /// Counts a response to a call that waits no more.
    pub(super) fn note_late(&self, id: i64) {
        let late = self.late.fetch_add(1, Ordering::Relaxed) + 1;
        tracing::debug!(address = %self.address, id, late, "a response came late, or again");
    }

    /// Ends the wait of all its calls; for the task that moves its bytes, when it no longer does.
    pub(super) fn end(&self) {
        // Unless a better reason is known.
        self.life.retire("it was no longer used".to_owned());
        self.outbox.close();
        self.table.close();
    }
}

/// Opens connections to one address.
pub(super) struct Tcp {
    pub(super) connector: Arc<dyn Connector>,
    pub(super) address: Arc<str>,
    pub(super) options: ConnectOptions,
}

impl Opener for Tcp {
    type Link = Connection;

    fn address(&self) -> &Arc<str> {
        &self.address
    }

    async fn open(&self) -> Result<Opened<Connection>, String> {
        let limit = self.options.timeout;
        let io = match timeout(limit, self.connector.connect(&self.address)).await {
            Ok(Ok(io)) => io,
            Ok(Err(error)) => return Err(error.to_string()),
            Err(_) => return Err(format!("no answer within {limit:?}")),
        };
        let (link, wire) = Connection::new(Arc::clone(&self.address));
        let driver = Driver::new(io, wire, &self.options);
        Ok(Opened {
            link,
            driver: Box::pin(driver.run()),
        })
    }
}
