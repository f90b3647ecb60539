//! A subscription on what is made of several things that are followed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use dubbo_core::{
    registry::RegistryError,
    subscription::{Subscription, Update},
};
use tokio::sync::watch;

use super::Tasks;

/// Makes one state of what it follows.
#[async_trait]
pub(crate) trait Merge: Send + Sync + 'static {
    /// What subscribers see.
    type State: Clone + PartialEq + Send + Sync + 'static;

    /// The state as it is now; `None` as long as not all has been heard of.
    fn now(&mut self) -> Option<News<Self::State>>;

    /// What to say when it takes too long until all has been heard of.
    fn unheard(&self) -> RegistryError;

    /// Waits until something has changed; `false` once nothing will any more.
    async fn changed(&mut self) -> bool;
}

/// A state, or why nobody knows it.
pub(crate) type News<T> = Result<T, Arc<RegistryError>>;

/// Starts a subscription, and waits for its first state; a state that is equal to the one before is left out.
pub(crate) async fn view<M: Merge>(
    tasks: &Tasks,
    epochs: &Arc<AtomicU64>,
    mut merge: M,
) -> Subscription<M::State> {
    let first = tokio::time::timeout(PATIENCE, first(&mut merge)).await;
    let first = first.unwrap_or_else(|_| Err(Arc::new(merge.unheard())));
    let (updates, receiver) = watch::channel(Update::new(next(epochs), first));
    let epochs = Arc::clone(epochs);
    let task = tasks.spawn(async move {
        // What came in between is not lost: it is compared with what was shown.
        loop {
            if let Some(now) = merge.now() {
                show(&updates, &epochs, now);
            }
            if !merge.changed().await {
                return;
            }
        }
    });
    Subscription::new(receiver, move || task.abort())
}

async fn first<M: Merge>(merge: &mut M) -> News<M::State> {
    loop {
        if let Some(first) = merge.now() {
            return first;
        }
        if !merge.changed().await {
            return Err(Arc::new(merge.unheard()));
        }
    }
}

fn show<T: PartialEq>(updates: &watch::Sender<Update<T>>, epochs: &AtomicU64, now: News<T>) {
    updates.send_if_modified(|update| {
        let is_news = match (&update.state, &now) {
            (Ok(before), Ok(now)) => before != now,
            (Err(before), Err(now)) => before.to_string() != now.to_string(),
            _ => true,
        };
        if is_news {
            *update = Update::new(next(epochs), now);
        }
        is_news
    });
}

fn next(epochs: &AtomicU64) -> u64 {
    epochs.fetch_add(1, Ordering::Relaxed) + 1
}

/// How long a subscription waits for its first state before it begins with an error. Shorter than what callers wait for
/// an answer, or they would not hear why.
const PATIENCE: Duration = Duration::from_secs(3);
