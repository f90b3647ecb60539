//! Something remote that is followed, and followed again when that ended.

use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use dubbo_core::{registry::RegistryError, subscription::Subscription};
use tokio::time::{Sleep, sleep};

use crate::jitter::EqualJitter;

/// A subscription that is made anew, with growing pauses, when it cannot be had or its source ends it.
pub(crate) struct Source<T> {
    open: Box<dyn Fn() -> Opening<T> + Send + Sync>,
    state: State<T>,
    waits: EqualJitter,
    random: fastrand::Rng,
}

/// A subscription in the making.
pub(crate) type Opening<T> =
    Pin<Box<dyn Future<Output = Result<Subscription<T>, RegistryError>> + Send>>;

enum State<T> {
    Opening(Opening<T>),
    Open {
        subscription: Subscription<T>,
        epoch: u64,
    },
    Waiting(Pin<Box<Sleep>>),
}

impl<T: Clone> Source<T> {
    /// Follows what `open` subscribes to.
    pub(crate) fn new(
        random: fastrand::Rng,
        open: impl Fn() -> Opening<T> + Send + Sync + 'static,
    ) -> Self {
        Self {
            state: State::Opening(open()),
            open: Box::new(open),
            waits: EqualJitter::new(RETRY_BASE, RETRY_CAP),
            random,
        }
    }

    /// The next state, or why there is none now. States that are older than one given before are left out.
    ///
    /// # Cancel safety
    ///
    /// Safe: what was not returned is returned next time.
    pub(crate) async fn next(&mut self) -> Result<T, Arc<RegistryError>> {
        loop {
            match &mut self.state {
                State::Opening(opening) => match opening.await {
                    Ok(mut subscription) => {
                        let update = subscription.current();
                        self.waits.reset();
                        self.state = State::Open {
                            subscription,
                            epoch: update.epoch,
                        };
                        return update.state;
                    }
                    Err(error) => {
                        self.wait();
                        return Err(Arc::new(error));
                    }
                },
                State::Open {
                    subscription,
                    epoch,
                } => match subscription.changed().await {
                    Some(update) if update.epoch < *epoch => {
                        tracing::debug!(update.epoch, newest = *epoch, "an old update is dropped");
                    }
                    Some(update) => {
                        *epoch = update.epoch;
                        return update.state;
                    }
                    None => self.wait(),
                },
                State::Waiting(pause) => {
                    pause.await;
                    self.state = State::Opening((self.open)());
                }
            }
        }
    }

    /// Whether changes are told.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open { .. })
    }

    fn wait(&mut self) {
        let wait = self.waits.next_wait(&mut self.random);
        self.state = State::Waiting(Box::pin(sleep(wait)));
    }
}

impl<T> fmt::Debug for Source<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.state {
            State::Opening(_) => "Source(opening)",
            State::Open { .. } => "Source(open)",
            State::Waiting(_) => "Source(waiting)",
        })
    }
}

const RETRY_BASE: Duration = Duration::from_secs(1);
const RETRY_CAP: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use dubbo_core::subscription::Update;
    use tokio::sync::watch;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_is_opened_again_when_it_fails_or_ends_and_old_states_are_left_out() {
        let (updates, _) = watch::channel(Update::new(5, Ok("first")));
        let opened = Arc::new(AtomicU32::new(0));
        let mut source = {
            let (updates, opened) = (updates.clone(), Arc::clone(&opened));
            Source::new(fastrand::Rng::with_seed(1), move || {
                let attempt = opened.fetch_add(1, Ordering::Relaxed);
                let updates = updates.subscribe();
                Box::pin(async move {
                    match attempt {
                        0 => Err(RegistryError::new("watch", "r", "refused")),
                        1 => {
                            let (_, ended) = watch::channel(Update::new(9, Ok("short")));
                            Ok(Subscription::new(ended, || ()))
                        }
                        _ => Ok(Subscription::new(updates, || ())),
                    }
                })
            })
        };
        let error = source.next().await.expect_err("refused");
        assert_eq!(error.reason, "refused");
        assert_eq!(source.next().await.expect("a state"), "short");
        assert_eq!(source.next().await.expect("a state"), "first");
        updates.send_replace(Update::new(4, Ok("old")));
        let old = tokio::time::timeout(Duration::from_secs(1), source.next()).await;
        assert!(old.is_err(), "{old:?}");
        updates.send_replace(Update::new(6, Ok("new")));
        assert_eq!(source.next().await.expect("a state"), "new");
        assert_eq!(opened.load(Ordering::Relaxed), 3);
    }
}
