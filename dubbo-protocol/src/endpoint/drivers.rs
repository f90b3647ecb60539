//! The tasks that move the bytes of all connections, and their end.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::time::{Instant, timeout_at};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::link::{Link, Opened};

/// Runs drivers. Cheap to clone: all clones run them together.
#[derive(Debug, Clone, Default)]
pub(super) struct Drivers {
    tasks: TaskTracker,
    cut: CancellationToken,
    cut_with_calls: Arc<AtomicUsize>,
}

impl Drivers {
    /// Runs the driver of `opened` until its connection has ended, or is cut.
    pub(super) fn spawn<L: Link>(&self, opened: Opened<L>) -> Arc<L> {
        let Self {
            cut,
            cut_with_calls,
            ..
        } = self.clone();
        let Opened { link, mut driver } = opened;
        let connection = Arc::downgrade(&link);
        self.tasks.spawn(async move {
            tokio::select! {
                () = driver.as_mut() => {}
                () = cut.cancelled() => if let Some(connection) = connection.upgrade() {
                    connection.retire("the client was shut down".to_owned());
                    if connection.in_flight() > 0 {
                        cut_with_calls.fetch_add(1, Ordering::Relaxed);
                    }
                },
            }
            // Only now that the reason has been noted: the calls fail when it is dropped.
            drop(driver);
        });
        link
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
