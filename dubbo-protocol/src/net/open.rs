//! The connections that are open, for operators who ask.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use dubbo_core::{extension::Extensions, invocation::Peer};
use parking_lot::Mutex;

use super::{Dialect, port::Ports};

/// A connection of a peer to a port that protocols serve at.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Connection {
    /// Where the port listens.
    pub listens: SocketAddr,
    /// Its two ends.
    pub peer: Peer,
    /// What it speaks: `HTTP/1`, `HTTP/2` or `dubbo`.
    pub speaks: String,
}

/// The connections that peers have to the instance of `extensions`, port by port, the oldest first. Those that have not said
/// yet what they speak are not among them, nor are those to the port for operators.
pub async fn connections(extensions: &Extensions) -> Vec<Connection> {
    extensions.shared::<Ports>().connections().await
}

/// The connections of one port that are served. Only opening and closing one takes its lock.
#[derive(Debug, Default)]
pub(super) struct Open {
    next: AtomicU64,
    all: Mutex<BTreeMap<u64, (Peer, Dialect)>>,
}

impl Open {
    /// Adds one, until what is given back is dropped.
    pub(super) fn enter(self: &Arc<Self>, peer: Peer, dialect: Dialect) -> Entered {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.all.lock().insert(number, (peer, dialect));
        Entered {
            open: Arc::clone(self),
            number,
        }
    }

    /// All of them, of the port that listens at `listens`.
    pub(super) fn all(&self, listens: SocketAddr) -> Vec<Connection> {
        let all = self.all.lock();
        let all = all.values().map(|(peer, dialect)| Connection {
            listens,
            peer: *peer,
            speaks: dialect.to_string(),
        });
        all.collect()
    }
}

/// A connection that is listed as long as this is there.
#[derive(Debug)]
pub(super) struct Entered {
    open: Arc<Open>,
    number: u64,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.open.all.lock().remove(&self.number);
    }
}
