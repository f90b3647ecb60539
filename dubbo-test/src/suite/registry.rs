//! What every [`Registry`] does.
//!
//! A crate with a registry runs all of it with [`registry_suite!`](crate::registry_suite!), which makes each function of
//! this module a test of its own. Interfaces have names of their own in each case, so that cases do not meet in a registry
//! that they share. What a remote registry shows late is waited for.

use std::{collections::BTreeSet, time::Duration};

use dubbo_core::{
    registry::{Registry, RegistrySnapshot},
    subscription::Subscription,
    url::Url,
};
use futures_util::future::join_all;

use super::{Hook, Subject, subject::own};
use crate::soon;

/// What the suite runs on.
pub type Registries = Subject<dyn Registry>;

/// Runs the suite on a subject: `registry_suite!(Subject::new(hooks, |group| handle(group)))`. Attributes in brackets
/// before the subject take the place of `#[tokio::test]`.
#[macro_export]
macro_rules! registry_suite {
    ([$($attributes:tt)+] $subject:expr) => {
        $crate::suite_tests! { registry [$($attributes)+] $subject;
            a_subscription_starts_with_what_is_there_and_gets_every_change,
            closing_takes_back_what_was_registered_through_that_handle,
            consumers_and_rules_are_no_providers,
            disabled_providers_are_not_seen,
            everything_survives_a_restart_of_the_server,
            everything_survives_an_expired_session,
            everything_survives_lost_connections,
            groups_of_a_registry_do_not_see_each_other,
            interface_group_and_version_decide_who_is_seen,
            many_come_and_go_at_once,
            nobody_is_an_empty_list_and_no_error,
            one_address_serves_many_services,
            registering_twice_is_once,
            unsubscribing_leaves_nothing_behind,
            urls_come_back_as_they_went_in,
            who_follows_every_interface_sees_new_ones,
        }
    };
    ($subject:expr) => {
        $crate::registry_suite! { [#[tokio::test]] $subject }
    };
}

/// A subscription is a state at once and follows every change, also those of other handles; its epochs grow.
pub async fn a_subscription_starts_with_what_is_there_and_gets_every_change(subject: Registries) {
    let (ours, theirs) = (subject.handle(), subject.handle());
    let (first, second) = (provider(1, "Changes", ""), provider(2, "Changes", ""));
    theirs.register(&first).await.expect("registers");
    let mut early = subscribe(&*ours, "Changes").await;
    sees(&mut early, &[&first]).await;
    let before = early.current().epoch;

    theirs.register(&second).await.expect("registers");
    sees(&mut early, &[&first, &second]).await;
    let mut late = subscribe(&*ours, "Changes").await;
    sees(&mut late, &[&first, &second]).await;

    theirs.unregister(&first).await.expect("unregisters");
    sees(&mut early, &[&second]).await;
    sees(&mut late, &[&second]).await;
    theirs.unregister(&second).await.expect("unregisters");
    sees(&mut early, &[]).await;
    drop(early);
    theirs.register(&first).await.expect("registers");
    sees(&mut late, &[&first]).await;
    assert!(late.current().epoch > before, "epochs grow");
}

/// Nobody is an empty list and no error, and what is not there can be taken back.
pub async fn nobody_is_an_empty_list_and_no_error(subject: Registries) {
    let registry = subject.handle();
    let mut subscription = subscribe(&*registry, "Nobody").await;
    let found = registry.lookup(&consumer("Nobody", "")).await;
    for state in [
        subscription.current().state.expect("no error"),
        found.expect("no error"),
    ] {
        let rules = state.configurators.len() + state.routers.len();
        assert!(state.providers.is_empty() && rules == 0, "{state:?}");
        let last = state.steps.last().expect("it says how nobody was found");
        assert!(
            last.is_empty() && last.evidence.contains("Nobody"),
            "{last}"
        );
    }
    let unknown = provider(1, "Nobody", "");
    registry
        .unregister(&unknown)
        .await
        .expect("it is not there, as was asked");
}

/// Registering twice is the same as once.
pub async fn registering_twice_is_once(subject: Registries) {
    let registry = subject.handle();
    let provider = provider(1, "Twice", "");
    registry.register(&provider).await.expect("registers");
    registry.register(&provider).await.expect("registers again");
    let mut subscription = subscribe(&*registry, "Twice").await;
    sees(&mut subscription, &[&provider]).await;
    registry.unregister(&provider).await.expect("unregisters");
    sees(&mut subscription, &[]).await;
}

/// `docs/spec/registry.md` §1.4.
pub async fn interface_group_and_version_decide_who_is_seen(subject: Registries) {
    let registry = subject.handle();
    let plain = provider(1, "Keys", "");
    let g1 = provider(2, "Keys", "group=g1");
    let v1 = provider(3, "Keys", "version=1.0");
    let both = provider(4, "Keys", "group=g1&version=1.0");
    let other = provider(5, "Keys", "group=g2&version=2.0");
    let foreign = provider(6, "KeysToo", "");
    for url in [&plain, &g1, &v1, &both, &other, &foreign] {
        registry.register(url).await.expect("registers");
    }
    for (query, want) in [
        ("", &[&plain][..]),
        ("group=g1", &[&g1]),
        ("version=1.0", &[&v1]),
        ("group=g1&version=1.0", &[&both]),
        ("group=g1&version=3.0", &[]),
        ("group=*", &[&plain, &g1]),
        ("version=*", &[&plain, &v1]),
        ("group=*&version=1.0", &[&v1, &both]),
        ("group=*&version=*", &[&plain, &g1, &v1, &both, &other]),
        ("group=g1,g2&version=*", &[&g1, &both, &other]),
    ] {
        let consumer = consumer("Keys", query);
        let mut subscription = registry.subscribe(&consumer).await.expect("subscribes");
        sees(&mut subscription, want).await;
        let found = registry.lookup(&consumer).await.expect("looks up");
        assert_eq!(
            set(&found.providers),
            want.iter().map(ToString::to_string).collect(),
            "{query:?}"
        );
    }
}

/// One address serves many services, each of which comes and goes by itself.
pub async fn one_address_serves_many_services(subject: Registries) {
    let registry = subject.handle();
    let urls = [
        provider(1, "One", ""),
        provider(1, "Other", ""),
        provider(1, "One", "group=g"),
        provider(1, "One", "version=2"),
    ];
    for url in &urls {
        registry.register(url).await.expect("registers");
    }
    registry.unregister(&urls[0]).await.expect("unregisters");
    for (interface, query, want) in [
        ("One", "", &[][..]),
        ("Other", "", &[&urls[1]]),
        ("One", "group=g", &[&urls[2]]),
        ("One", "version=2", &[&urls[3]]),
    ] {
        let consumer = consumer(interface, query);
        let mut subscription = registry.subscribe(&consumer).await.expect("subscribes");
        sees(&mut subscription, want).await;
    }
}

/// Each category has a place of its own, and a consumer may ask for some only.
pub async fn consumers_and_rules_are_no_providers(subject: Registries) {
    let registry = subject.handle();
    let provider = provider(1, "Rules", "");
    let interface = own("Rules");
    let url = |text: String| -> Url { text.parse().expect("valid") };
    let rule = url(format!(
        "override://0.0.0.0/{interface}?category=configurators&timeout=5"
    ));
    let route = url(format!(
        "route://0.0.0.0/{interface}?category=routers&rule=x"
    ));
    for url in [
        &provider,
        &rule,
        &route,
        &consumer("Rules", "category=consumers"),
    ] {
        registry.register(url).await.expect("registers");
    }
    let mut subscription = subscribe(&*registry, "Rules").await;
    sees(&mut subscription, &[&provider]).await;
    soon("the rules", async {
        loop {
            let state = subscription.current().state.expect("no error");
            if *state.configurators == [rule.clone()] && *state.routers == [route.clone()] {
                return;
            }
            subscription.changed().await.expect("goes on");
        }
    })
    .await;

    let rules_only = consumer("Rules", "category=configurators");
    let found = registry.lookup(&rules_only).await.expect("looks up");
    assert_eq!(
        (
            found.providers.len(),
            found.configurators.len(),
            found.routers.len()
        ),
        (0, 1, 0)
    );
}

/// A provider with `enabled=false` is for those who ask for `enabled=*`.
pub async fn disabled_providers_are_not_seen(subject: Registries) {
    let registry = subject.handle();
    let on = provider(1, "Enabled", "enabled=true");
    let off = provider(2, "Enabled", "enabled=false");
    registry.register(&off).await.expect("registers");
    registry.register(&on).await.expect("registers");
    let mut subscription = subscribe(&*registry, "Enabled").await;
    sees(&mut subscription, &[&on]).await;
    let all = consumer("Enabled", "enabled=*");
    let mut subscription = registry.subscribe(&all).await.expect("subscribes");
    sees(&mut subscription, &[&on, &off]).await;
}

/// No parameter is lost or changed.
pub async fn urls_come_back_as_they_went_in(subject: Registries) {
    let registry = subject.handle();
    let interface = own("Exact");
    let text = format!(
        "tri://[fd00::1]:50051/{interface}?application=demo&interface={interface}&methods=SayBye,SayHello&\
         side=provider&timestamp=1700000000000"
    );
    let provider: Url = text.parse().expect("valid");
    registry.register(&provider).await.expect("registers");
    let mut subscription = subscribe(&*registry, "Exact").await;
    sees(&mut subscription, &[&provider]).await;
}

/// Closing a handle takes back what came through it alone, ends its subscriptions, and is final.
pub async fn closing_takes_back_what_was_registered_through_that_handle(subject: Registries) {
    let (first, second, watcher) = (subject.handle(), subject.handle(), subject.handle());
    let mine = provider(1, "Close", "");
    let shared = provider(2, "Close", "");
    first.register(&mine).await.expect("registers");
    first.register(&shared).await.expect("registers");
    second.register(&shared).await.expect("registers");
    let mut subscription = subscribe(&*watcher, "Close").await;
    sees(&mut subscription, &[&mine, &shared]).await;
    let mut ends = subscribe(&*first, "Close").await;

    first.close().await;
    sees(&mut subscription, &[&shared]).await;
    soon("the end of the closed handle's subscription", async {
        while ends.changed().await.is_some() {}
    })
    .await;
    let again = first.register(&mine).await.expect_err("is closed");
    assert!(again.to_string().contains("closed"), "{again}");
    let consumer = consumer("Close", "");
    assert!(first.subscribe(&consumer).await.is_err() && first.lookup(&consumer).await.is_err());
    first.close().await;
}

/// A group, in a registry's URL, is a registry of its own on the same server.
pub async fn groups_of_a_registry_do_not_see_each_other(subject: Registries) {
    let (one, other) = (subject.handle_in("suite-g1"), subject.handle_in("suite-g2"));
    let (first, second) = (provider(1, "Groups", ""), provider(2, "Groups", ""));
    one.register(&first).await.expect("registers");
    other.register(&second).await.expect("registers");
    sees(&mut subscribe(&*one, "Groups").await, &[&first]).await;
    sees(&mut subscribe(&*other, "Groups").await, &[&second]).await;
    other.close().await;
    sees(&mut subscribe(&*one, "Groups").await, &[&first]).await;
    one.close().await;
}

/// Many changes at once end with what is there.
pub async fn many_come_and_go_at_once(subject: Registries) {
    let watcher = subject.handle();
    let mut subscription = subscribe(&*watcher, "Many").await;
    let handles: Vec<_> = (0..4).map(|_| subject.handle()).collect();
    let urls: Vec<_> = (1..=100).map(|port| provider(port, "Many", "")).collect();
    let each = || {
        urls.iter()
            .enumerate()
            .map(|(n, url)| (&handles[n % 4], url))
    };
    let come = each().map(|(handle, url)| handle.register(url));
    for outcome in join_all(come).await {
        outcome.expect("registers");
    }
    sees(&mut subscription, &urls.iter().collect::<Vec<_>>()).await;
    let go = each().filter(|(_, url)| url.port() != Some(7));
    for outcome in join_all(go.map(|(handle, url)| handle.unregister(url))).await {
        outcome.expect("unregisters");
    }
    sees(&mut subscription, &[&urls[6]]).await;
    for handle in handles {
        handle.close().await;
    }
    sees(&mut subscription, &[]).await;
    watcher.close().await;
}

/// `interface=*` is every interface, also those that come later.
pub async fn who_follows_every_interface_sees_new_ones(subject: Registries) {
    let registry = subject.handle();
    let first = provider(1, "Every.One", "");
    registry.register(&first).await.expect("registers");
    let mut by_query = Vec::new();
    for query in ["", "&group=*&version=*"] {
        let text = format!("consumer://10.0.0.9/*?interface=*&side=consumer{query}");
        let consumer: Url = text.parse().expect("valid");
        by_query.push(registry.subscribe(&consumer).await.expect("subscribes"));
    }
    let second = provider(2, "Every.Two", "");
    let third = provider(3, "Every.Three", "group=g&version=1");
    for url in [&second, &third] {
        registry.register(url).await.expect("registers");
    }
    // Others may be there.
    let ours = own("Every.");
    let (name, _) = ours.rsplit_once(".R").expect("has a number");
    for (subscription, want) in by_query
        .iter_mut()
        .zip([vec![&first, &second], vec![&first, &second, &third]])
    {
        let want: BTreeSet<String> = want.into_iter().map(ToString::to_string).collect();
        let seen = async {
            loop {
                if let Ok(state) = subscription.current().state {
                    let mut found = set(&state.providers);
                    found.retain(|url| url.contains(name) && url.contains(&ours[name.len()..]));
                    if found == want {
                        return;
                    }
                }
                subscription.changed().await.expect("goes on");
            }
        };
        // Some servers do not tell of new names, and are asked now and then.
        subject.soon(&format!("the providers {want:?}"), seen).await;
    }
    registry.close().await;
}

/// The server has as many watches afterwards as before.
pub async fn unsubscribing_leaves_nothing_behind(subject: Registries) {
    let registry = subject.handle();
    // The first one may leave what belongs to the connection.
    drop(subscribe(&*registry, "Leaves").await);
    let test = "unsubscribing_leaves_nothing_behind";
    let Some(before) = subject.settled(test).await else {
        return;
    };
    let subscriptions = [
        subscribe(&*registry, "Leaves").await,
        subscribe(&*registry, "Leaves.Too").await,
    ];
    let during = subject.hooks.watches.now(test).unwrap_or_default();
    assert!(
        during > before,
        "{during} watches with two subscriptions, {before} before"
    );
    drop(subscriptions);
    subject.returns_to(test, before).await;
    registry.close().await;
}

/// Connections that are lost cost nothing.
pub async fn everything_survives_lost_connections(subject: Registries) {
    let hook = &subject.hooks.drop_connections;
    survives(
        &subject,
        "Lost",
        "everything_survives_lost_connections",
        hook,
    )
    .await;
}

/// A server that forgot who was there is told again.
pub async fn everything_survives_an_expired_session(subject: Registries) {
    let hook = &subject.hooks.expire;
    survives(
        &subject,
        "Expired",
        "everything_survives_an_expired_session",
        hook,
    )
    .await;
}

/// A server that was away has everything back when it is.
pub async fn everything_survives_a_restart_of_the_server(subject: Registries) {
    let hook = &subject.hooks.restart;
    survives(
        &subject,
        "Restarted",
        "everything_survives_a_restart_of_the_server",
        hook,
    )
    .await;
}

async fn survives(subject: &Registries, interface: &str, test: &str, fault: &Hook) {
    let (ours, theirs) = (subject.handle(), subject.handle());
    let urls: Vec<_> = (1..=3).map(|port| provider(port, interface, "")).collect();
    for url in &urls[..2] {
        theirs.register(url).await.expect("registers");
    }
    let mut subscription = subscribe(&*ours, interface).await;
    sees(&mut subscription, &[&urls[0], &urls[1]]).await;
    if !fault.act(test).await {
        return;
    }
    // What is taken back now must not come back with the connection (T16).
    theirs.unregister(&urls[0]).await.expect("unregisters");
    theirs.register(&urls[2]).await.expect("registers");
    let want = [&urls[1], &urls[2]];
    sees_within(subject.hooks.patience, &mut subscription, &want).await;
    assert!(fault.act(test).await);
    sees_within(subject.hooks.patience, &mut subscription, &want).await;
    let later = subject.handle();
    let mut late = subscribe(&*later, interface).await;
    sees_within(subject.hooks.patience, &mut late, &want).await;
    theirs.unregister(&urls[2]).await.expect("unregisters");
    for subscription in [&mut subscription, &mut late] {
        sees_within(subject.hooks.patience, subscription, &[&urls[1]]).await;
    }
    theirs.close().await;
    ours.close().await;
}

async fn subscribe(registry: &dyn Registry, interface: &str) -> Subscription<RegistrySnapshot> {
    let consumer = consumer(interface, "");
    registry.subscribe(&consumer).await.expect("subscribes")
}

/// Waits until `subscription` shows exactly `want`.
async fn sees(subscription: &mut Subscription<RegistrySnapshot>, want: &[&Url]) {
    sees_within(crate::PATIENCE, subscription, want).await;
}

async fn sees_within(
    patience: Duration,
    subscription: &mut Subscription<RegistrySnapshot>,
    want: &[&Url],
) {
    let want: BTreeSet<String> = want.iter().map(ToString::to_string).collect();
    let seen = async {
        loop {
            let update = subscription.current();
            if update
                .state
                .is_ok_and(|state| set(&state.providers) == want)
            {
                return;
            }
            subscription
                .changed()
                .await
                .expect("the subscription goes on");
        }
    };
    let waited = tokio::time::timeout(patience, seen).await;
    assert!(
        waited.is_ok(),
        "waited {patience:?} in vain for {want:?}; there is {:?}",
        subscription.current().state
    );
}

fn set<'u>(urls: impl IntoIterator<Item = &'u Url>) -> BTreeSet<String> {
    urls.into_iter().map(ToString::to_string).collect()
}

fn provider(port: u16, interface: &str, query: &str) -> Url {
    let interface = own(interface);
    let text =
        format!("tri://10.0.0.1:{port}/{interface}?{query}&interface={interface}&side=provider");
    text.parse().expect("valid")
}

fn consumer(interface: &str, query: &str) -> Url {
    let interface = own(interface);
    let text =
        format!("consumer://10.0.0.9/{interface}?{query}&interface={interface}&side=consumer");
    text.parse().expect("valid")
}
