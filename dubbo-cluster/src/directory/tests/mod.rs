//! How directories follow what they are told, on a registry that says what the test wants.

mod overrides;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use dubbo_core::{
    cluster::{Candidates, ClusterConfig, Directory, MethodConfig, NodeWeight, Router},
    extension::BoxError,
    invocation::Invocation,
    invoker::Invoker,
    registry::{RegistryError, RegistrySnapshot},
    service::ServiceKey,
    subscription::{Subscription, Update},
    url::Url,
};
use parking_lot::Mutex;
use tokio::{sync::watch, time::sleep};

use super::{DynamicDirectory, StaticDirectory};
use crate::{
    cluster::Failover,
    loadbalance::Random,
    router::RouterChain,
    testing::{Answer, Scripted, consumer, invocation, join, ports, service},
};

/// A registry for one service: what it says, and the invokers that were made from it.
struct Registry {
    updates: watch::Sender<Update<RegistrySnapshot>>,
    unsubscribed: Arc<AtomicBool>,
    made: Arc<Mutex<Vec<Arc<Scripted>>>>,
}

impl Registry {
    fn saying(providers: &[&str]) -> Self {
        Self {
            updates: watch::Sender::new(Update::new(1, Ok(snapshot(providers)))),
            unsubscribed: Arc::default(),
            made: Arc::default(),
        }
    }

    fn failing() -> Self {
        let registry = Self::saying(&[]);
        registry.fail(1);
        registry
    }

    async fn follow(&self, consumer: &str) -> DynamicDirectory {
        let made = Arc::clone(&self.made);
        self.follow_with(consumer, move |url| refer(&made, url))
            .await
    }

    async fn follow_with(
        &self,
        consumer: &str,
        refer: impl Fn(Url) -> Result<Arc<dyn Invoker>, BoxError> + Send + Sync + 'static,
    ) -> DynamicDirectory {
        let unsubscribed = Arc::clone(&self.unsubscribed);
        let subscription = Subscription::new(self.updates.subscribe(), move || {
            unsubscribed.store(true, Ordering::Relaxed);
        });
        DynamicDirectory::follow(
            consumer.parse().expect(consumer),
            &"memory://user:secret@local:1?x=y".parse().expect("valid"),
            subscription,
            RouterChain::default(),
            move |url| std::future::ready(refer(url)),
        )
        .await
    }

    fn say(&self, epoch: u64, providers: &[&str]) {
        self.updates
            .send_replace(Update::new(epoch, Ok(snapshot(providers))));
    }

    fn fail(&self, epoch: u64) {
        let error = RegistryError::new("subscribe to a.B", "memory://local:1", "refused");
        self.updates
            .send_replace(Update::new(epoch, Err(Arc::new(error))));
    }

    /// The provider last made at `port`.
    fn provider(&self, port: u16) -> Arc<Scripted> {
        let made = self.made.lock();
        let mut of_port = made.iter().rev().filter(|p| p.url().port() == Some(port));
        Arc::clone(of_port.next().expect("was made"))
    }

    fn made(&self) -> Vec<u16> {
        self.made
            .lock()
            .iter()
            .filter_map(|provider| provider.url().port())
            .collect()
    }
}

/// Refuses the provider at port 13, and panics at port 14.
fn refer(made: &Mutex<Vec<Arc<Scripted>>>, url: Url) -> Result<Arc<dyn Invoker>, BoxError> {
    match url.port() {
        Some(13) => Err("bad luck".into()),
        Some(14) => panic!("worse luck"),
        _ => {
            let provider = Scripted::of(url, []);
            made.lock().push(Arc::clone(&provider));
            Ok(provider)
        }
    }
}

fn snapshot(providers: &[&str]) -> RegistrySnapshot {
    let urls: Vec<Url> = providers
        .iter()
        .map(|text| text.parse().expect(text))
        .collect();
    RegistrySnapshot::of_providers(urls)
}

/// Lets the directory's task take in what was said.
async fn settle() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

fn listed(directory: &dyn Directory) -> Vec<u16> {
    let candidates = directory.list(&invocation());
    candidates.map(|c| ports(&c)).unwrap_or_default()
}

fn why(directory: &dyn Directory) -> String {
    let status = directory.list(&invocation()).expect_err("nobody is there");
    assert!(status.is_not_processed());
    if directory.nodes().is_empty() {
        let why = directory.why_unavailable().expect("nobody is there");
        assert!(status.message().ends_with(&format!("a.B: {why}")), "{why}");
    }
    status.message().to_owned()
}

const CONSUMER: &str = "consumer://10.0.0.9/a.B?timeout=5&group=g";

#[tokio::test(start_paused = true)]
async fn the_first_state_is_there_at_once_as_the_consumer_sees_it() {
    let registry = Registry::saying(&["tri://p:1/a.B?weight=7&timeout=9&version=2"]);
    let directory = registry.follow(CONSUMER).await;
    let candidates = directory.list(&invocation()).expect("one");
    let node = candidates.get(0).expect("one");
    assert_eq!(node.weight, NodeWeight::constant(7));
    let url = node.invoker.url();
    assert_eq!(
        url.to_string(),
        "tri://p:1/a.B?group=g&timeout=5&version=2&weight=7"
    );
    assert_eq!(directory.origin(), "registry memory://local:1");
}

#[tokio::test(start_paused = true)]
async fn who_stays_keeps_its_invoker_and_who_leaves_is_closed() {
    let registry = Registry::saying(&["tri://p:1", "tri://p:2"]);
    let directory = registry.follow(CONSUMER).await;
    assert_eq!(listed(&directory), [1, 2]);
    let kept = Arc::clone(&directory.nodes()[1].invoker);

    registry.say(2, &["tri://p:3", "tri://p:2"]);
    settle().await;
    assert_eq!(listed(&directory), [3, 2], "in the registry's order");
    assert!(Arc::ptr_eq(&kept, &directory.nodes()[1].invoker));
    assert_eq!(registry.made(), [1, 2, 3], "each was made once");
    sleep(Duration::from_secs(1)).await;
    let closed = [1, 2, 3].map(|port| registry.provider(port).is_closed());
    assert_eq!(closed, [true, false, false]);

    registry.say(3, &["tri://p:3", "tri://p:2?weight=5"]);
    settle().await;
    assert_eq!(
        registry.made(),
        [1, 2, 3, 2],
        "another URL is another invoker"
    );
    assert_eq!(directory.nodes()[1].weight, NodeWeight::constant(5));
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_leaves_is_closed_when_its_calls_have_ended() {
    let registry = Registry::saying(&["tri://p:1"]);
    let made = Arc::clone(&registry.made);
    let directory = registry
        .follow_with(CONSUMER, move |url| {
            let slow = Scripted::of(url, [Answer::After(Duration::from_secs(5))]);
            made.lock().push(Arc::clone(&slow));
            Ok(slow)
        })
        .await;
    let node = directory.nodes()[0].clone();
    let call = tokio::spawn(async move { node.invoker.invoke(invocation()).await });
    settle().await;
    registry.say(2, &[]);
    sleep(Duration::from_secs(4)).await;
    assert!(!registry.provider(1).is_closed());
    call.await.expect("no panic").expect("the call ends well");
    sleep(Duration::from_millis(200)).await;
    assert!(registry.provider(1).is_closed());
}

#[tokio::test(start_paused = true)]
async fn an_outage_keeps_the_last_list_and_an_empty_list_is_none() {
    let registry = Registry::saying(&["tri://p:1"]);
    let directory = registry.follow(CONSUMER).await;
    registry.fail(2);
    settle().await;
    assert_eq!(listed(&directory), [1]);
    assert!(!registry.provider(1).is_closed());

    registry.say(3, &[]);
    settle().await;
    sleep(Duration::from_secs(12)).await;
    assert_eq!(
        why(&directory),
        "no provider available for g/a.B: registry memory://local:1 has listed none for 12s; the last one was tri://p:1"
    );
    registry.fail(4);
    settle().await;
    let text = why(&directory);
    assert!(
        text.ends_with(
            "it has been failing for 0ns: subscribe to a.B at memory://local:1: refused"
        ),
        "{text}"
    );

    registry.say(5, &["tri://p:1"]);
    settle().await;
    assert_eq!(listed(&directory), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_never_answered_or_never_listed_anyone_is_named_as_such() {
    let registry = Registry::failing();
    let directory = registry.follow(CONSUMER).await;
    sleep(Duration::from_secs(2)).await;
    registry.fail(2);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(
        why(&directory),
        "no provider available for g/a.B: registry memory://local:1 gives no list, for 3s: subscribe to a.B at memory://local:1: refused"
    );
    for nobody in [&[][..], &["empty://10.0.0.9/a.B?category=providers"]] {
        let directory = Registry::saying(nobody).follow(CONSUMER).await;
        let text = why(&directory);
        assert!(
            text.contains("lists none, and has listed none for 0ns; check that a provider runs"),
            "{text}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_bad_provider_is_left_out_and_costs_nobody_else_anything() {
    let registry = Registry::saying(&["tri://p:13", "tri://p:1", "tri://p:14", "tri://p:2"]);
    let directory = registry.follow(CONSUMER).await;
    assert_eq!(listed(&directory), [1, 2]);
    registry.say(2, &["tri://p:1", "tri://p:13"]);
    settle().await;
    assert_eq!(listed(&directory), [1], "the task has survived the panic");

    registry.say(3, &["tri://p:13", "tri://p:14"]);
    settle().await;
    assert_eq!(
        why(&directory),
        "no provider available for g/a.B: registry memory://local:1 lists 2, and none of them can be used: \
         tri://p:13 (bad luck), tri://p:14 (a panic while referring to it; the log has its text)"
    );
}

#[tokio::test(start_paused = true)]
async fn only_wanted_protocols_are_called() {
    let all = ["dubbo://p:1", "tri://p:2", "TRI://p:3", "rest://p:4"];
    for (consumer, want) in [
        ("consumer://c/a.B", &[1, 2, 3, 4][..]),
        ("consumer://c/a.B?protocol=", &[1, 2, 3, 4]),
        ("consumer://c/a.B?protocol=tri", &[2, 3]),
        ("consumer://c/a.B?protocol=rest,%20dubbo", &[1, 4]),
    ] {
        let directory = Registry::saying(&all).follow(consumer).await;
        assert_eq!(listed(&directory), want, "{consumer}");
    }
    let directory = Registry::saying(&["dubbo://p:1"])
        .follow("consumer://c/a.B?protocol=tri")
        .await;
    let text = why(&directory);
    assert!(text.ends_with("lists 1, and none of them can be used: dubbo://p:1 (the reference wants the protocol `tri`)"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn old_updates_and_second_mentions_do_not_count() {
    let registry = Registry::saying(&["tri://p:1?x=1", "tri://p:1?x=2", "tri://p:2"]);
    registry.say(7, &["tri://p:1?x=1", "tri://p:1?x=2", "tri://p:2"]);
    let directory = registry.follow(CONSUMER).await;
    assert_eq!(listed(&directory), [1, 2]);
    registry.say(6, &["tri://p:9"]);
    settle().await;
    assert_eq!(listed(&directory), [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_goes_away_leaves_the_list() {
    let registry = Registry::saying(&["tri://p:1"]);
    let directory = registry.follow(CONSUMER).await;
    let made = Arc::clone(&registry.made);
    drop(registry);
    sleep(Duration::from_mins(1)).await;
    assert_eq!(listed(&directory), [1]);
    directory.close().await;
    assert!(made.lock()[0].is_closed());
}

#[tokio::test(start_paused = true)]
async fn closing_ends_the_subscription_and_closes_those_who_left_too() {
    let registry = Registry::saying(&["tri://p:1", "tri://p:2"]);
    let directory = registry.follow(CONSUMER).await;
    registry.say(2, &["tri://p:2"]);
    settle().await;
    tokio::join!(directory.close(), directory.close());
    assert!(registry.provider(1).is_closed() && registry.provider(2).is_closed());
    assert!(registry.unsubscribed.load(Ordering::Relaxed));
    assert_eq!(
        why(&directory),
        "no provider available for g/a.B: the reference is closed"
    );
    assert!(directory.nodes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn dropping_a_directory_ends_its_subscription() {
    let registry = Registry::saying(&["tri://p:1"]);
    drop(registry.follow(CONSUMER).await);
    settle().await;
    assert!(registry.unsubscribed.load(Ordering::Relaxed));
    assert_eq!(
        Arc::strong_count(&registry.provider(1)),
        2,
        "here and in the list of those made"
    );
}

#[tokio::test(start_paused = true)]
async fn providers_out_of_reach_are_named() {
    let names = ["tri://p:1", "tri://p:2", "tri://p:3", "tri://p:4"];
    let registry = Registry::saying(&names);
    let directory = registry.follow(CONSUMER).await;
    assert!(directory.why_unavailable().is_none());
    let (direct, made) = direct(&names[..2], RouterChain::default()).await;
    let direct = direct.expect("can be referred to");
    assert!(direct.why_unavailable().is_none());
    for provider in made.iter().chain(&*registry.made.lock()) {
        provider.set_available(false);
    }
    made[1].set_unreachable("cannot connect to p:2: refused");
    for (directory, want) in [
        (
            &directory as &dyn Directory,
            "none of 4 from registry memory://local:1 can be reached: tri://p:1, tri://p:2, tri://p:3 and 1 more",
        ),
        (
            &direct,
            "none of 2 from direct URLs can be reached: tri://p:1, cannot connect to p:2: refused",
        ),
    ] {
        assert_eq!(directory.why_unavailable().as_deref(), Some(want));
        assert!(
            directory.list(&invocation()).is_ok(),
            "a call may still try"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn availability_follows_the_invokers() {
    let registry = Registry::saying(&[]);
    let directory = registry.follow(CONSUMER).await;
    let mut available = directory.availability();
    assert!(!*available.borrow());
    registry.say(2, &["tri://p:1"]);
    available.wait_for(|up| *up).await.expect("watched");
    registry.provider(1).set_available(false);
    available.wait_for(|up| !*up).await.expect("watched");
}

/// Leaves nobody.
struct Nobody;

impl Router for Nobody {
    fn route(&self, candidates: &mut Candidates, _consumer: &Url, _invocation: &Invocation) {
        candidates.retain(|_| false);
    }
}

fn nobody() -> RouterChain {
    let router: Arc<dyn Router> = Arc::new(Nobody);
    RouterChain::new([("nobody".to_owned(), router)])
}

async fn direct(
    urls: &[&str],
    routers: RouterChain,
) -> (Result<StaticDirectory, String>, Vec<Arc<Scripted>>) {
    let urls: Vec<Url> = urls.iter().map(|text| text.parse().expect(text)).collect();
    let made = Arc::<Mutex<_>>::default();
    let refer = {
        let made = Arc::clone(&made);
        move |url| std::future::ready(refer(&made, url))
    };
    let consumer = CONSUMER.parse().expect("valid");
    let directory = StaticDirectory::refer(consumer, &urls, routers, refer).await;
    let made = made.lock().clone();
    (directory.map_err(|error| error.to_string()), made)
}

#[tokio::test(start_paused = true)]
async fn direct_urls_are_there_until_the_directory_is_closed() {
    let (directory, made) = direct(
        &["tri://p:1?weight=3", "tri://p:2", "tri://p:1"],
        RouterChain::default(),
    )
    .await;
    let directory = directory.expect("both can be referred to");
    assert_eq!(
        listed(&directory),
        [1, 2],
        "the second mention does not count"
    );
    assert_eq!(directory.nodes()[0].weight, NodeWeight::constant(3));
    assert_eq!(
        made[0].url().to_string(),
        "tri://p:1?group=g&timeout=5&weight=3"
    );
    assert!(*directory.availability().borrow());
    made[0].set_available(false);
    assert!(*directory.availability().borrow(), "any is enough");
    directory.close().await;
    assert!(made.iter().all(|provider| provider.is_closed()));
    assert_eq!(
        why(&directory),
        "no provider available for g/a.B: the reference is closed"
    );
}

#[tokio::test(start_paused = true)]
async fn a_direct_url_that_cannot_be_referred_to_is_an_error_that_leaves_nothing_open() {
    let (directory, made) = direct(
        &["tri://p:1", "tri://u:secret@p:13"],
        RouterChain::default(),
    )
    .await;
    assert_eq!(
        directory.expect_err("refused"),
        "cannot refer to tri://u:***@p:13: bad luck"
    );
    assert!(made[0].is_closed());
}

#[tokio::test(start_paused = true)]
async fn routers_that_leave_nobody_are_named() {
    let (directory, _) = direct(&["tri://p:1"], nobody()).await;
    assert_eq!(
        why(&directory.expect("can be referred to")),
        "no provider available for g/a.B: router `nobody` left none of 1 for this call"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_never_fail_while_the_list_changes_under_them() {
    let lists = [
        &["tri://p:1", "tri://p:2"][..],
        &["tri://p:3"],
        &["tri://p:1", "tri://p:3"],
        &["tri://p:2?weight=9"],
    ];
    let registry = Registry::saying(lists[0]);
    let directory = Arc::new(registry.follow(CONSUMER).await);
    let method = MethodConfig {
        timeout: None,
        retries: Some(2),
        sticky: false,
        load_balance: Arc::new(Random::new()),
    };
    let config = ClusterConfig::new(
        ServiceKey::new("a.B"),
        &service(),
        consumer(),
        method,
        &HashMap::new(),
    );
    let cluster = join(&Failover, Arc::clone(&directory) as _, Arc::new(config));
    let (done, calls) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let callers: Vec<_> = (0..8)
        .map(|_| {
            let (cluster, directory) = (Arc::clone(&cluster), Arc::clone(&directory));
            let (done, calls) = (Arc::clone(&done), Arc::clone(&calls));
            tokio::spawn(async move {
                while !done.load(Ordering::Relaxed) {
                    assert!(!directory.nodes().is_empty());
                    cluster
                        .invoke(invocation())
                        .await
                        .expect("somebody is always there");
                    calls.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for epoch in 2..400 {
        registry.say(
            epoch,
            lists[usize::try_from(epoch).expect("small") % lists.len()],
        );
        let wanted = calls.load(Ordering::Relaxed) + 4;
        while calls.load(Ordering::Relaxed) < wanted
            && !callers.iter().any(tokio::task::JoinHandle::is_finished)
        {
            tokio::task::yield_now().await;
        }
    }
    done.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await.expect("no call failed");
    }
    cluster.close().await;
    assert!(
        registry
            .made
            .lock()
            .iter()
            .all(|provider| provider.is_closed())
    );
}
