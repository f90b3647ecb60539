//! Noticing a peer that has fallen silent, although its socket looks open.

use std::sync::Arc;

use h2::{Ping, PingPong};
use tokio::time::{Instant, sleep_until, timeout};

use super::{options::KeepAliveOptions, socket::Traffic};

/// Probes a peer from which nothing has come for a while.
pub(super) struct KeepAlive {
    options: KeepAliveOptions,
    traffic: Arc<Traffic>,
    pings: PingPong,
}

impl KeepAlive {
    pub(super) fn new(options: KeepAliveOptions, traffic: Arc<Traffic>, pings: PingPong) -> Self {
        Self {
            options,
            traffic,
            pings,
        }
    }

    /// Ends, with the reason, once the peer has left a PING without answer. The connection must be polled beside it.
    pub(super) async fn watch(mut self) -> String {
        loop {
            let due = self.traffic.last_read() + self.options.interval;
            if Instant::now() < due {
                sleep_until(due).await;
                continue;
            }
            let wait = self.options.timeout;
            match timeout(wait, self.pings.ping(Ping::opaque())).await {
                Ok(Ok(_)) => self.traffic.note_read(),
                // The connection is over, which those who poll it see for themselves.
                Ok(Err(_)) => std::future::pending().await,
                Err(_) => {
                    return format!("the peer did not answer a keep-alive PING within {wait:?}");
                }
            }
        }
    }
}
