//! Looking on while a subscription changes.

use std::sync::Arc;

use dubbo_core::{registry::RegistryError, subscription::Subscription};
use tokio::{sync::watch, task::JoinSet};

type State<T> = Result<T, Arc<RegistryError>>;

/// The same subscription, of which `told` sees each state.
pub(super) fn follow<T>(
    mut source: Subscription<T>,
    mut told: impl FnMut(&State<T>) + Send + 'static,
) -> Subscription<T>
where
    T: Clone + Send + Sync + 'static,
{
    let first = source.current();
    told(&first.state);
    let (sender, updates) = watch::channel(first);
    let mut task = JoinSet::new();
    task.spawn(async move {
        while let Some(update) = source.changed().await {
            told(&update.state);
            sender.send_replace(update);
        }
    });
    Subscription::new(updates, move || drop(task))
}

#[cfg(test)]
mod tests {
    use dubbo_core::subscription::Update;
    use parking_lot::Mutex;

    use super::*;

    #[tokio::test]
    async fn each_state_is_seen_and_handed_on_until_the_source_closes() {
        let (sender, updates) = watch::channel(Update::new(1, Ok(1)));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&seen);
        let number = |state: &State<i32>| *state.as_ref().expect("a number");
        let mut followed = follow(Subscription::new(updates, || {}), move |now| {
            told.lock().push(number(now));
        });
        assert_eq!(number(&followed.current().state), 1);
        sender.send_replace(Update::new(2, Ok(2)));
        let update = followed.changed().await.expect("an update");
        assert_eq!((update.epoch, number(&update.state)), (2, 2));
        drop(sender);
        assert!(followed.changed().await.is_none());
        assert_eq!(*seen.lock(), [1, 2]);
    }
}
