//! Calls that wait for their time to be made again (`docs/spec/cluster.md` §2.4, §7.11).

mod driver;
mod order;
mod rate;

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use self::order::Order;
pub use self::{
    order::{AGEING, Entry, Priority, group_of},
    rate::Rate,
};

/// Runs items when they are due: one that waits for long holds up none that is due before it.
///
/// There is no tick; a task sleeps until the next item is due, and there is none while nothing waits. What is due at once
/// runs side by side, up to a number and within a [`Rate`]. When one of these holds items back, the more urgent go first,
/// and waiting makes an item more urgent ([`AGEING`]), so that none waits for ever. Items of one group run one after the
/// other, in the order in which they came.
///
/// An item runs as often as its turn asks for another. It belongs to the queue from [`push`](Self::push) to the end of its
/// last turn, also when the queue's handles are gone: whoever pushed it may have told others that it will be done.
pub struct DelayQueue<T>(Arc<Shared<T>>);

/// How an item's turn ended.
#[derive(Debug)]
pub enum Turn {
    /// Another turn at this time.
    Again(Instant),
    /// It needs no other.
    Done,
}

/// There is no room, or the queue is closed: the item that was not taken.
#[derive(Debug)]
pub struct Full<T>(pub T);

/// How many items may run at once, and how often one may begin.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// At once; 0 counts as 1.
    pub concurrency: usize,
    /// How often; `None` is as often as they are due.
    pub rate: Option<Rate>,
}

type Run<T> = Box<dyn Fn(T) -> BoxFuture<'static, Turn> + Send + Sync>;

struct Shared<T> {
    run: Run<T>,
    order: Mutex<Order<T>>,
    /// Wakes the driver: something was pushed, or the order of things changed.
    changed: Notify,
    /// Tells that nothing is held any more.
    idle: Notify,
}

impl<T: Clone + Send + 'static> DelayQueue<T> {
    /// An empty queue that has `run` do the work of each item, on a task of its own. A panic in it ends the item.
    pub fn new<F>(pace: Pace, run: impl Fn(T) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Turn> + Send + 'static,
    {
        Self(Arc::new(Shared {
            run: Box::new(move |item| Box::pin(run(item))),
            order: Mutex::new(Order::new(pace)),
            changed: Notify::new(),
            idle: Notify::new(),
        }))
    }

    /// Has other options count from now on.
    pub fn set_pace(&self, pace: Pace) {
        self.0.order.lock().set_pace(pace);
        self.0.changed.notify_one();
    }

    /// Adds an item, unless `limit` items wait or run already.
    ///
    /// It needs a tokio runtime, and the item lives as long as that one.
    ///
    /// # Errors
    ///
    /// The item, if there is no room for it or the queue was [drained](Self::drain).
    pub fn push(&self, entry: Entry<T>, limit: usize) -> Result<(), Full<T>> {
        let starts = self.0.order.lock().push(entry, limit)?;
        if starts {
            // It has what callers were told will be done, also when nobody holds the queue.
            // detached: it ends with the last item
            tokio::spawn(driver::drive(Arc::clone(&self.0)));
        } else {
            self.0.changed.notify_one();
        }
        Ok(())
    }

    /// How many items wait or run.
    pub fn len(&self) -> usize {
        self.0.order.lock().held()
    }

    /// Whether no item waits or runs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it was [drained](Self::drain).
    pub fn is_closed(&self) -> bool {
        self.0.order.lock().is_closed()
    }

    /// Waits until no item is left.
    ///
    /// # Cancel safety
    ///
    /// Waiting can be given up at any time; it changes nothing.
    pub async fn settled(&self) {
        loop {
            let idle = self.0.idle.notified();
            tokio::pin!(idle);
            idle.as_mut().enable();
            if self.is_empty() {
                return;
            }
            idle.await;
        }
    }

    /// Closes the queue: each item that waits has one last turn now. What is left at `deadline`, or asks for another turn, is
    /// returned; turns that run then are cut off.
    ///
    /// # Cancel safety
    ///
    /// The queue stays closed, and goes on with the last turns; call it again for what is left.
    pub async fn drain(&self, deadline: Instant) -> Vec<T> {
        self.0.order.lock().close(Instant::now());
        self.0.changed.notify_one();
        // What is left is in `left` and `cut` in either case.
        let _ = tokio::time::timeout_at(deadline, self.settled()).await;
        let left = self.0.order.lock().empty();
        self.0.changed.notify_one();
        left
    }
}

impl<T> Clone for DelayQueue<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for DelayQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DelayQueue").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
