//! A connection that a call has to itself.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use dubbo_core::status::{Origin, Status};
use hyper::client::conn::http1::SendRequest;
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, timeout},
};

use super::{
    super::failure::{Failure, not_sent},
    Lanes, RequestBody,
};

/// The connection of one call. Dropping it closes it.
pub(super) struct Lane {
    pub(super) sender: SendRequest<RequestBody>,
    home: Weak<Lanes>,
    _place: OwnedSemaphorePermit,
}

/// A connection without a call.
pub(super) struct Idle {
    sender: SendRequest<RequestBody>,
    since: Instant,
}

impl Idle {
    pub(super) fn now(sender: SendRequest<RequestBody>) -> Self {
        Self {
            sender,
            since: Instant::now(),
        }
    }
}

impl Lane {
    /// Gives it back when its answer has come to its end: the next call may have it.
    pub(super) fn give_back(self) {
        if let Some(home) = self.home.upgrade() {
            let mut idle = home.idle.lock();
            idle.retain(|idle| home.trusts(idle));
            idle.push(Idle::now(self.sender));
        }
    }
}

impl Lanes {
    /// A connection for one call: one without a call, or a new one. With all of them in use it waits for its turn.
    ///
    /// # Errors
    ///
    /// There is none to be had. Nothing has been sent.
    ///
    /// # Cancel safety
    ///
    /// Safe: nothing but the place in the queue is lost.
    pub(super) async fn lane(self: &Arc<Self>) -> Result<Lane, Failure> {
        let place = Arc::clone(&self.room).acquire_owned().await;
        let place = place.expect("invariant: nobody closes it");
        let mut silent = None;
        let sender = loop {
            let Some(mut idle) = self.idle.lock().pop() else {
                break self.open().await?;
            };
            if !self.trusts(&idle) {
                // It lives until there is another, so that the link does not end between. Those before it are older.
                silent = Some(idle);
                self.idle.lock().retain(|idle| self.trusts(idle));
                continue;
            }
            // One that has ended meanwhile says so at once. One that never gets ready has a peer that does not read.
            if let Ok(Ok(())) = timeout(UNTIL_READY, idle.sender.ready()).await {
                break idle.sender;
            }
        };
        drop(silent);
        Ok(Lane {
            sender,
            home: Arc::downgrade(self),
            _place: place,
        })
    }

    async fn open(&self) -> Result<SendRequest<RequestBody>, Failure> {
        let opened = self.dial.connect().await;
        let (sender, moving) = opened.map_err(|why| {
            let status = Status::unavailable(format!("cannot connect: {why}"));
            Failure::Final(status.with_origin(Origin::Transport).not_processed())
        })?;
        self.started
            .send(moving)
            .map_err(|_| Failure::ConnectionGone(not_sent("the last of them has ended")))?;
        Ok(sender)
    }

    fn trusts(&self, idle: &Idle) -> bool {
        !idle.sender.is_closed()
            && self
                .trusted
                .is_none_or(|trusted| idle.since.elapsed() < trusted)
    }
}

/// A connection whose answer has come is ready as soon as its request is sent: most are by then.
const UNTIL_READY: Duration = Duration::from_millis(100);
