//! Tasks that end with their owner.

use std::mem;

use parking_lot::Mutex;
use tokio::task::{AbortHandle, JoinSet};

/// The tasks of one owner. Those that still run when it is dropped are cut off.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    running: JoinSet<()>,
    over: bool,
}

impl Tasks {
    /// Starts one, which is cut off at once after the [end](Self::end).
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut state = self.0.lock();
        while state.running.try_join_next().is_some() {}
        let handle = state.running.spawn(task);
        if state.over {
            handle.abort();
        }
        handle
    }

    /// Cuts all of them off, and waits until they are gone.
    pub(crate) async fn cut(&self) {
        let mut running = mem::take(&mut self.0.lock().running);
        running.shutdown().await;
    }

    /// As [`cut`](Self::cut), and nothing starts after that.
    pub(crate) async fn end(&self) {
        self.0.lock().over = true;
        self.cut().await;
    }

    /// How many still run.
    #[cfg(test)]
    pub(crate) fn running(&self) -> usize {
        let mut state = self.0.lock();
        while state.running.try_join_next().is_some() {}
        state.running.len()
    }
}
