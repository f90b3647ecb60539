//! Noticing a peer that has fallen silent, although its socket looks open (`docs/spec/triple.md` §9.3).

use std::{
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use h2::{Ping, PingPong};
use tokio::time::{Instant, sleep_until, timeout};

/// When the last bytes came from a peer.
#[derive(Debug)]
pub(super) struct Heard {
    start: Instant,
    millis: AtomicU64,
}

impl Heard {
    /// Something has come just now.
    pub(super) fn start() -> Self {
        Self {
            start: Instant::now(),
            millis: AtomicU64::new(0),
        }
    }

    /// Notes that the peer lives.
    pub(super) fn note(&self) {
        let millis = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.millis.store(millis, Ordering::Relaxed);
    }

    fn last(&self) -> Instant {
        self.start + Duration::from_millis(self.millis.load(Ordering::Relaxed))
    }
}

/// When a connection counts as dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct KeepAlive {
    /// After this long without a byte from the peer, a PING asks for one.
    pub(super) interval: Duration,
    /// How long the answer may take.
    pub(super) timeout: Duration,
}

impl KeepAlive {
    /// Ends once the peer has left one of `pings` without an answer. The connection must be polled beside it.
    pub(super) async fn watch(self, heard: Arc<Heard>, mut pings: PingPong) {
        loop {
            let due = heard.last() + self.interval;
            if Instant::now() < due {
                sleep_until(due).await;
                continue;
            }
            match timeout(self.timeout, pings.ping(Ping::opaque())).await {
                Ok(Ok(_)) => heard.note(),
                // The connection is over, which those who poll it see for themselves.
                Ok(Err(_)) => std::future::pending().await,
                Err(_) => return,
            }
        }
    }
}
