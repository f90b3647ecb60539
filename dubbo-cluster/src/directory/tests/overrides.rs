//! What rules change about providers, and what stays.

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    cluster::{Directory, NodeWeight},
    registry::RegistrySnapshot,
    subscription::{Subscription, Update},
    url::Url,
};
use dubbo_test::logs::Logs;
use parking_lot::Mutex;
use tokio::{sync::watch, time::sleep};

use super::{DynamicDirectory, StaticDirectory, listed, refer, settle, snapshot};
use crate::{
    configurator::{Configurators, LiveOverrides},
    router::RouterChain,
    rules::key::Subject,
    testing::Scripted,
};

/// Providers under rules.
struct Ruled {
    updates: watch::Sender<Update<RegistrySnapshot>>,
    overrides: LiveOverrides,
    made: Arc<Mutex<Vec<Arc<Scripted>>>>,
    directory: Arc<dyn Directory>,
}

impl Ruled {
    async fn listing(providers: &[&str]) -> Self {
        let updates = watch::Sender::new(Update::new(1, Ok(snapshot(providers))));
        let (overrides, made) = (LiveOverrides::default(), Arc::<Mutex<Vec<_>>>::default());
        let refer = {
            let made = Arc::clone(&made);
            move |url| std::future::ready(refer(&made, url))
        };
        let directory = DynamicDirectory::follow_overridden(
            CONSUMER.parse().expect("valid"),
            &"memory://local".parse().expect("valid"),
            Subscription::new(updates.subscribe(), || {}),
            RouterChain::default(),
            overrides.clone(),
            refer,
        )
        .await;
        Self {
            directory: Arc::new(directory),
            updates,
            overrides,
            made,
        }
    }

    async fn direct(urls: &[&str]) -> Self {
        let urls: Vec<Url> = urls.iter().map(|text| text.parse().expect(text)).collect();
        let (overrides, made) = (LiveOverrides::default(), Arc::<Mutex<Vec<_>>>::default());
        let refer = {
            let made = Arc::clone(&made);
            move |url| std::future::ready(refer(&made, url))
        };
        let consumer = CONSUMER.parse().expect("valid");
        let routers = RouterChain::default();
        let directory =
            StaticDirectory::refer_overridden(consumer, &urls, routers, &overrides, refer).await;
        Self {
            updates: watch::Sender::new(Update::new(1, Ok(snapshot(&[])))),
            directory: Arc::new(directory.expect("refers")),
            overrides,
            made,
        }
    }

    /// Sets the parameters in `params` of the provider at `address`.
    async fn rule(&self, address: &str, params: &str) {
        let text = format!(
            "configVersion: v3.0\nconfigs:\n- side: consumer\n  providerAddresses: ['{address}']\n  parameters: {params}\n"
        );
        let rule = Configurators::parse(Subject::Application("a"), &text).expect(&text);
        self.overrides.set_rules(vec![Arc::new(rule)]);
        settle().await;
    }

    async fn no_rule(&self) {
        self.overrides.set_rules(Vec::new());
        settle().await;
    }

    fn made(&self) -> usize {
        self.made.lock().len()
    }

    fn weights(&self) -> Vec<NodeWeight> {
        let nodes = self.directory.nodes();
        nodes.iter().map(|node| node.weight).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn cluster_t34_a_rule_changes_a_node_in_place_and_its_end_too() {
    for ruled in [
        Ruled::listing(&["tri://p:1?weight=7", "tri://p:2?weight=7"]).await,
        Ruled::direct(&["tri://p:1?weight=7", "tri://p:2?weight=7"]).await,
    ] {
        let before = ruled.directory.nodes();
        ruled
            .rule("p:1", "{weight: 50, region: hz, dubbo.tag: gray}")
            .await;
        // An unknown one may be read by filters, so that it takes another invoker, and is the same provider all the same.
        assert_eq!(ruled.made(), 3);
        ruled
            .rule("p:1", "{weight: 60, region: hz, dubbo.tag: blue}")
            .await;
        assert_eq!(
            ruled.made(),
            3,
            "nothing that an invoker is made with has changed"
        );
        let nodes = ruled.directory.nodes();
        assert_eq!(ruled.weights(), [60, 7].map(NodeWeight::constant));
        assert_eq!(nodes[0].url.param("dubbo.tag"), Some("blue"));
        assert_eq!(nodes[0].invoker.url().param("dubbo.tag"), Some("gray"));
        assert_eq!(nodes[0].url.param("region"), Some("hz"));
        for (node, old) in nodes.iter().zip(before.iter()) {
            assert_eq!(node.id, old.id);
            assert!(Arc::ptr_eq(&node.state, &old.state));
        }
        assert!(Arc::ptr_eq(&nodes[1].invoker, &before[1].invoker));
        ruled.no_rule().await;
        assert_eq!(ruled.weights(), [7, 7].map(NodeWeight::constant));
        sleep(Duration::from_secs(1)).await;
        assert_eq!(listed(&*ruled.directory), [1, 2]);
        assert!(
            ruled
                .directory
                .nodes()
                .iter()
                .all(|node| node.invoker.is_available())
        );
        ruled.directory.close().await;
        assert!(ruled.made.lock().iter().all(|made| made.is_closed()));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_rule_makes_anew_is_closed_when_its_calls_have_ended() {
    let ruled = Ruled::listing(&["tri://p:1"]).await;
    let old = Arc::clone(&ruled.made.lock()[0]);
    old.set_in_flight(1);
    ruled.rule("0.0.0.0", "{payload: 100}").await;
    assert_eq!(
        ruled.directory.nodes()[0].invoker.url().param("payload"),
        Some("100")
    );
    sleep(Duration::from_secs(1)).await;
    assert!(!old.is_closed());
    old.set_in_flight(0);
    sleep(Duration::from_secs(1)).await;
    assert!(old.is_closed());
}

#[tokio::test(start_paused = true)]
async fn a_disabled_provider_is_left_out_until_it_is_not_disabled_any_more() {
    for (ruled, why) in [
        (
            Ruled::listing(&["tri://p:1", "tri://p:2"]).await,
            "registry memory://local lists 2, and none of them can be used: tri://p:1 (it is disabled, by itself or by an \
             override rule), tri://p:2",
        ),
        (
            Ruled::direct(&["tri://p:1", "tri://p:2"]).await,
            "an override rule disables every direct URL",
        ),
    ] {
        ruled.rule("p:1", "{disabled: true}").await;
        assert_eq!(listed(&*ruled.directory), [2]);
        ruled.rule("0.0.0.0", "{disabled: true}").await;
        assert!(listed(&*ruled.directory).is_empty());
        let found = ruled.directory.why_unavailable().expect("nobody is there");
        assert!(found.contains(why), "{found}");
        ruled.no_rule().await;
        assert_eq!(listed(&*ruled.directory), [1, 2]);
        assert_eq!(ruled.directory.why_unavailable(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_registry_overrides_is_the_weakest_and_ends_with_the_registry() {
    let ruled = Ruled::listing(&["tri://p:1"]).await;
    let say = |epoch: u64, rules: &[&str]| {
        let mut snapshot = snapshot(&["tri://p:1"]);
        let held = rules.iter().map(|text| text.parse::<Url>().expect(text));
        snapshot.configurators = held.collect();
        ruled.updates.send_replace(Update::new(epoch, Ok(snapshot)));
    };
    say(2, &["override://0.0.0.0/*?weight=5&warmup=1"]);
    settle().await;
    assert_eq!(ruled.weights(), [NodeWeight::constant(5)]);
    ruled.rule("p:1", "{weight: 6}").await;
    assert_eq!(ruled.weights(), [NodeWeight::constant(6)]);
    ruled.no_rule().await;
    assert_eq!(ruled.weights(), [NodeWeight::constant(5)]);
    say(3, &[]);
    settle().await;
    assert_eq!(ruled.weights(), [NodeWeight::constant(100)]);
    say(4, &["override://0.0.0.0/*?weight=5"]);
    settle().await;
    assert!(!ruled.overrides.current().is_empty());
    ruled.directory.close().await;
    assert!(ruled.overrides.current().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_cannot_be_used_leaves_a_provider_as_it_was() {
    let (logs, _logged) = Logs::record();
    let updates = watch::Sender::new(Update::new(1, Ok(snapshot(&["tri://p:1"]))));
    let overrides = LiveOverrides::default();
    let made = Arc::<Mutex<Vec<_>>>::default();
    let refer = {
        let made = Arc::clone(&made);
        move |url: Url| {
            let is_bad = url.param("payload") == Some("x");
            std::future::ready(if is_bad {
                Err("no size".into())
            } else {
                refer(&made, url)
            })
        }
    };
    let directory = DynamicDirectory::follow_overridden(
        CONSUMER.parse().expect("valid"),
        &"memory://local".parse().expect("valid"),
        Subscription::new(updates.subscribe(), || {}),
        RouterChain::default(),
        overrides.clone(),
        refer,
    )
    .await;
    let ruled = Ruled {
        updates,
        overrides,
        made,
        directory: Arc::new(directory),
    };
    ruled.rule("p:1", "{payload: x, weight: 3}").await;
    assert_eq!(ruled.weights(), [NodeWeight::constant(100)]);
    assert_eq!(logs.with("it is called as before").len(), 1);
    ruled.rule("p:1", "{payload: 5, weight: 3}").await;
    assert_eq!(ruled.weights(), [NodeWeight::constant(3)]);
}

#[tokio::test(start_paused = true)]
async fn an_option_of_the_whole_reference_for_one_provider_is_told_of() {
    let (logs, _logged) = Logs::record();
    let ruled = Ruled::listing(&["tri://p:1", "tri://p:2"]).await;
    ruled.rule("0.0.0.0", "{timeout: 1}").await;
    assert!(logs.with("has no effect").is_empty());
    for _ in 0..2 {
        ruled.rule("p:1", "{methods.get.timeout: 2}").await;
    }
    let lines = logs.with("has no effect");
    assert!(
        lines.len() == 1 && lines[0].contains("methods.get.timeout"),
        "{lines:?}"
    );
}

const CONSUMER: &str = "consumer://10.0.0.9/a.B?group=g&side=consumer&timeout=5";
