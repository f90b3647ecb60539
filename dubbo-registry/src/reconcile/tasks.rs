//! Tasks that end with their owner.

use std::mem;

use parking_lot::Mutex;
use tokio::task::{AbortHandle, JoinSet};

/// The tasks of one owner. Those that still run when it is dropped are cut off.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<JoinSet<()>>);

impl Tasks {
    /// Starts one.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut tasks = self.0.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task)
    }

    /// Cuts all of them off, and waits until they are gone.
    pub(crate) async fn end(&self) {
        let mut tasks = mem::take(&mut *self.0.lock());
        tasks.shutdown().await;
    }

    /// How many still run.
    #[cfg(test)]
    pub(crate) fn running(&self) -> usize {
        let mut tasks = self.0.lock();
        while tasks.try_join_next().is_some() {}
        tasks.len()
    }
}
