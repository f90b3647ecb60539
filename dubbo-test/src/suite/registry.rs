//! What every [`Registry`] does.
//!
//! A crate with a registry runs all of it with [`registry_suite!`](crate::registry_suite!), which makes each function of
//! this module a test of its own. Interfaces have names of their own in each case, so that cases do not meet in a registry
//! that they share. What a remote registry shows late is waited for.

use std::{collections::BTreeSet, fmt, sync::Arc};

use dubbo_core::{
    registry::{Registry, RegistrySnapshot},
    subscription::Subscription,
    url::Url,
};

use crate::soon;

/// Makes handles on one and the same registry.
pub struct Subject(Box<dyn Fn() -> Arc<dyn Registry> + Send + Sync>);

impl Subject {
    /// `handle` makes a further handle: what is registered through one is seen through all.
    pub fn new(handle: impl Fn() -> Arc<dyn Registry> + Send + Sync + 'static) -> Self {
        Self(Box::new(handle))
    }

    fn handle(&self) -> Arc<dyn Registry> {
        (self.0)()
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subject").field(self.handle().url()).finish()
    }
}

/// Runs the suite on a [`Subject`]: `registry_suite!({ let mine = Mine::new(); Subject::new(move || Arc::new(mine.clone())) })`.
#[macro_export]
macro_rules! registry_suite {
    ($subject:expr) => {
        $crate::registry_suite! { @each $subject;
            a_subscription_starts_with_what_is_there_and_gets_every_change,
            closing_takes_back_what_was_registered_through_that_handle,
            consumers_and_rules_are_no_providers,
            disabled_providers_are_not_seen,
            interface_group_and_version_decide_who_is_seen,
            nobody_is_an_empty_list_and_no_error,
            one_address_serves_many_services,
            registering_twice_is_once,
            urls_come_back_as_they_went_in,
        }
    };
    (@each $subject:expr; $($name:ident,)*) => {
        $(#[tokio::test]
        async fn $name() {
            $crate::suite::registry::$name($subject).await;
        })*
    };
}

/// A subscription is a state at once and follows every change, also those of other handles; its epochs grow.
pub async fn a_subscription_starts_with_what_is_there_and_gets_every_change(subject: Subject) {
    let (ours, theirs) = (subject.handle(), subject.handle());
    let (first, second) = (
        provider(1, "suite.Changes", ""),
        provider(2, "suite.Changes", ""),
    );
    theirs.register(&first).await.expect("registers");
    let mut early = subscribe(&*ours, "suite.Changes").await;
    sees(&mut early, &[&first]).await;
    let before = early.current().epoch;

    theirs.register(&second).await.expect("registers");
    sees(&mut early, &[&first, &second]).await;
    let mut late = subscribe(&*ours, "suite.Changes").await;
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
pub async fn nobody_is_an_empty_list_and_no_error(subject: Subject) {
    let registry = subject.handle();
    let mut subscription = subscribe(&*registry, "suite.Nobody").await;
    let found = registry.lookup(&consumer("suite.Nobody", "")).await;
    for state in [
        subscription.current().state.expect("no error"),
        found.expect("no error"),
    ] {
        let lists = [&state.providers, &state.configurators, &state.routers];
        assert!(lists.iter().all(|list| list.is_empty()), "{state:?}");
        let last = state.steps.last().expect("it says how nobody was found");
        assert!(
            last.is_empty() && last.evidence.contains("suite.Nobody"),
            "{last}"
        );
    }
    let unknown = provider(1, "suite.Nobody", "");
    registry
        .unregister(&unknown)
        .await
        .expect("it is not there, as was asked");
}

/// Registering twice is the same as once.
pub async fn registering_twice_is_once(subject: Subject) {
    let registry = subject.handle();
    let provider = provider(1, "suite.Twice", "");
    registry.register(&provider).await.expect("registers");
    registry.register(&provider).await.expect("registers again");
    let mut subscription = subscribe(&*registry, "suite.Twice").await;
    sees(&mut subscription, &[&provider]).await;
    registry.unregister(&provider).await.expect("unregisters");
    sees(&mut subscription, &[]).await;
}

/// `docs/spec/registry.md` §1.4.
pub async fn interface_group_and_version_decide_who_is_seen(subject: Subject) {
    let registry = subject.handle();
    let plain = provider(1, "suite.Keys", "");
    let g1 = provider(2, "suite.Keys", "group=g1");
    let v1 = provider(3, "suite.Keys", "version=1.0");
    let both = provider(4, "suite.Keys", "group=g1&version=1.0");
    let other = provider(5, "suite.Keys", "group=g2&version=2.0");
    let foreign = provider(6, "suite.KeysToo", "");
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
        let consumer = consumer("suite.Keys", query);
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
pub async fn one_address_serves_many_services(subject: Subject) {
    let registry = subject.handle();
    let urls = [
        provider(1, "suite.One", ""),
        provider(1, "suite.Other", ""),
        provider(1, "suite.One", "group=g"),
        provider(1, "suite.One", "version=2"),
    ];
    for url in &urls {
        registry.register(url).await.expect("registers");
    }
    registry.unregister(&urls[0]).await.expect("unregisters");
    for (interface, query, want) in [
        ("suite.One", "", &[][..]),
        ("suite.Other", "", &[&urls[1]]),
        ("suite.One", "group=g", &[&urls[2]]),
        ("suite.One", "version=2", &[&urls[3]]),
    ] {
        let consumer = consumer(interface, query);
        let mut subscription = registry.subscribe(&consumer).await.expect("subscribes");
        sees(&mut subscription, want).await;
    }
}

/// Each category has a place of its own, and a consumer may ask for some only.
pub async fn consumers_and_rules_are_no_providers(subject: Subject) {
    let registry = subject.handle();
    let provider = provider(1, "suite.Rules", "");
    let rule: Url = "override://0.0.0.0/suite.Rules?category=configurators&timeout=5"
        .parse()
        .expect("valid");
    let route: Url = "route://0.0.0.0/suite.Rules?category=routers&rule=x"
        .parse()
        .expect("valid");
    for url in [
        &provider,
        &rule,
        &route,
        &consumer("suite.Rules", "category=consumers"),
    ] {
        registry.register(url).await.expect("registers");
    }
    let mut subscription = subscribe(&*registry, "suite.Rules").await;
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

    let rules_only = consumer("suite.Rules", "category=configurators");
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
pub async fn disabled_providers_are_not_seen(subject: Subject) {
    let registry = subject.handle();
    let on = provider(1, "suite.Enabled", "enabled=true");
    let off = provider(2, "suite.Enabled", "enabled=false");
    registry.register(&off).await.expect("registers");
    registry.register(&on).await.expect("registers");
    let mut subscription = subscribe(&*registry, "suite.Enabled").await;
    sees(&mut subscription, &[&on]).await;
    let all = consumer("suite.Enabled", "enabled=*");
    let mut subscription = registry.subscribe(&all).await.expect("subscribes");
    sees(&mut subscription, &[&on, &off]).await;
}

/// No parameter is lost or changed.
pub async fn urls_come_back_as_they_went_in(subject: Subject) {
    let registry = subject.handle();
    let provider: Url = "tri://[fd00::1]:50051/suite.Exact?application=demo&interface=suite.Exact&methods=SayBye,SayHello&\
                         side=provider&timestamp=1700000000000"
        .parse()
        .expect("valid");
    registry.register(&provider).await.expect("registers");
    let mut subscription = subscribe(&*registry, "suite.Exact").await;
    sees(&mut subscription, &[&provider]).await;
}

/// Closing a handle takes back what came through it alone, ends its subscriptions, and is final.
pub async fn closing_takes_back_what_was_registered_through_that_handle(subject: Subject) {
    let (first, second, watcher) = (subject.handle(), subject.handle(), subject.handle());
    let mine = provider(1, "suite.Close", "");
    let shared = provider(2, "suite.Close", "");
    first.register(&mine).await.expect("registers");
    first.register(&shared).await.expect("registers");
    second.register(&shared).await.expect("registers");
    let mut subscription = subscribe(&*watcher, "suite.Close").await;
    sees(&mut subscription, &[&mine, &shared]).await;
    let mut ends = subscribe(&*first, "suite.Close").await;

    first.close().await;
    sees(&mut subscription, &[&shared]).await;
    soon("the end of the closed handle's subscription", async {
        while ends.changed().await.is_some() {}
    })
    .await;
    let again = first.register(&mine).await.expect_err("is closed");
    assert!(again.to_string().contains("closed"), "{again}");
    let consumer = consumer("suite.Close", "");
    assert!(first.subscribe(&consumer).await.is_err() && first.lookup(&consumer).await.is_err());
    first.close().await;
}

async fn subscribe(registry: &dyn Registry, interface: &str) -> Subscription<RegistrySnapshot> {
    let consumer = consumer(interface, "");
    registry.subscribe(&consumer).await.expect("subscribes")
}

/// Waits until `subscription` shows exactly `want`.
async fn sees(subscription: &mut Subscription<RegistrySnapshot>, want: &[&Url]) {
    let want: BTreeSet<String> = want.iter().map(ToString::to_string).collect();
    let what = format!("the providers {want:?}");
    soon(&what, async {
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
    })
    .await;
}

fn set(urls: &[Url]) -> BTreeSet<String> {
    urls.iter().map(ToString::to_string).collect()
}

fn provider(port: u16, interface: &str, query: &str) -> Url {
    let text =
        format!("tri://10.0.0.1:{port}/{interface}?{query}&interface={interface}&side=provider");
    text.parse().expect("valid")
}

fn consumer(interface: &str, query: &str) -> Url {
    let text =
        format!("consumer://10.0.0.9/{interface}?{query}&interface={interface}&side=consumer");
    text.parse().expect("valid")
}
