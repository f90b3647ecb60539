//! A subscription that stands for another that has not answered yet.

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    registry::{RegistryError, RegistrySnapshot},
    subscription::{Subscription, Update},
};
use tokio::{sync::watch, task::JoinSet};

type Snapshots = Subscription<RegistrySnapshot>;
type State = Result<RegistrySnapshot, Arc<RegistryError>>;

/// Waits for `subscribed` as long as `patience` lasts. After that it is a subscription whose state is the error `late`,
/// until the other has come, which it then follows.
///
/// # Errors
///
/// What is asked for cannot be followed at all.
pub(super) async fn soon_or_later(
    subscribed: impl Future<Output = Result<Snapshots, RegistryError>> + Send + 'static,
    patience: Duration,
    late: impl FnOnce() -> RegistryError,
) -> Result<Snapshots, RegistryError> {
    let mut subscribed = Box::pin(subscribed);
    if let Ok(in_time) = tokio::time::timeout(patience, &mut subscribed).await {
        return in_time;
    }
    let relay = Relay::new(Err(Arc::new(late())));
    let states = relay.states.clone();
    Ok(relay.run(async move {
        match subscribed.await {
            Ok(mut source) => {
                states.show(source.current().state);
                while let Some(update) = source.changed().await {
                    states.show(update.state);
                }
            }
            Err(error) => states.show(Err(Arc::new(error))),
        }
    }))
}

/// A subscription that a task of its own feeds.
struct Relay {
    states: States,
    updates: watch::Receiver<Update<RegistrySnapshot>>,
}

#[derive(Clone)]
struct States(Arc<watch::Sender<Update<RegistrySnapshot>>>);

impl Relay {
    fn new(first: State) -> Self {
        let (sender, updates) = watch::channel(Update::new(0, first));
        Self {
            states: States(Arc::new(sender)),
            updates,
        }
    }

    /// `feed` runs until it ends or the subscription is dropped.
    fn run(self, feed: impl Future<Output = ()> + Send + 'static) -> Snapshots {
        let mut task = JoinSet::new();
        task.spawn(feed);
        Subscription::new(self.updates, move || drop(task))
    }
}

impl States {
    fn show(&self, state: State) {
        self.0.send_if_modified(|update| {
            let is_old = match (&update.state, &state) {
                (Ok(old), Ok(new)) => old == new,
                (Err(old), Err(new)) => old.to_string() == new.to_string(),
                _ => false,
            };
            if !is_old {
                *update = Update::new(update.epoch + 1, state);
            }
            !is_old
        });
    }
}

#[cfg(test)]
mod tests {
    use dubbo_core::{explain::Step, url::Url};

    use super::*;

    fn listing(providers: &[&str], evidence: &str) -> RegistrySnapshot {
        let urls: Vec<_> = providers
            .iter()
            .map(|text| text.parse().expect("a URL"))
            .collect();
        let mut snapshot = RegistrySnapshot::of_providers(urls);
        snapshot.steps = [Step::leaving("instances", evidence, providers.len())].into();
        snapshot
    }

    fn failing() -> State {
        Err(Arc::new(RegistryError::new("read", "r://h", "it is down")))
    }

    fn source(first: State) -> (watch::Sender<Update<RegistrySnapshot>>, Snapshots) {
        let (sender, receiver) = watch::channel(Update::new(1, first));
        (sender, Subscription::new(receiver, || {}))
    }

    fn text(state: &State) -> String {
        match state {
            Ok(snapshot) => {
                let providers = snapshot.providers.iter().map(Url::address);
                let steps = snapshot.steps.iter().map(|step| step.evidence.clone());
                let parts: Vec<_> = providers.chain(steps).collect();
                parts.join(" ")
            }
            Err(error) => error.to_string(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_late_is_an_error_until_it_comes() {
        let (sender, source) = source(Ok(listing(&["tri://p:1/a.B"], "here")));
        let slow = async {
            tokio::time::sleep(Duration::from_secs(9)).await;
            Ok(source)
        };
        let late = || RegistryError::new("subscribe", "r://h", "no answer yet");
        let relayed = soon_or_later(slow, Duration::from_secs(5), late).await;
        let mut relayed = relayed.expect("it may come");
        assert_eq!(
            text(&relayed.current().state),
            "subscribe at r://h: no answer yet"
        );
        let update = relayed.changed().await.expect("it came");
        assert_eq!(text(&update.state), "p:1 here");
        sender.send_replace(Update::new(2, failing()));
        let update = relayed.changed().await.expect("followed");
        assert_eq!(text(&update.state), "read at r://h: it is down");
    }
}
