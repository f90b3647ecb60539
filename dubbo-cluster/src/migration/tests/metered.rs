//! What metrics show, and what is told as events.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use dubbo_test::logs::Logs;
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use parking_lot::Mutex;

use super::estate::{Estate, Rules, calls, options, settle};
use crate::migration::Controller;

/// Keeps the newest value of each metric.
#[derive(Default)]
struct Recording(Mutex<BTreeMap<String, Arc<AtomicU64>>>);

impl Recording {
    fn cell(&self, key: &Key) -> Arc<AtomicU64> {
        let labels = key
            .labels()
            .map(|label| format!("{}={}", label.key(), label.value()));
        let mut labels: Vec<_> = labels.collect();
        labels.sort();
        let name = format!("{}{{{}}}", key.name(), labels.join(","));
        Arc::clone(self.0.lock().entry(name).or_default())
    }

    fn value(&self, name: &str) -> u64 {
        let cells = self.0.lock();
        let cell = cells
            .get(name)
            .unwrap_or_else(|| panic!("{name} is not in {cells:?}"));
        cell.load(Ordering::Relaxed)
    }

    fn gauge(&self, name: &str) -> f64 {
        f64::from_bits(self.value(name))
    }
}

impl Recorder for Recording {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.cell(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.cell(key))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

#[tokio::test(start_paused = true)]
async fn calls_addresses_and_the_step_are_shown() {
    let recording = Recording::default();
    let _recorded = metrics::set_default_local_recorder(&recording);
    let (estate, rules) = (Estate::of(4, 10), Rules::none());
    let controller = Controller::new(options(&[&rules]));
    let directory = estate
        .follow(&controller, "a.B?group=g")
        .await
        .expect("followed");
    let labels = "registry=registry memory://local,service=g/a.B";
    let of_path = |name: &str, path: &str| format!("{name}{{path={path},{labels}}}");
    let addresses = |path: &str| {
        let name = of_path("dubbo_migration_addresses", path);
        format!("{}", recording.gauge(&name))
    };
    let step = || {
        format!(
            "{}",
            recording.gauge(&format!("dubbo_migration_step{{{labels}}}"))
        )
    };
    assert_eq!(
        [addresses("app"), addresses("interface"), step()],
        ["4", "10", "2"]
    );
    calls(&directory, 7);
    rules.say("{step: FORCE_INTERFACE}").await;
    calls(&directory, 5);
    settle().await;
    assert_eq!(
        [addresses("app"), addresses("interface"), step()],
        ["0", "10", "0"]
    );
    let made = |path| recording.value(&of_path("dubbo_migration_calls_total", path));
    assert_eq!([made("app"), made("interface")], [7, 5]);
}

#[tokio::test(start_paused = true)]
async fn metadata_a25_steps_and_ways_are_reported_as_java_does() {
    let (logs, _guard) = Logs::record();
    let (estate, rules) = (Estate::of(4, 10), Rules::none());
    let controller = Controller::new(options(&[&rules]));
    let consumer = "a.B?version=1.0.0&group=g";
    let directory = estate
        .follow(&controller, consumer)
        .await
        .expect("followed");
    rules.say("{step: FORCE_APPLICATION, threshold: 1.0}").await;
    estate.application().list(10);
    settle().await;
    rules.say("{step: FORCE_INTERFACE}").await;
    let reports = |kind: &str| -> Vec<serde_json::Value> {
        let lines = logs.with(&format!("kind={kind} ")).into_iter();
        let reports = lines.map(|line| {
            let (_, report) = line.split_once("report=").expect("it has one");
            let mut values = serde_json::Deserializer::from_str(report).into_iter();
            values.next().expect("a value").expect("JSON")
        });
        reports.collect()
    };
    let step = |origin: &str, new: &str, success: &str| {
        serde_json::json!({
            "type": "migrationStepStatus", "application": "c", "service": "a.B", "version": "1.0.0", "group": "g",
            "originStep": origin, "newStep": new, "success": success,
        })
    };
    assert_eq!(
        reports("migrationStepStatus"),
        [
            step("null", "APPLICATION_FIRST", "true"),
            step("APPLICATION_FIRST", "FORCE_APPLICATION", "false"),
            step("APPLICATION_FIRST", "FORCE_APPLICATION", "true"),
            step("FORCE_APPLICATION", "FORCE_INTERFACE", "true"),
        ]
    );
    let ways = reports("consumption");
    let ways: Vec<_> = ways.iter().map(|way| way["status"].clone()).collect();
    assert_eq!(ways, ["app", "interface"]);
    drop(directory);
}
