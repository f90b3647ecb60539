//! Subscriptions made of others: one that has not answered yet, and two that tell of the same.

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    explain::Step,
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

/// What `application` tells as long as it has providers, else what `interface` tells: a provider may be registered either
/// way, or both.
pub(super) fn application_first(mut application: Snapshots, mut interface: Snapshots) -> Snapshots {
    let mut first = application.current().state;
    let mut second = interface.current().state;
    let relay = Relay::new(choose(&first, &second));
    let states = relay.states.clone();
    relay.run(async move {
        loop {
            tokio::select! {
                Some(update) = application.changed() => first = update.state,
                Some(update) = interface.changed() => second = update.state,
                else => return,
            }
            states.show(choose(&first, &second));
        }
    })
}

/// Nobody knows of a provider only if neither side does: an error on one side is no empty list.
fn choose(application: &State, interface: &State) -> State {
    let has_some = |state: &State| {
        let snapshot = state.as_ref().ok();
        snapshot.is_some_and(|snapshot| !snapshot.providers.is_empty())
    };
    let chosen = match (application, interface) {
        _ if has_some(application) => application,
        _ if has_some(interface) => interface,
        (Ok(_), Err(_)) => interface,
        (Err(_), _) | (Ok(_), Ok(_)) => application,
    };
    let mut chosen = chosen.clone()?;
    let steps = |state: &State| match state {
        Ok(snapshot) => snapshot.steps.to_vec(),
        Err(error) => vec![Step::new("registry", error.to_string())],
    };
    // Which of them a list came from is evidence as well.
    let (application, interface) = (steps(application), steps(interface));
    if !interface.is_empty() {
        let both = application.into_iter().chain(interface);
        chosen.steps = both.collect();
    }
    Ok(chosen)
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
    use dubbo_core::url::Url;

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

    #[test]
    fn whoever_has_providers_is_believed_and_an_error_is_no_empty_list() {
        let some =
            |host: &str, evidence: &str| Ok(listing(&[&format!("tri://{host}:1/a.B")], evidence));
        let none = |evidence: &str| Ok(listing(&[], evidence));
        for (application, interface, want) in [
            (some("a", "x"), some("i", "y"), "a:1 x y"),
            (none("x"), some("i", "y"), "i:1 x y"),
            (failing(), some("i", "y"), "i:1 read at r://h: it is down y"),
            (some("a", "x"), failing(), "a:1 x read at r://h: it is down"),
            (none("x"), none("y"), "x y"),
            (none("x"), failing(), "read at r://h: it is down"),
            (failing(), none("y"), "read at r://h: it is down"),
        ] {
            assert_eq!(text(&choose(&application, &interface)), want);
        }
    }

    #[tokio::test]
    async fn both_sources_are_followed_until_the_subscription_is_dropped() {
        let (applications, first) = source(Ok(listing(&[], "x")));
        let (interfaces, second) = source(Ok(listing(&["tri://i:1/a.B"], "y")));
        let mut both = application_first(first, second);
        assert_eq!(text(&both.current().state), "i:1 x y");
        applications.send_replace(Update::new(2, Ok(listing(&["tri://a:1/a.B"], "z"))));
        let update = both.changed().await.expect("followed");
        assert_eq!(text(&update.state), "a:1 z y");
        interfaces.send_replace(Update::new(2, failing()));
        let update = both.changed().await.expect("followed");
        assert_eq!(text(&update.state), "a:1 z read at r://h: it is down");
        drop(both);
        tokio::join!(applications.closed(), interfaces.closed());
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
