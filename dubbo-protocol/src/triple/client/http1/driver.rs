//! Moving the bytes of all connections to one address.

use std::sync::Arc;

use tokio::{sync::mpsc::UnboundedReceiver, task::JoinSet};

use super::{dial::Moving, failure::describe};
use crate::triple::client::{failure::CLOSED, life::Life};

/// Runs until the last connection has ended, or, once nobody can call any more, until the last call has.
pub(super) struct Driver {
    open: JoinSet<hyper::Result<()>>,
    more: UnboundedReceiver<Moving>,
    life: Arc<Life>,
}

impl Driver {
    /// Drives `first`, and those that come by `more`.
    pub(super) fn new(first: Moving, more: UnboundedReceiver<Moving>, life: Arc<Life>) -> Self {
        let mut open = JoinSet::new();
        open.spawn(first);
        Self { open, more, life }
    }

    /// Drives them to their end.
    pub(super) async fn run(mut self) {
        let mut callers = true;
        loop {
            let ended = tokio::select! {
                more = self.more.recv(), if callers => {
                    match more {
                        Some(connection) => {
                            self.open.spawn(connection);
                        }
                        // The idle ones end now, and the others with their calls.
                        None => callers = false,
                    }
                    continue;
                }
                ended = self.open.join_next() => ended,
            };
            let reason = match ended {
                Some(Ok(Err(error))) => describe(&error),
                Some(Ok(Ok(()))) | None => CLOSED.to_owned(),
                Some(Err(error)) => error.to_string(),
            };
            if !self.open.is_empty() {
                continue;
            }
            if let Ok(connection) = self.more.try_recv() {
                self.open.spawn(connection);
                continue;
            }
            self.life.retire(|| reason);
            return;
        }
    }
}
