//! What a piece of code counts, seen by a test.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use parking_lot::Mutex;

/// The counters and gauges of the thread that [records](metrics::set_default_local_recorder) into it, and how often a
/// histogram was told something.
///
/// ```
/// let numbers = dubbo_test::metrics::Numbers::default();
/// let _recording = metrics::set_default_local_recorder(&numbers);
/// metrics::counter!("seen", "by" => "me").increment(2);
/// assert_eq!(numbers.get("seen{by=me}"), 2.0);
/// assert_eq!(numbers.get("unseen"), 0.0);
/// ```
#[derive(Debug, Default)]
pub struct Numbers(Mutex<BTreeMap<String, Arc<Cell>>>);

impl Numbers {
    /// The number called `name{label=value,label=value}`, with the labels sorted; 0 if there is none.
    pub fn get(&self, name: &str) -> f64 {
        let cells = self.0.lock();
        cells.get(name).map_or(0.0, |cell| cell.get())
    }

    /// All numbers by their names.
    pub fn all(&self) -> BTreeMap<String, f64> {
        let cells = self.0.lock();
        let numbers = cells.iter().map(|(name, cell)| (name.clone(), cell.get()));
        numbers.collect()
    }

    fn cell(&self, key: &Key) -> Arc<Cell> {
        let mut labels: Vec<_> = key
            .labels()
            .map(|label| format!("{}={}", label.key(), label.value()))
            .collect();
        labels.sort();
        let name = match &labels[..] {
            [] => key.name().to_owned(),
            labels => format!("{}{{{}}}", key.name(), labels.join(",")),
        };
        Arc::clone(self.0.lock().entry(name).or_default())
    }
}

impl Recorder for Numbers {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.cell(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.cell(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.cell(key))
    }
}

/// The bits of a number.
#[derive(Debug, Default)]
struct Cell(AtomicU64);

impl Cell {
    fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    fn change(&self, change: impl Fn(f64) -> f64) {
        let changed = |bits| Some(change(f64::from_bits(bits)).to_bits());
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, changed);
    }
}

#[expect(clippy::cast_precision_loss, reason = "tests count little")]
impl CounterFn for Cell {
    fn increment(&self, value: u64) {
        self.change(|number| number + value as f64);
    }

    fn absolute(&self, value: u64) {
        self.change(|number| number.max(value as f64));
    }
}

impl GaugeFn for Cell {
    fn increment(&self, value: f64) {
        self.change(|number| number + value);
    }

    fn decrement(&self, value: f64) {
        self.change(|number| number - value);
    }

    fn set(&self, value: f64) {
        self.change(|_| value);
    }
}

impl HistogramFn for Cell {
    fn record(&self, _: f64) {
        self.change(|number| number + 1.0);
    }
}
