//! What is in a report is kept fresh, and what is stale goes: but never because of an outage.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use dubbo_core::discovery::ServiceInstance;
use dubbo_metadata::{
    error::MetadataError,
    instance::Storage,
    model::MetadataInfo,
    provider::{Provider, ProviderOptions},
};
use dubbo_test::metrics::Numbers;
use tokio::time::sleep;

use crate::fakes::{Lists, STARTED_MS, World, bar, greet, other};

const DAY: Duration = Duration::from_hours(24);

/// From the start of a test until the night is over.
const NIGHT: Duration = Duration::from_hours(8);

const DAY_MS: u64 = 24 * 3_600_000;
const FIXTURE: &str = "222f165004459af76f0540482d98ac81";

/// A provider of the fixture that is registered and whose metadata is in the report.
async fn started(world: &World) -> Arc<Provider> {
    let provider = world.remote();
    provider.export(&greet("")).expect("valid");
    provider.export(&bar("")).expect("valid");
    provider.register().await.expect("registered");
    provider
}

impl World {
    /// When what stands at `revision` says that it was written.
    fn written(&self, revision: &str) -> Option<u64> {
        let json = self.report.stored.lock().get(revision).cloned();
        let info = MetadataInfo::from_json(&json.expect("stored")).expect("JSON");
        info.last_updated_ms
            .map(|ms| u64::try_from(ms).expect("after 1970"))
    }

    fn store(&self, revision: &str, json: impl Into<Bytes>) {
        self.report
            .stored
            .lock()
            .insert(revision.to_owned(), json.into());
    }

    /// Stores a revision that was written `days` ago.
    fn store_old(&self, revision: &str, days: u64) {
        let written = STARTED_MS - days * DAY_MS;
        self.store(
            revision,
            format!(
                r#"{{"app":"demo-provider","revision":"{revision}","lastUpdatedTime":{written}}}"#
            ),
        );
    }

    fn stored(&self) -> Vec<String> {
        self.report.stored.lock().keys().cloned().collect()
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_is_renewed_each_night_and_registered_once() {
    let world = World::new();
    let _provider = started(&world).await;
    assert_eq!(
        world.written(FIXTURE),
        Some(STARTED_MS),
        "told with the first publication"
    );
    sleep(NIGHT).await;
    let first = world.written(FIXTURE).expect("a time");
    // From two to six in the morning.
    let hours = (first % DAY_MS) / 3_600_000;
    assert!((2..6).contains(&hours), "{hours}");
    for day in 1..3 {
        sleep(DAY).await;
        assert_eq!(world.written(FIXTURE), Some(first + day * DAY_MS));
    }
    let calls = world.registry_calls();
    assert_eq!(calls, ["0 ms register 10.0.0.1:50051 222f remote"]);
}

#[tokio::test(start_paused = true)]
async fn what_the_url_of_the_report_says_is_so() {
    for (query, at_once, after_a_night) in [
        ("", true, true),
        ("cycle-report=true", true, true),
        ("cycle-report=false", false, false),
        ("cycle.report=false", false, false),
        ("metadata.renew-on-startup=false", false, true),
    ] {
        let world = World::with_report(query);
        world.store_old("stale", 10);
        let _provider = started(&world).await;
        sleep(Duration::from_mins(2)).await;
        assert_eq!(world.written(FIXTURE).is_some(), at_once, "{query}");
        assert_eq!(
            world.stored().contains(&"stale".into()),
            !at_once,
            "{query}"
        );
        sleep(NIGHT).await;
        let written = world.written(FIXTURE);
        assert_eq!(written > Some(STARTED_MS), after_a_night, "{query}");
        assert_eq!(
            world.stored().contains(&"stale".into()),
            !after_a_night,
            "{query}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn stale_metadata_stays_when_it_is_to_or_is_younger_than_the_window() {
    for (query, stays) in [
        ("metadata.gc.enabled=false", true),
        ("metadata.gc.window=11", true),
        ("metadata.gc.window=9", false),
        ("metadata.gc.window=366", false),
    ] {
        let world = World::with_report(query);
        world.store_old("stale", 10);
        let _provider = started(&world).await;
        sleep(Duration::from_mins(2)).await;
        assert_eq!(world.stored().contains(&"stale".into()), stays, "{query}");
    }
}

#[test]
fn a_switch_that_is_neither_on_nor_off_is_refused() {
    let world = World::with_report("cycle-report=sometimes");
    let mut options = world.options("demo");
    remote(&world, &mut options);
    let error = Provider::new(options).expect_err("neither");
    assert!(
        matches!(error, MetadataError::ReportParams { .. }),
        "{error}"
    );
    let error = error.to_string();
    assert!(
        error.contains("cycle-report") && error.contains("sometimes"),
        "{error}"
    );
}

fn remote(world: &World, options: &mut ProviderOptions) {
    options.storage = Storage::Remote;
    options.reports = vec![("zk".into(), Arc::clone(&world.report) as _)];
}

#[tokio::test(start_paused = true)]
async fn a_report_that_is_away_at_night_hears_of_it_later_and_nobody_else_does() {
    let world = World::new();
    let _provider = started(&world).await;
    sleep(Duration::from_hours(3)).await;
    world.report.fails(usize::MAX);
    sleep(Duration::from_hours(12)).await;
    assert_eq!(world.written(FIXTURE), Some(STARTED_MS));
    world.report.fails(0);
    sleep(Duration::from_mins(11)).await;
    assert!(world.written(FIXTURE) > Some(STARTED_MS + DAY_MS / 2));
    assert_eq!(
        world
            .registry_calls()
            .iter()
            .filter(|call| !call.contains("removed"))
            .count(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn each_revision_of_an_instance_says_when_it_was_written() {
    let world = World::new();
    let provider = started(&world).await;
    sleep(Duration::from_hours(1)).await;
    provider.export(&other("x.Third")).expect("valid");
    sleep(Duration::from_secs(5)).await;
    let current = provider.history().current()[0].revision().to_owned();
    assert_eq!(
        world.written(&current),
        Some(STARTED_MS + 3_600_000 + 1_000)
    );
    // Only what instances are registered with is renewed.
    sleep(NIGHT).await;
    assert!(world.written(&current) > Some(STARTED_MS + 3_601_000));
    assert_eq!(world.written(FIXTURE), Some(STARTED_MS));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_renewed_for_an_instance_that_serves_nothing() {
    let world = World::new();
    let provider = started(&world).await;
    provider.unexport(&greet(""));
    provider.unexport(&bar(""));
    sleep(Duration::from_secs(5)).await;
    assert!(
        world.registry_calls()[1].contains("unregister"),
        "{:?}",
        world.calls()
    );
    let before = world.report.published.lock().len();
    sleep(DAY * 3).await;
    assert_eq!(world.report.published.lock().len(), before);
    assert_eq!(world.stored(), [FIXTURE]);
}

#[tokio::test(start_paused = true)]
async fn only_what_is_old_and_dated_and_nobodys_is_removed() {
    let numbers = Numbers::default();
    let _recording = metrics::set_default_local_recorder(&numbers);
    let world = World::new();
    world.store_old("old", 6);
    world.store_old("older", 400);
    world.store_old("young", 4);
    world.store_old("referenced", 6);
    world.store_old("0", 6);
    world.store_old("N/A", 6);
    world.store("undated", r#"{"app":"demo-provider","revision":"undated"}"#);
    world.store("zero", r#"{"revision":"zero","lastUpdatedTime":0}"#);
    world.store("before", r#"{"revision":"before","lastUpdatedTime":-5}"#);
    world.store("broken", "{");
    let future = STARTED_MS + 400 * DAY_MS;
    world.store(
        "future",
        format!(r#"{{"revision":"future","lastUpdatedTime":{future}}}"#),
    );
    world
        .discovery
        .others
        .lock()
        .push(instance("10.0.0.2", "referenced"));
    let _provider = started(&world).await;
    let before = world.stored();
    sleep(Duration::from_secs(59)).await;
    assert_eq!(world.stored(), before, "a minute has to pass");
    sleep(Duration::from_secs(2)).await;
    let before: BTreeSet<_> = before.into_iter().collect();
    let gone: Vec<_> = before
        .difference(&world.stored().into_iter().collect())
        .cloned()
        .collect();
    assert_eq!(gone, ["old", "older"]);
    assert_eq!(collected(&numbers), [("removed".to_owned(), 2.0)].into());
}

fn instance(host: &str, revision: &str) -> ServiceInstance {
    let mut instance = ServiceInstance::new("demo-provider", host, 50051);
    let key = "dubbo.metadata.revision".to_owned();
    instance.metadata.insert(key, revision.to_owned());
    instance
}

/// Hazards H16 and H17: a registry that is out of reach says nothing about who is there.
#[tokio::test(start_paused = true)]
async fn metadata_h16_an_outage_of_the_registry_removes_nothing() {
    for lists in [Lists::Failure, Lists::Nothing, Lists::Others] {
        for fails_at_first in [true, false] {
            let world = World::new();
            for revision in ["stale", "of another"] {
                world.store_old(revision, 10);
            }
            let set = |lists| *world.discovery.lists.lock() = lists;
            world
                .discovery
                .others
                .lock()
                .push(instance("10.0.0.2", "of another"));
            set(if fails_at_first { lists } else { Lists::All });
            let _provider = started(&world).await;
            sleep(Duration::from_secs(30)).await;
            set(lists);
            sleep(NIGHT).await;
            assert_eq!(
                world.stored(),
                [FIXTURE, "of another", "stale"],
                "{lists:?} {fails_at_first}"
            );
            // It is made up for once the registry is there.
            set(Lists::All);
            sleep(DAY).await;
            assert_eq!(
                world.stored(),
                [FIXTURE, "of another"],
                "{lists:?} {fails_at_first}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_somebody_writes_or_refers_to_meanwhile_stays() {
    let numbers = Numbers::default();
    let _recording = metrics::set_default_local_recorder(&numbers);
    let world = World::new();
    for revision in ["renewed", "returned", "gone", "stale"] {
        world.store_old(revision, 10);
    }
    let _provider = started(&world).await;
    sleep(Duration::from_secs(30)).await;
    world.store_old("renewed", 0);
    world
        .discovery
        .others
        .lock()
        .push(instance("10.0.0.2", "returned"));
    world.report.stored.lock().remove("gone");
    sleep(Duration::from_mins(1)).await;
    assert_eq!(world.stored(), [FIXTURE, "renewed", "returned"]);
    let want = [("kept".to_owned(), 3.0), ("removed".to_owned(), 1.0)];
    assert_eq!(collected(&numbers), want.into());
}

#[tokio::test(start_paused = true)]
async fn an_own_revision_of_the_past_stays_as_long_as_it_is_answered_for() {
    let world = World::new();
    let provider = started(&world).await;
    sleep(Duration::from_secs(1)).await;
    provider.export(&other("x.Third")).expect("valid");
    sleep(Duration::from_secs(5)).await;
    // As if it had been written long ago.
    world.store_old(FIXTURE, 10);
    sleep(NIGHT).await;
    assert!(world.stored().contains(&FIXTURE.to_owned()));
}

#[tokio::test(start_paused = true)]
async fn of_many_instances_one_a_day_looks_for_stale_metadata() {
    let world = World::new();
    let mut providers = Vec::new();
    for index in 0..4 {
        let mut options = world.options("demo-provider");
        remote(&world, &mut options);
        options.seed = index;
        let provider = Provider::new(options).expect("valid");
        let url = greet("").with_host(format!("10.0.0.{index}"));
        provider.export(&url).expect("valid");
        providers.push(provider);
    }
    let all = providers.iter().map(|provider| provider.register());
    for registered in futures_util::future::join_all(all).await {
        registered.expect("registered");
    }
    // The first day is over soon, and each later one has a night.
    sleep(Duration::from_mins(1)).await;
    for days in 1..=2 {
        assert_eq!(world.report.collections.load(Ordering::Relaxed), days);
        if days < 2 {
            sleep(DAY).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_tells_and_changes_nothing() {
    let numbers = Numbers::default();
    let _recording = metrics::set_default_local_recorder(&numbers);
    let world = World::new();
    world.store_old("stale", 10);
    let provider = world.provider(|options| {
        remote(&world, options);
        options.gc_dry_run = true;
    });
    provider.export(&greet("")).expect("valid");
    provider.register().await.expect("registered");
    sleep(Duration::from_mins(2)).await;
    assert!(world.stored().contains(&"stale".into()));
    assert_eq!(
        *world.report.collected.lock(),
        None,
        "nobody's turn is taken"
    );
    assert_eq!(
        collected(&numbers),
        [("would_remove".to_owned(), 1.0)].into()
    );
}

/// What became of revisions that looked stale, by the result.
fn collected(numbers: &Numbers) -> BTreeMap<String, f64> {
    let prefix = "dubbo_metadata_gc_total{application=demo-provider,result=";
    let all = numbers.all().into_iter();
    all.filter_map(|(name, count)| {
        let result = name.strip_prefix(prefix)?.strip_suffix('}')?;
        Some((result.to_owned(), count))
    })
    .collect()
}
