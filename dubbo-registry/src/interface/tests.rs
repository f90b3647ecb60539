//! What consumers are shown while lists come, go and fail, on paused time.

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    registry::{Registry, RegistrySnapshot},
    subscription::Subscription,
    url::Url,
};

use super::InterfaceRegistry;
use crate::{
    backend::Timing,
    flaky::{Fate, Flaky},
    memory::{MemoryRegistry, Store},
    plain::Plain,
    reconcile::Reconciler,
};

/// A registry behind a bad connection, and one beside it.
struct Rig {
    client: Arc<Flaky>,
    registry: InterfaceRegistry<Flaky, Plain>,
    others: MemoryRegistry,
}

impl Rig {
    fn new(params: &str) -> Self {
        let store: Arc<Store> = Arc::default();
        let client = Flaky::new(&store, Timing::default());
        let address = url(&format!("flaky://server?{params}"));
        let layout = Plain::of(&address);
        let reconciler = Reconciler::new(Arc::clone(&client));
        Self {
            client,
            registry: InterfaceRegistry::new(address, reconciler, layout).expect("valid"),
            others: MemoryRegistry::on(url("memory://others"), store),
        }
    }

    async fn subscribe(&self, consumer: &str) -> Subscription<RegistrySnapshot> {
        let consumer = url(&format!("consumer://c/{consumer}"));
        self.registry
            .subscribe(&consumer)
            .await
            .expect("subscribes")
    }
}

fn url(text: &str) -> Url {
    text.parse().expect(text)
}

/// Waits until `is_it`.
async fn until(
    subscription: &mut Subscription<RegistrySnapshot>,
    is_it: impl Fn(&RegistrySnapshot) -> bool,
) -> RegistrySnapshot {
    dubbo_test::soon("the snapshot", async {
        loop {
            if let Ok(state) = subscription.current().state
                && is_it(&state)
            {
                return state;
            }
            subscription.changed().await.expect("goes on");
        }
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn case_69_an_empty_list_of_another_category_clears_nothing() {
    let rig = Rig::new("");
    let mut subscription = rig.subscribe("a.B").await;
    let provider = url("tri://h:1/a.B");
    let rule = url("override://0.0.0.0/a.B?category=configurators");
    let route = url("route://0.0.0.0/a.B?category=routers");
    for url in [&provider, &rule, &route] {
        rig.others.register(url).await.expect("registers");
    }
    until(&mut subscription, |s| {
        s.routers.len() == 1 && s.configurators.len() == 1
    })
    .await;
    rig.others.unregister(&rule).await.expect("unregisters");
    let now = until(&mut subscription, |s| s.configurators.is_empty()).await;
    assert_eq!((now.providers.len(), now.routers.len()), (1, 1));
    rig.others.unregister(&provider).await.expect("unregisters");
    let now = until(&mut subscription, |s| s.providers.is_empty()).await;
    assert_eq!(now.routers.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_category_that_fails_stays_as_it_was_and_holds_up_no_other() {
    let rig = Rig::new("");
    let route = url("route://0.0.0.0/a.B?category=routers");
    rig.others.register(&route).await.expect("registers");
    let mut subscription = rig.subscribe("a.B").await;
    until(&mut subscription, |s| s.routers.len() == 1).await;
    rig.client.behave(|request| match request {
        "read interfaces/a.B/routers" => Fate::Fail,
        _ => Fate::Work,
    });
    rig.others.unregister(&route).await.expect("unregisters");
    let provider = url("tri://h:1/a.B");
    rig.others.register(&provider).await.expect("registers");
    let now = until(&mut subscription, |s| s.providers.len() == 1).await;
    assert_eq!(now.routers.len(), 1, "nobody knows better");
    until(&mut subscription, |s| {
        s.steps[0].to_string()
            == "registry: flaky://server answers, but for one list, which stays as it was: \
                read interfaces/a.B/routers at flaky://server: failed"
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn as_long_as_one_list_was_never_read_nobody_knows() {
    for (fails, wants_error) in [
        ("configurators", true),
        ("providers", true),
        ("consumers", false),
    ] {
        let rig = Rig::new("");
        rig.client.behave(move |request| {
            let hit = request.starts_with("read ") && request.ends_with(fails);
            if hit { Fate::Fail } else { Fate::Work }
        });
        let mut subscription = rig.subscribe("a.B").await;
        let state = subscription.current().state;
        assert_eq!(state.is_err(), wants_error, "{fails}: {state:?}");
        rig.client.behave(|_| Fate::Work);
        tokio::time::sleep(Duration::from_secs(1)).await;
        until(&mut subscription, |s| s.providers.is_empty()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_an_error_at_once_and_silence_after_a_while() {
    let rig = Rig::new("");
    rig.client.lose();
    let mut subscription = rig.subscribe("a.B").await;
    let error = subscription.current().state.expect_err("is lost");
    assert_eq!(error.to_string(), "connect at flaky://server: lost");
    rig.client.reconnect();
    until(&mut subscription, |s| s.providers.is_empty()).await;

    let rig = Rig::new("");
    rig.client.not_yet();
    let start = tokio::time::Instant::now();
    let mut subscription = rig.subscribe("a.B").await;
    let error = subscription.current().state.expect_err("is silent");
    assert_eq!(
        (error.to_string().as_str(), start.elapsed()),
        (
            "subscribe to consumer://c/a.B at flaky://server: no answer yet",
            Duration::from_secs(3)
        )
    );
    rig.client.reconnect();
    until(&mut subscription, |s| s.providers.is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn registry_t15_the_last_provider_goes_unless_it_is_protected() {
    for (params, stays) in [
        ("", false),
        ("enable-empty-protection=false", false),
        ("enable-empty-protection=true", true),
    ] {
        let rig = Rig::new(params);
        let providers = [url("tri://h:1/a.B"), url("tri://h:2/a.B")];
        for provider in &providers {
            rig.others.register(provider).await.expect("registers");
        }
        let mut subscription = rig.subscribe("a.B").await;
        until(&mut subscription, |s| s.providers.len() == 2).await;
        rig.others
            .unregister(&providers[0])
            .await
            .expect("unregisters");
        until(&mut subscription, |s| s.providers == providers[1..]).await;
        rig.others
            .unregister(&providers[1])
            .await
            .expect("unregisters");
        if stays {
            let now = until(&mut subscription, |s| s.steps.len() == 2).await;
            assert_eq!(now.providers, providers[1..]);
            assert_eq!(
                now.steps[1].to_string(),
                "enable-empty-protection: the registry lists none any more; the last 1 stay -> 1"
            );
            rig.others.register(&providers[0]).await.expect("registers");
            until(&mut subscription, |s| s.providers == providers[..1]).await;
        } else {
            until(&mut subscription, |s| s.providers.is_empty()).await;
        }
    }
    let odd = url("flaky://server?enable-empty-protection=perhaps");
    let client = Flaky::new(&Arc::default(), Timing::default());
    let made = InterfaceRegistry::new(odd.clone(), Reconciler::new(client), Plain::of(&odd));
    let error = made.expect_err("is no truth value").to_string();
    assert!(error.contains("enable-empty-protection"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn registry_t17_a_provider_that_says_little_is_accepted() {
    let rig = Rig::new("");
    let mut subscription = rig.subscribe("a.B?interface=a.B&side=consumer").await;
    for (count, text) in [
        (1, "tri://h:1/a.B?interface=a.B"),
        (2, "tri://h:2/a.B?application=demo&interface=a.B&methods=x"),
        (
            3,
            "tri://h:3/a.B?application=demo&interface=a.B&side=provider",
        ),
        (
            4,
            "tri://h:4/a.B?application=demo&interface=a.B&timestamp=1700000000",
        ),
        (5, "dubbo://h:5/a.B"),
    ] {
        rig.others.register(&url(text)).await.expect("registers");
        until(&mut subscription, |s| s.providers.len() == count).await;
    }
}

#[tokio::test(start_paused = true)]
async fn registry_t18_values_come_through_and_what_others_misread_is_refused() {
    let rig = Rig::new("");
    for (value, encoded) in [
        ("a b", "a%2520b"),
        ("a+b", "a%252Bb"),
        ("a*b", "a%2Ab"),
        ("a~b", "a%7Eb"),
        ("a,b", "a%2Cb"),
        ("a%b", "a%2525b"),
        ("a&b=c", "a%2526b%3Dc"),
    ] {
        let provider = url("tri://h:1/a.B").with_param("v", value);
        assert!(
            provider.encode().ends_with(&format!("v%3D{encoded}")),
            "{}",
            provider.encode()
        );
        let back = Url::decode(&provider.encode()).expect("our own");
        assert_eq!(back.param("v"), Some(value));
        rig.registry.register(&provider).await.expect("registers");
        let found = rig
            .registry
            .lookup(&url("consumer://c/a.B"))
            .await
            .expect("reads");
        assert_eq!(found.providers.first(), Some(&provider));
        rig.registry
            .unregister(&provider)
            .await
            .expect("unregisters");
    }
    let provider = url("tri://h:1/a.B").with_param("v", "a;b");
    let error = rig.registry.register(&provider).await.expect_err("refused");
    assert!(error.reason.contains("`v` has a `;`"), "{error}");
    // As other frameworks write them: a space is a plus, and what they need not escape is not escaped.
    for (encoded, value) in [("v%3Da+b", "a b"), ("v%3Da*b", "a*b"), ("v%3Da~b", "a~b")] {
        let text = format!("tri%3A%2F%2Fh%3A1%2Fa.B%3F{encoded}");
        let read = Url::decode(&text).expect("theirs");
        assert_eq!(read.param("v"), Some(value), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_place_that_fails_behind_a_name_harms_no_other() {
    let rig = Rig::new("");
    rig.client.behave(|request| {
        let hit = request.starts_with("read interfaces/a.Bad");
        if hit { Fate::Fail } else { Fate::Work }
    });
    for interface in ["a.Bad", "a.Good"] {
        let provider = url(&format!("tri://h:1/{interface}"));
        rig.others.register(&provider).await.expect("registers");
    }
    let mut subscription = rig.subscribe("*?interface=*").await;
    let now = until(&mut subscription, |s| s.providers.len() == 1).await;
    assert_eq!(now.providers[0].path(), "a.Good");
    rig.client.behave(|_| Fate::Work);
    until(&mut subscription, |s| s.providers.len() == 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_registration_says_what_was_refused_and_where() {
    let rig = Rig::new("");
    rig.client.behave(|_| Fate::Refuse);
    let provider = url("tri://h:1/a.B");
    let error = rig.registry.register(&provider).await.expect_err("refused");
    assert_eq!(
        error.to_string(),
        "register tri://h:1/a.B at flaky://server: show interfaces/a.B/providers h: refused"
    );
}
