//! Telling whoever waits that a provider can be called.

use std::{sync::Arc, time::Duration};

use dubbo_core::cluster::Node;
use parking_lot::Mutex;
use tokio::{sync::watch, task::JoinSet, time::sleep};

/// Whether any of some nodes is available, as it changes.
///
/// Invokers connect in the background and tell nobody, so they have to be looked at; that is done only while somebody
/// watches.
pub(crate) struct Availability {
    shared: Arc<Shared>,
    /// Holds the task that looks; it ends with this value.
    task: Mutex<JoinSet<()>>,
}

struct Shared {
    any: Box<dyn Fn() -> bool + Send + Sync>,
    sender: watch::Sender<bool>,
    /// Whether the task runs. Locked while somebody starts to watch and while the task decides to end.
    looking: Mutex<bool>,
}

impl Availability {
    /// Of what `any` answers.
    pub(crate) fn new(any: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self {
            shared: Arc::new(Shared {
                any: Box::new(any),
                sender: watch::Sender::new(false),
                looking: Mutex::new(false),
            }),
            task: Mutex::default(),
        }
    }

    /// Starts to watch. It must be called from within a Tokio runtime.
    pub(crate) fn watch(&self) -> watch::Receiver<bool> {
        let shared = &self.shared;
        let mut looking = shared.looking.lock();
        let receiver = shared.sender.subscribe();
        shared.look();
        if !*looking {
            *looking = true;
            let mut task = self.task.lock();
            while task.try_join_next().is_some() {}
            task.spawn(Arc::clone(shared).run());
        }
        receiver
    }
}

impl Shared {
    async fn run(self: Arc<Self>) {
        // Whoever has just begun to watch waits for a connection that is being made.
        let mut wait = LOOK_FIRST;
        loop {
            sleep(wait).await;
            wait = (wait * 2).min(LOOK_EVERY);
            self.look();
            let mut looking = self.looking.lock();
            if self.sender.receiver_count() == 0 {
                *looking = false;
                return;
            }
        }
    }

    fn look(&self) {
        let now = (self.any)();
        self.sender
            .send_if_modified(|before| std::mem::replace(before, now) != now);
    }
}

/// Whether any of `nodes` is available now.
pub(crate) fn any_available(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| node.invoker.is_available())
}

const LOOK_FIRST: Duration = Duration::from_millis(1);
const LOOK_EVERY: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_watcher_sees_every_change_and_the_task_ends_with_the_last_watcher() {
        let up = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&up);
        let availability = Availability::new(move || seen.load(Ordering::Relaxed));
        for _ in 0..3 {
            let mut watched = availability.watch();
            let second = availability.watch();
            assert!(!*watched.borrow_and_update());
            up.store(true, Ordering::Relaxed);
            watched.changed().await.expect("is watched");
            assert!(*watched.borrow_and_update() && *second.borrow());
            up.store(false, Ordering::Relaxed);
            watched.changed().await.expect("is watched");
            assert!(!*watched.borrow());

            drop((watched, second));
            sleep(LOOK_EVERY * 2).await;
            assert!(!*availability.shared.looking.lock());
        }
    }
}
