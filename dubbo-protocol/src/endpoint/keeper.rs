//! Keeping the connections to one address up.

use std::{sync::Arc, time::Duration};

use dubbo_core::backoff::{Backoff, BackoffPolicy};
use tokio::time::{Instant, sleep};

use super::{
    link::{Link, Opener},
    slots::{Shared, Slot},
};

impl<O: Opener> Shared<O> {
    /// Keeps one slot filled.
    pub(super) async fn keep(self: Arc<Self>, index: usize) {
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
                    tracing::debug!(address = %self.opener.address(), %why, ?wait, "no connection");
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
        let address = self.opener.address();
        let opened = match self.opener.open().await {
            Ok(opened) => opened,
            Err(why) => return Use::None(why),
        };
        tracing::debug!(%address, "connected");
        let connection = self.drivers.spawn(opened);
        self.set(index, Slot::Ready(Arc::clone(&connection)));
        connection.retired().await;
        let why = connection.reason().unwrap_or_default();
        tracing::debug!(%address, why, "the connection takes no more calls");
        if connection.was_useful() {
            Use::Good
        } else {
            Use::Useless(format!("the peer took the connection and no call: {why}"))
        }
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

/// Short, because calls fail meanwhile: a provider that is back is found within seconds.
const RECONNECT: BackoffPolicy = BackoffPolicy {
    initial: Duration::from_millis(250),
    max: Duration::from_secs(5),
    multiplier: 1.6,
    jitter: 0.2,
};
