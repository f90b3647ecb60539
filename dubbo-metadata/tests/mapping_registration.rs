//! The acceptance test 22 of `docs/spec/metadata.md` §9, and what else registering mappings promises, on a paused clock.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use bytes::Bytes;
use dubbo_core::{
    metadata::{CasOutcome, Mapping, MetadataReport, Ticket},
    registry::{RegistryError, RegistryErrorKind},
    subscription::Subscription,
    url::Url,
};
use dubbo_metadata::mapping::{Registrar, RegistrarOptions};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

#[tokio::test(start_paused = true)]
async fn metadata_a22_fifty_applications_map_one_interface_and_none_is_lost_or_moved() {
    for lag in [0, 200] {
        let store = Store::new("zk");
        store.reads_lag(Duration::from_millis(lag));
        // One name is a part of another.
        let names: Vec<_> = ["order", "order-service"]
            .map(str::to_owned)
            .into_iter()
            .chain((2..50).map(|index| format!("app-{index}")))
            .collect();
        let registrars: Vec<_> = (0..)
            .zip(&names)
            .map(|(seed, name)| registrar(name, &[&store], seed))
            .collect();
        for registrar in &registrars {
            registrar.register("x.Y").await.expect("in the background");
        }
        sleep(Duration::from_secs(30)).await;

        let found = store.names("x.Y");
        let mut sorted = found.clone();
        sorted.sort();
        let mut want = names.clone();
        want.sort();
        assert_eq!(sorted, want, "reads lag {lag} ms");
        for pair in store.written.lock().windows(2) {
            assert!(pair[1].starts_with(&format!("{},", pair[0])), "{pair:?}");
        }
        assert!(
            store.conflicts.load(Ordering::Relaxed) > 0,
            "nobody came in between"
        );
        assert!(registrars.iter().all(|r| is_registered(r)));
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_a22_a_report_that_always_fails_is_tried_for_ever_and_harms_no_other() {
    let (good, bad) = (Store::new("good"), Store::new("bad"));
    bad.fails.store(true, Ordering::Relaxed);
    let registrar = registrar("demo", &[&bad, &good], 1);
    registrar.register("x.Y").await.expect("in the background");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(good.names("x.Y"), ["demo"]);
    let status = registrar.status();
    assert_eq!(status.len(), 2);
    let reason = status[0].error.as_ref().expect("why not");
    assert_eq!(
        (status[0].report.as_str(), status[0].interface.as_str()),
        ("bad", "x.Y")
    );
    assert!(reason.to_string().contains("out of order"), "{reason}");
    assert!(!status[0].written);
    assert!(status[1].written && status[1].error.is_none(), "{status:?}");

    sleep(Duration::from_hours(1)).await;
    let tries = bad.reads.load(Ordering::Relaxed);
    assert!((720..=1500).contains(&tries), "{tries}");
    bad.fails.store(false, Ordering::Relaxed);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(bad.names("x.Y"), ["demo"]);
    assert!(is_registered(&registrar));
}

#[tokio::test(start_paused = true)]
async fn tries_after_a_conflict_are_at_least_as_far_apart_as_reads_lag() {
    let store = Store::new("zk");
    store.conflicting.store(true, Ordering::Relaxed);
    let registrar = registrar("demo", &[&store], 1);
    registrar.register("x.Y").await.expect("in the background");
    sleep(Duration::from_mins(1)).await;
    let times = store.write_times.lock().clone();
    assert!(times.len() > 11, "{}", times.len());
    for (index, pair) in times.windows(2).enumerate() {
        let wait = pair[1] - pair[0];
        assert!(wait >= Duration::from_millis(100), "{index}: {wait:?}");
    }
    let status = &registrar.status()[0];
    let reason = status.error.as_ref().expect("why not");
    assert!(!status.written);
    assert!(reason.to_string().contains("11 times in a row"), "{reason}");
    store.conflicting.store(false, Ordering::Relaxed);
    sleep(Duration::from_secs(10)).await;
    assert!(is_registered(&registrar));
}

#[tokio::test(start_paused = true)]
async fn a_name_that_another_writer_overwrote_comes_back() {
    let store = Store::new("nacos");
    let registrar = registrar("demo", &[&store], 1);
    registrar.register("x.Y").await.expect("in the background");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(store.names("x.Y"), ["demo"]);
    // A first write that compares nothing.
    store.overwrite("x.Y", "go-app");
    sleep(Duration::from_secs(10)).await;
    assert_eq!(store.names("x.Y"), ["go-app", "demo"]);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_there_is_looked_for_now_and_then_and_not_written() {
    let store = Store::new("zk");
    store.overwrite("x.Y", "b, demo,a");
    let registrar = registrar("demo", &[&store], 1);
    for _ in 0..60 {
        registrar.register("x.Y").await.expect("in the background");
        sleep(Duration::from_mins(1)).await;
    }
    registrar
        .register("org.apache.dubbo.metadata.MetadataService")
        .await
        .expect("nothing to do");
    sleep(Duration::from_mins(1)).await;
    let reads = store.reads.load(Ordering::Relaxed);
    assert!(
        (61..=123).contains(&reads),
        "once or twice a minute: {reads}"
    );
    assert_eq!(store.written.lock().len(), 0);
    assert!(is_registered(&registrar));
}

#[tokio::test(start_paused = true)]
async fn whatever_a_report_loses_comes_back_after_whatever_was_written_meanwhile() {
    for (what, meanwhile, want) in [
        ("all data", "", "demo"),
        ("one name", "other", "other,demo"),
        ("nothing", "demo,other", "demo,other"),
    ] {
        let store = Store::new("zk");
        let registrar = registrar("demo", &[&store], 1);
        let interfaces: Vec<_> = (0..20).map(|index| format!("x.Y{index}")).collect();
        for interface in &interfaces {
            registrar
                .register(interface)
                .await
                .expect("in the background");
        }
        // However long it was there.
        for hours in [0, 1, 10] {
            sleep(Duration::from_hours(hours) + Duration::from_secs(10)).await;
            for interface in &interfaces {
                store.overwrite(interface, meanwhile);
            }
            sleep(Duration::from_secs(61)).await;
            for interface in &interfaces {
                assert_eq!(store.newest(interface), want, "{what} after {hours} h");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_report_that_comes_back_without_its_data_is_looked_into_soon_but_not_for_all_at_once() {
    let store = Store::new("zk");
    let registrar = registrar("demo", &[&store], 1);
    let interfaces: Vec<_> = (0..100).map(|index| format!("x.Y{index}")).collect();
    for interface in &interfaces {
        registrar
            .register(interface)
            .await
            .expect("in the background");
    }
    sleep(Duration::from_mins(10)).await;
    // Long enough for one of a hundred reads a minute to fail, and too short for all of them.
    store.fails.store(true, Ordering::Relaxed);
    sleep(Duration::from_secs(5)).await;
    for interface in &interfaces {
        store.overwrite(interface, "");
    }
    store.fails.store(false, Ordering::Relaxed);
    let (back, before) = (Instant::now(), store.write_times.lock().len());
    // A failed read is repeated within 5 s, and that wakes the others within 5 s more.
    sleep(Duration::from_millis(10_100)).await;
    for interface in &interfaces {
        assert_eq!(store.newest(interface), "demo", "{interface}");
    }
    let times = store.write_times.lock()[before..].to_vec();
    for second in 0..10 {
        let from = back + Duration::from_secs(second);
        let within = times
            .iter()
            .filter(|at| (from..from + Duration::from_secs(1)).contains(at));
        assert!(within.count() <= 50, "in second {second}: {times:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn once_it_is_closed_or_dropped_nothing_is_written_and_what_was_stays() {
    for closes in [true, false] {
        let store = Store::new("zk");
        let registrar = registrar("demo", &[&store], 1);
        registrar.register("x.Y").await.expect("in the background");
        registrar.register("x.Z").await.expect("in the background");
        sleep(Duration::from_mins(10)).await;
        let kept = closes.then(|| Arc::clone(&registrar));
        if closes {
            registrar.close().await;
            assert!(registrar.status().is_empty());
        }
        drop(registrar);
        assert_eq!(store.newest("x.Y"), "demo");
        store.overwrite("x.Y", "");
        let reads = store.reads.load(Ordering::Relaxed);
        sleep(Duration::from_hours(1)).await;
        assert_eq!(store.newest("x.Y"), "", "closed: {closes}");
        assert_eq!(store.reads.load(Ordering::Relaxed), reads);

        if let Some(registrar) = kept {
            registrar.register("x.Y").await.expect("in the background");
            sleep(Duration::from_secs(1)).await;
            assert_eq!(store.newest("x.Y"), "demo", "it can be wished for again");
            assert_eq!(registrar.status().len(), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_mapping_that_is_required_is_waited_for_and_its_absence_is_an_error() {
    let start = Instant::now();
    let (good, bad) = (Store::new("good"), Store::new("bad"));
    required(&[&good])
        .register("x.Y")
        .await
        .expect("registered");
    assert_eq!(good.names("x.Y"), ["demo"]);
    assert!(start.elapsed() < Duration::from_secs(1));

    bad.fails.store(true, Ordering::Relaxed);
    let registrar = required(&[&good, &bad]);
    let error = registrar.register("x.Z").await.expect_err("not there");
    assert_eq!(start.elapsed().as_secs(), 5);
    assert_eq!(
        error.to_string(),
        "map x.Z to demo at metadata report bad: not done within 5 s: read the mapping at fake://bad: out of order"
    );
    bad.fails.store(false, Ordering::Relaxed);
    sleep(Duration::from_secs(10)).await;
    registrar.register("x.Z").await.expect("it went on");

    let error = required(&[]).register("x.Y").await.expect_err("no report");
    assert_eq!(error.kind, RegistryErrorKind::Refused);
    assert!(
        error.to_string().contains("`mapping.required` is set"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn dropping_the_registrar_ends_the_trying() {
    let store = Store::new("zk");
    store.fails.store(true, Ordering::Relaxed);
    let registrar = registrar("demo", &[&store], 1);
    registrar.register("x.Y").await.expect("in the background");
    sleep(Duration::from_secs(1)).await;
    drop(registrar);
    let tries = store.reads.load(Ordering::Relaxed);
    sleep(Duration::from_hours(1)).await;
    assert_eq!(store.reads.load(Ordering::Relaxed), tries);
}

#[test]
fn a_name_with_a_comma_is_refused() {
    let options = RegistrarOptions::new("a,b", Vec::new(), 1);
    let error = Registrar::new(options).expect_err("a comma").to_string();
    assert!(
        error.contains("\"a,b\"") && error.contains("comma"),
        "{error}"
    );
}

fn registrar(name: &str, stores: &[&Arc<Store>], seed: u64) -> Arc<Registrar> {
    Registrar::new(options(name, stores, seed)).expect("valid")
}

fn required(stores: &[&Arc<Store>]) -> Arc<Registrar> {
    let mut options = options("demo", stores, 1);
    options.required = true;
    Registrar::new(options).expect("valid")
}

fn options(name: &str, stores: &[&Arc<Store>], seed: u64) -> RegistrarOptions {
    let reports = stores
        .iter()
        .map(|store| (store.id.clone(), Arc::clone(store) as _))
        .collect();
    RegistrarOptions::new(name, reports, seed)
}

fn is_registered(registrar: &Registrar) -> bool {
    let status = registrar.status();
    status.iter().all(|one| one.written && one.error.is_none())
}

/// A store of mappings with compare-and-set, whose reads may show what was some time ago.
struct Store {
    id: String,
    url: Url,
    /// All that was ever there, with the time it came.
    mappings: Mutex<BTreeMap<String, Vec<(Instant, String)>>>,
    lag: Mutex<Duration>,
    fails: AtomicBool,
    conflicting: AtomicBool,
    reads: AtomicUsize,
    conflicts: AtomicUsize,
    written: Mutex<Vec<String>>,
    write_times: Mutex<Vec<Instant>>,
}

impl Store {
    fn new(id: &str) -> Arc<Self> {
        Arc::new(Self {
            id: id.to_owned(),
            url: Url::new("fake", id),
            mappings: Mutex::default(),
            lag: Mutex::default(),
            fails: AtomicBool::new(false),
            conflicting: AtomicBool::new(false),
            reads: AtomicUsize::new(0),
            conflicts: AtomicUsize::new(0),
            written: Mutex::default(),
            write_times: Mutex::default(),
        })
    }

    fn reads_lag(&self, lag: Duration) {
        *self.lag.lock() = lag;
    }

    fn names(&self, interface: &str) -> Vec<String> {
        Mapping::parse(&self.newest(interface))
            .applications()
            .to_vec()
    }

    fn newest(&self, interface: &str) -> String {
        let mappings = self.mappings.lock();
        mappings
            .get(interface)
            .and_then(|states| states.last())
            .map(|(_, text)| text.clone())
            .unwrap_or_default()
    }

    fn overwrite(&self, interface: &str, text: &str) {
        let mut mappings = self.mappings.lock();
        let states = mappings.entry(interface.to_owned()).or_default();
        states.push((Instant::now(), text.to_owned()));
    }
}

#[async_trait]
impl MetadataReport for Store {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn mapping(&self, interface: &str) -> Result<(Mapping, Ticket), RegistryError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(1)).await;
        if self.fails.load(Ordering::Relaxed) {
            let address = format!("fake://{}", self.id);
            return Err(RegistryError::new(
                "read the mapping",
                address,
                "out of order",
            ));
        }
        let shown = Instant::now() - *self.lag.lock();
        let text = self
            .mappings
            .lock()
            .get(interface)
            .and_then(|states| states.iter().rfind(|(at, _)| *at <= shown).cloned())
            .map(|(_, text)| text);
        Ok((
            Mapping::parse(text.as_deref().unwrap_or_default()),
            Ticket(text),
        ))
    }

    async fn cas_mapping(
        &self,
        interface: &str,
        mapping: &Mapping,
        ticket: Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        sleep(Duration::from_millis(1)).await;
        self.write_times.lock().push(Instant::now());
        let before = self.newest(interface);
        let is_same = ticket.0.unwrap_or_default() == before;
        if !is_same || self.conflicting.load(Ordering::Relaxed) {
            self.conflicts.fetch_add(1, Ordering::Relaxed);
            return Ok(CasOutcome::Conflict);
        }
        self.overwrite(interface, &mapping.to_string());
        self.written.lock().push(mapping.to_string());
        Ok(CasOutcome::Written)
    }

    async fn app(&self, _: &str, _: &str) -> Result<Option<Bytes>, RegistryError> {
        unreachable!("mappings only")
    }

    async fn publish_app(&self, _: &str, _: &str, _: Bytes) -> Result<(), RegistryError> {
        unreachable!("mappings only")
    }

    async fn remove_app(&self, _: &str, _: &str) -> Result<(), RegistryError> {
        unreachable!("mappings only")
    }

    async fn list_app(&self, _: &str) -> Result<Vec<(String, Option<SystemTime>)>, RegistryError> {
        unreachable!("mappings only")
    }

    async fn watch_mapping(&self, _: &str) -> Result<Subscription<Arc<Mapping>>, RegistryError> {
        unreachable!("a provider writes")
    }

    async fn store_definition(&self, _: &str, _: Bytes) -> Result<(), RegistryError> {
        unreachable!("mappings only")
    }

    async fn definition(&self, _: &str) -> Result<Option<Bytes>, RegistryError> {
        unreachable!("mappings only")
    }

    async fn close(&self) {}
}
