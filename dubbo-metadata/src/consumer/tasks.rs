//! The tasks of one consumer.

use tokio::task::{AbortHandle, JoinSet};

use parking_lot::Mutex;

/// Tasks that end together, and each before that when nobody needs it any more.
#[derive(Debug)]
pub(crate) struct Tasks(Mutex<Option<JoinSet<()>>>);

impl Tasks {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Some(JoinSet::new())))
    }

    /// Starts `task`, which ends with the value that this returns. After [`close`](Self::close) nothing starts.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Running {
        let mut tasks = self.0.lock();
        // What does not start is dropped after the lock: that may end other tasks.
        let Some(tasks) = tasks.as_mut() else {
            return Running(None);
        };
        reap(tasks);
        Running(Some(tasks.spawn(task)))
    }

    /// How many are running.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().as_mut().map_or(0, |tasks| {
            reap(tasks);
            tasks.len()
        })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.lock().is_none()
    }

    /// Ends all and waits until they have.
    pub(crate) async fn close(&self) {
        let tasks = self.0.lock().take();
        if let Some(mut tasks) = tasks {
            tasks.shutdown().await;
        }
    }
}

/// Ends a task when it is dropped.
#[derive(Debug)]
#[must_use = "dropping it ends the task"]
pub(crate) struct Running(Option<AbortHandle>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

/// Forgets those that have ended, so that their number is that of the running ones.
fn reap(tasks: &mut JoinSet<()>) {
    while let Some(ended) = tasks.try_join_next() {
        if let Err(error) = ended
            && error.is_panic()
        {
            tracing::error!(%error, "a task of application-level discovery panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_ends_with_its_guard_and_all_end_with_close() {
        let tasks = Tasks::new();
        let one = tasks.spawn(std::future::pending());
        let two = tasks.spawn(std::future::pending());
        assert_eq!(tasks.len(), 2);
        drop(one);
        tokio::task::yield_now().await;
        assert_eq!(tasks.len(), 1);
        tasks.close().await;
        assert_eq!((tasks.len(), tasks.is_closed()), (0, true));
        drop(two);
        let late = tasks.spawn(async { panic!("started after the close") });
        assert_eq!(tasks.len(), 0);
        drop(late);
    }
}
