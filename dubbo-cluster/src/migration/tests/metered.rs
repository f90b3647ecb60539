//! What metrics show.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

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
