//! The tasks that move the bytes of all connections, and their end.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicUsize, Ordering},
};

use tokio::time::{Instant, timeout_at};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::connection::{Connection, Driver};

/// Runs drivers. Cheap to clone: all clones run them together.
#[derive(Debug, Clone, Default)]
pub(super) struct Drivers {
    tasks: TaskTracker,
    cut: CancellationToken,
    cut_with_calls: Arc<AtomicUsize>,
}

impl Drivers {
    /// Runs `driver` until `connection` has ended, or is cut.
    pub(super) fn spawn(&self, connection: Weak<Connection>, driver: Driver) {
        let Self {
            cut,
            cut_with_calls,
            ..
        } = self.clone();
        self.tasks.spawn(async move {
            // Lives until the reason has been noted: its calls fail when it is dropped.
            let mut driver = std::pin::pin!(driver.run());
            tokio::select! {
                () = driver.as_mut() => {}
                () = cut.cancelled() => if let Some(connection) = connection.upgrade() {
                    connection.retire(|| "the client was shut down".to_owned());
                    if connection.in_flight() > 0 {
                        cut_with_calls.fetch_add(1, Ordering::Relaxed);
                    }
                },
            }
        });
    }

    /// Whether [`shut_down`](Self::shut_down) has been called.
    pub(super) fn is_shut_down(&self) -> bool {
        self.tasks.is_closed()
    }

    /// Waits for the connections to end, and cuts those that are left at `deadline`: how many had calls.
    pub(super) async fn shut_down(&self, deadline: Instant) -> usize {
        self.tasks.close();
        if timeout_at(deadline, self.tasks.wait()).await.is_err() {
            self.cut.cancel();
            self.tasks.wait().await;
        }
        self.cut_with_calls.load(Ordering::Relaxed)
    }
}
