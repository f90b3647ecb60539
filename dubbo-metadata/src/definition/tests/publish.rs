//! Definitions in reports that fail, refuse and forget, on a paused clock.

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
    registry::RegistryError,
    subscription::Subscription,
    url::Url,
};
use parking_lot::Mutex;
use tokio::time::sleep;

use super::super::*;

#[tokio::test(start_paused = true)]
async fn a_definition_is_stored_and_what_comes_later_takes_its_place() {
    let report = Report::at("zookeeper://h");
    let publisher = publisher(&[&report]);
    publisher.publish(&provider(), &"1".into());
    settle().await;
    assert_eq!(report.text().as_deref(), Some("1"));
    publisher.publish(&provider(), &"2".into());
    publisher.publish(&provider(), &"2".into());
    settle().await;
    assert_eq!(report.text().as_deref(), Some("2"));
    assert_eq!(report.writes(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_report_that_fails_is_tried_for_ever_and_harms_no_other() {
    let (bad, good) = (
        Report::at("zookeeper://bad"),
        Report::at("zookeeper://good"),
    );
    bad.fails.store(true, Ordering::Relaxed);
    let publisher = publisher(&[&bad, &good]);
    publisher.publish(&provider(), &"1".into());
    settle().await;
    assert_eq!(good.text().as_deref(), Some("1"));
    sleep(Duration::from_hours(1)).await;
    assert!((120..300).contains(&bad.writes()), "{}", bad.writes());
    bad.fails.store(false, Ordering::Relaxed);
    sleep(Duration::from_secs(30)).await;
    assert_eq!(bad.text().as_deref(), Some("1"));
}

#[tokio::test(start_paused = true)]
async fn a_report_that_refuses_is_asked_again_only_with_something_new() {
    let report = Report::at("zookeeper://h");
    report.refuses.store(true, Ordering::Relaxed);
    let publisher = publisher(&[&report]);
    publisher.publish(&provider(), &"too long".into());
    sleep(Duration::from_hours(1)).await;
    assert_eq!(report.writes(), 1);
    report.refuses.store(false, Ordering::Relaxed);
    publisher.publish(&provider(), &"1".into());
    settle().await;
    assert_eq!(report.text().as_deref(), Some("1"));
}

#[tokio::test(start_paused = true)]
async fn what_a_report_has_lost_comes_back_and_what_another_instance_wrote_stays() {
    let report = Report::at("zookeeper://h");
    let publisher = publisher(&[&report]);
    publisher.publish(&provider(), &"1".into());
    settle().await;
    report.stored.lock().clear();
    sleep(Duration::from_mins(11)).await;
    assert_eq!(report.text().as_deref(), Some("1"));

    let theirs = Bytes::from_static(b"2");
    report.stored.lock().insert(provider().to_string(), theirs);
    sleep(Duration::from_hours(1)).await;
    assert_eq!(report.text().as_deref(), Some("2"));

    publisher.close().await;
    report.stored.lock().clear();
    sleep(Duration::from_hours(1)).await;
    assert_eq!(report.text(), None, "nobody cares any more");
}

#[tokio::test(start_paused = true)]
async fn javas_parameters_say_what_a_report_takes() {
    let service = "g/x.Y:1".parse().expect("a key");
    let consumer = DefinitionId::new(&service, Side::Consumer, "app");
    for (url, providers, consumers) in [
        ("zookeeper://h", true, true),
        ("memory://h", true, true),
        ("nacos://h", true, false),
        ("nacos://h?report-consumer-definition=true", true, true),
        (
            "zookeeper://h?report-consumer-definition=false",
            true,
            false,
        ),
        ("zookeeper://h?report-definition=true", true, true),
        ("zookeeper://h?report-definition=false", false, false),
        (
            "nacos://h?report-definition=false&report-consumer-definition=true",
            false,
            false,
        ),
    ] {
        let report = Report::at(url);
        let publisher = publisher(&[&report]);
        assert_eq!(publisher.takes(Side::Provider), providers, "{url}");
        assert_eq!(publisher.takes(Side::Consumer), consumers, "{url}");
        publisher.publish(&provider(), &"p".into());
        publisher.publish(&consumer, &"c".into());
        settle().await;
        let stored: Vec<Bytes> = report.stored.lock().values().cloned().collect();
        let want = [consumers.then_some("c"), providers.then_some("p")];
        let want: Vec<_> = want.into_iter().flatten().map(Bytes::from).collect();
        assert_eq!(stored, want, "{url}");
    }
    let report = Report::at("zookeeper://h?report-definition=yes");
    let reports: Vec<(String, Arc<dyn MetadataReport>)> = vec![("zk".to_owned(), report)];
    let error = Publisher::new(PublisherOptions::new(reports, 1)).expect_err("no switch");
    let error = error.to_string();
    assert!(
        error.contains("zk") && error.contains("report-definition") && error.contains("yes"),
        "{error}"
    );
}

fn provider() -> DefinitionId {
    DefinitionId::new(&"g/x.Y:1".parse().expect("a key"), Side::Provider, "app")
}

fn publisher(reports: &[&Arc<Report>]) -> Publisher {
    let reports = reports.iter().map(|report| {
        let name = report.url.host().to_owned();
        (name, Arc::clone(report) as Arc<dyn MetadataReport>)
    });
    Publisher::new(PublisherOptions::new(reports.collect(), 1)).expect("valid")
}

/// Longer than a request takes.
async fn settle() {
    sleep(Duration::from_millis(10)).await;
}

struct Report {
    url: Url,
    stored: Mutex<BTreeMap<String, Bytes>>,
    writes: AtomicUsize,
    fails: AtomicBool,
    refuses: AtomicBool,
}

impl Report {
    fn at(url: &str) -> Arc<Self> {
        Arc::new(Self {
            url: url.parse().expect("a URL"),
            stored: Mutex::default(),
            writes: AtomicUsize::new(0),
            fails: AtomicBool::new(false),
            refuses: AtomicBool::new(false),
        })
    }

    fn text(&self) -> Option<String> {
        let stored = self.stored.lock();
        let definition = stored.get(&provider().to_string())?;
        Some(String::from_utf8_lossy(definition).into_owned())
    }

    fn writes(&self) -> usize {
        self.writes.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl MetadataReport for Report {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn store_definition(&self, id: &str, definition: Bytes) -> Result<(), RegistryError> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        let error = RegistryError::new("store", "fake://report", "out of order");
        if self.fails.load(Ordering::Relaxed) {
            return Err(error);
        }
        if self.refuses.load(Ordering::Relaxed) {
            return Err(error.refused());
        }
        self.stored.lock().insert(id.to_owned(), definition);
        Ok(())
    }

    async fn definition(&self, id: &str) -> Result<Option<Bytes>, RegistryError> {
        Ok(self.stored.lock().get(id).cloned())
    }

    async fn app(&self, _: &str, _: &str) -> Result<Option<Bytes>, RegistryError> {
        unreachable!("only definitions")
    }

    async fn publish_app(&self, _: &str, _: &str, _: Bytes) -> Result<(), RegistryError> {
        unreachable!("only definitions")
    }

    async fn remove_app(&self, _: &str, _: &str) -> Result<(), RegistryError> {
        unreachable!("only definitions")
    }

    async fn list_app(&self, _: &str) -> Result<Vec<(String, Option<SystemTime>)>, RegistryError> {
        unreachable!("only definitions")
    }

    async fn mapping(&self, _: &str) -> Result<(Mapping, Ticket), RegistryError> {
        unreachable!("only definitions")
    }

    async fn cas_mapping(
        &self,
        _: &str,
        _: &Mapping,
        _: Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        unreachable!("only definitions")
    }

    async fn watch_mapping(&self, _: &str) -> Result<Subscription<Arc<Mapping>>, RegistryError> {
        unreachable!("only definitions")
    }

    async fn close(&self) {}
}
