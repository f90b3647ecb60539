//! What is counted and measured while providers are found.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use parking_lot::Mutex;
use tokio::time::sleep;

use crate::fakes::{Answer, World, info, instances};

#[tokio::test(start_paused = true)]
async fn what_is_shown_by_the_api_is_shown_by_metrics() {
    let seen = Seen::default();
    let _guard = metrics::set_default_local_recorder(&seen);
    let world = World::new();
    for (app, net) in [("A", 1), ("B", 2)] {
        world.registry.list(app, instances(app, "r1", net, 3));
        world.instances.serve(info(app, "r1", &["a.B:tri"]));
    }
    world.instances.slow("B/r1", Duration::from_millis(700));
    let mut following = world.follow("a.B").await;
    let pending = "dubbo_mapping_pending{registry=zk1}";
    assert_eq!(seen.get(pending), [1.0]);
    let view = &world.consumer.mappings()[0];
    assert_eq!(
        (view.interface.as_str(), view.applications.len()),
        ("a.B", 0)
    );
    assert_eq!(view.lag, None);

    sleep(Duration::from_mins(1)).await;
    world.report.map("a.B", "A");
    following.until(3).await;
    assert_eq!(seen.get(pending), [0.0]);
    let first = world.consumer.mappings()[0].lag.expect("it has changed");
    world.report.map("a.B", "A,B");
    following.until(6).await;
    let view = &world.consumer.mappings()[0];
    assert_eq!(view.applications, ["A", "B"]);
    let second = view.lag.expect("it has changed");
    assert!(first < Duration::from_secs(1), "{first:?}");
    let expected = Duration::from_millis(700)..Duration::from_secs(2);
    assert!(expected.contains(&second), "{second:?}");
    let lags = seen.get("dubbo_mapping_lag_seconds{interface=a.B}");
    assert_eq!(lags, [first.as_secs_f64(), second.as_secs_f64()]);

    // Three of B move on to what nobody knows.
    world.registry.list("B", instances("B", "r2", 2, 3));
    world.instances.answer("B/r2", Answer::Refused);
    sleep(Duration::from_secs(1)).await;
    let revisions = |state: &str| {
        seen.get(&format!(
            "dubbo_metadata_revisions{{app=B,registry=zk1,state={state}}}"
        ))
    };
    assert_eq!(
        (revisions("ready"), revisions("failed")),
        (vec![0.0], vec![1.0])
    );
    let stale = "dubbo_metadata_stale_instances{app=B,registry=zk1}";
    assert_eq!(seen.get(stale), [3.0]);

    let stats = world.consumer.stats();
    let fetches = |result: &str| -> u64 {
        let counters = ["A", "B"].map(|app| {
            ["instance", "report"].map(|path| {
                let labels = format!("{{app={app},path={path},result={result}}}");
                seen.count(&format!("dubbo_metadata_fetch_total{labels}"))
            })
        });
        counters.into_iter().flatten().sum()
    };
    let all = fetches("ok") + fetches("failed") + fetches("abandoned");
    assert_eq!(all, stats.fetches);
    assert_eq!(fetches("failed"), stats.failed_fetches);
    assert_eq!(fetches("ok"), 2);
    assert!(fetches("failed") >= 3);

    drop(following);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(
        (seen.get(stale), revisions("failed")),
        (vec![0.0], vec![0.0])
    );
}

/// A recorder that keeps what a counter has counted, the last value of a gauge, and all of a histogram.
#[derive(Default)]
struct Seen(Mutex<BTreeMap<String, Arc<Values>>>);

#[derive(Default)]
struct Values {
    count: AtomicU64,
    values: Mutex<Vec<f64>>,
}

impl Seen {
    /// The values of `name{label=value,...}`, with the labels in their order.
    fn get(&self, key: &str) -> Vec<f64> {
        let values = self.0.lock().get(key).cloned();
        values.map_or_else(Vec::new, |values| values.values.lock().clone())
    }

    fn count(&self, key: &str) -> u64 {
        let values = self.0.lock().get(key).cloned();
        values.map_or(0, |values| values.count.load(Ordering::Relaxed))
    }

    fn values(&self, key: &Key) -> Arc<Values> {
        let mut labels: Vec<_> = key
            .labels()
            .map(|label| format!("{}={}", label.key(), label.value()))
            .collect();
        labels.sort();
        let name = format!("{}{{{}}}", key.name(), labels.join(","));
        Arc::clone(self.0.lock().entry(name).or_default())
    }
}

impl Recorder for Seen {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.values(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.values(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.values(key))
    }
}

impl Values {
    fn last(&self, change: impl FnOnce(f64) -> f64) {
        let mut values = self.values.lock();
        let last = values.pop().unwrap_or_default();
        values.push(change(last));
    }
}

impl CounterFn for Values {
    fn increment(&self, value: u64) {
        self.count.fetch_add(value, Ordering::Relaxed);
    }

    fn absolute(&self, value: u64) {
        self.count.store(value, Ordering::Relaxed);
    }
}

impl GaugeFn for Values {
    fn increment(&self, value: f64) {
        self.last(|last| last + value);
    }

    fn decrement(&self, value: f64) {
        self.last(|last| last - value);
    }

    fn set(&self, value: f64) {
        self.last(|_| value);
    }
}

impl HistogramFn for Values {
    fn record(&self, value: f64) {
        self.values.lock().push(value);
    }
}
