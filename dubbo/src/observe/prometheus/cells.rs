//! What numbers are kept in. Those who count touch atomics alone.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use metrics::{CounterFn, GaugeFn, HistogramFn};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    sketch::{self, BUCKETS},
    window::{Past, Window},
};

/// What only grows.
#[derive(Debug)]
pub(super) struct Count {
    value: AtomicU64,
    past: Mutex<Past<u64>>,
}

impl Count {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            value: AtomicU64::new(0),
            past: Mutex::new(Past::new(now)),
        }
    }

    pub(super) fn get(&self) -> u64 {
        self.value.load(Relaxed)
    }

    pub(super) fn note(&self, now: Instant, window: Window) {
        self.past.lock().note(now, self.get(), window);
    }

    /// How much it has grown within the window, and how long that has been going on.
    pub(super) fn recent(&self, now: Instant, window: Window) -> (u64, Duration) {
        let past = self.past.lock();
        let (since, before) = past.beginning(window);
        let grown = self
            .get()
            .saturating_sub(before.copied().unwrap_or_default());
        (grown, now.saturating_duration_since(since))
    }
}

impl CounterFn for Count {
    fn increment(&self, value: u64) {
        self.value.fetch_add(value, Relaxed);
    }

    fn absolute(&self, value: u64) {
        self.value.fetch_max(value, Relaxed);
    }
}

/// What goes up and down: the bits of a number.
#[derive(Debug, Default)]
pub(super) struct Level(AtomicU64);

impl Level {
    pub(super) fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Relaxed))
    }

    fn change(&self, change: impl Fn(f64) -> f64) {
        let changed = |bits| Some(change(f64::from_bits(bits)).to_bits());
        // It never gives up.
        let _ = self.0.fetch_update(Relaxed, Relaxed, changed);
    }
}

impl GaugeFn for Level {
    fn increment(&self, value: f64) {
        self.change(|level| level + value);
    }

    fn decrement(&self, value: f64) {
        self.change(|level| level - value);
    }

    fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Relaxed);
    }
}

/// What things took. It is kept in thousandths of the unit that it is told and shown in.
#[derive(Debug)]
pub(super) struct Times {
    sum: AtomicU64,
    last: AtomicU64,
    all: Extremes,
    /// Those since the last note.
    step: Extremes,
    /// Made with the first value: most methods are never called.
    buckets: OnceLock<Box<[AtomicU64; BUCKETS]>>,
    past: Mutex<Past<Noted>>,
}

/// What had been counted at a time, and the extremes of the step before.
#[derive(Debug)]
struct Noted {
    sum: u64,
    least: u64,
    most: u64,
    /// Those that are not empty.
    buckets: Vec<(usize, u64)>,
}

/// What there is to say about a number of values.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Summary {
    pub(super) count: u64,
    pub(super) sum: f64,
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) average: f64,
}

impl Times {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            sum: AtomicU64::new(0),
            last: AtomicU64::new(0),
            all: Extremes::new(),
            step: Extremes::new(),
            buckets: OnceLock::new(),
            past: Mutex::new(Past::new(now)),
        }
    }

    pub(super) fn note(&self, now: Instant, window: Window) {
        let (least, most) = self.step.take();
        let noted = Noted {
            sum: self.sum.load(Relaxed),
            least,
            most,
            buckets: self.counts(),
        };
        self.past.lock().note(now, noted, window);
    }

    pub(super) fn last(&self) -> f64 {
        shown(self.last.load(Relaxed))
    }

    /// All values since the beginning.
    pub(super) fn total(&self) -> Summary {
        let count = self.counts().iter().map(|(_, count)| count).sum();
        let (least, most) = self.all.get();
        summary(count, self.sum.load(Relaxed), least, most)
    }

    /// The values within the window, and which of them the shares `quantiles` do not exceed.
    pub(super) fn recent<const N: usize>(
        &self,
        window: Window,
        quantiles: [f64; N],
    ) -> (Summary, Option<[f64; N]>) {
        let past = self.past.lock();
        let (_, before) = past.beginning(window);
        let mut counts = self.counts();
        let mut sum = self.sum.load(Relaxed);
        if let Some(before) = before {
            sum = sum.saturating_sub(before.sum);
            subtract(&mut counts, &before.buckets);
        }
        let (mut least, mut most) = self.step.get();
        // The extremes of the oldest note are of the step before the window.
        for noted in past.notes().skip(usize::from(before.is_some())) {
            least = least.min(noted.least);
            most = most.max(noted.most);
        }
        let count = counts.iter().map(|(_, count)| count).sum();
        let values = sketch::quantiles(&counts, quantiles);
        let values = values.map(|values| values.map(|value| value / THOUSANDTHS));
        (summary(count, sum, least, most), values)
    }

    fn counts(&self) -> Vec<(usize, u64)> {
        let buckets = self.buckets.get().into_iter();
        let counts = buckets.flat_map(|buckets| buckets.iter().map(|count| count.load(Relaxed)));
        counts.enumerate().filter(|(_, count)| *count > 0).collect()
    }
}

impl HistogramFn for Times {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what is out of range becomes the nearest number that is not"
    )]
    fn record(&self, value: f64) {
        let value = ((value * THOUSANDTHS).round() as u64).min(LONGEST);
        self.sum.fetch_add(value, Relaxed);
        self.last.store(value, Relaxed);
        self.all.add(value);
        self.step.add(value);
        let none = || Box::new([const { AtomicU64::new(0) }; BUCKETS]);
        let buckets = self.buckets.get_or_init(none);
        buckets[sketch::bucket(value)].fetch_add(1, Relaxed);
    }
}

/// The least and the most of some values.
#[derive(Debug)]
struct Extremes {
    least: AtomicU64,
    most: AtomicU64,
}

impl Extremes {
    fn new() -> Self {
        Self {
            least: AtomicU64::new(u64::MAX),
            most: AtomicU64::new(0),
        }
    }

    /// Most values are neither, and cost no more than a look.
    fn add(&self, value: u64) {
        if value < self.least.load(Relaxed) {
            self.least.fetch_min(value, Relaxed);
        }
        if value > self.most.load(Relaxed) {
            self.most.fetch_max(value, Relaxed);
        }
    }

    fn get(&self) -> (u64, u64) {
        (self.least.load(Relaxed), self.most.load(Relaxed))
    }

    fn take(&self) -> (u64, u64) {
        (
            self.least.swap(u64::MAX, Relaxed),
            self.most.swap(0, Relaxed),
        )
    }
}

/// Both are sorted, and what was counted earlier is among what is counted now.
fn subtract(counts: &mut [(usize, u64)], before: &[(usize, u64)]) {
    let mut before = before.iter().peekable();
    for (bucket, count) in counts {
        while before.next_if(|(earlier, _)| earlier < bucket).is_some() {}
        if let Some((_, earlier)) = before.next_if(|(earlier, _)| earlier == bucket) {
            *count = count.saturating_sub(*earlier);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "nobody reads that many digits")]
fn summary(count: u64, sum: u64, least: u64, most: u64) -> Summary {
    if count == 0 {
        return Summary::default();
    }
    let sum = shown(sum);
    Summary {
        count,
        sum,
        // What is told at this very moment may be counted already, and no extreme yet.
        least: shown(least.min(most)),
        most: shown(most),
        average: sum / count as f64,
    }
}

#[expect(clippy::cast_precision_loss, reason = "nobody reads that many digits")]
fn shown(value: u64) -> f64 {
    value as f64 / THOUSANDTHS
}

const THOUSANDTHS: f64 = 1e3;

/// Sums of it have room; in microseconds it is nine years.
const LONGEST: u64 = 1 << 48;

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window {
        steps: 2,
        length: Duration::from_secs(20),
        aggregates: true,
    };

    #[test]
    fn a_count_has_a_total_and_what_came_within_the_window() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let count = Count::new(began);
        count.increment(5);
        assert_eq!(count.recent(at(4), WINDOW), (5, Duration::from_secs(4)));
        count.note(at(10), WINDOW);
        count.increment(2);
        count.note(at(20), WINDOW);
        count.increment(1);
        assert_eq!(count.recent(at(24), WINDOW), (3, Duration::from_secs(14)));
        count.note(at(30), WINDOW);
        assert_eq!(count.recent(at(34), WINDOW), (1, Duration::from_secs(14)));
        assert_eq!(count.get(), 8);
    }

    #[test]
    fn times_have_their_sum_extremes_and_percentiles_at_all_and_within_the_window() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let times = Times::new(began);
        assert_eq!(times.total(), Summary::default());
        assert_eq!(times.recent(WINDOW, [0.5]), (Summary::default(), None));
        for value in [2.0, 4.0, 9.0] {
            times.record(value);
        }
        let all = Summary {
            count: 3,
            sum: 15.0,
            least: 2.0,
            most: 9.0,
            average: 5.0,
        };
        assert_eq!((times.total(), times.last()), (all, 9.0));
        assert_eq!(times.recent(WINDOW, [0.5]).0, all);
        times.note(at(10), WINDOW);
        times.record(1.0);
        times.record(1.0);
        times.note(at(20), WINDOW);
        let (recent, percentiles) = times.recent(WINDOW, [0.5, 0.99]);
        let want = Summary {
            count: 2,
            sum: 2.0,
            least: 1.0,
            most: 1.0,
            average: 1.0,
        };
        assert_eq!(recent, want);
        for percentile in percentiles.expect("some") {
            assert!((percentile - 1.0).abs() < 0.04, "{percentile}");
        }
        times.note(at(30), WINDOW);
        assert_eq!(times.recent(WINDOW, [0.5]), (Summary::default(), None));
        assert_eq!(times.total().count, 5);
    }

    #[test]
    fn what_is_no_time_is_counted_as_the_nearest_one() {
        let times = Times::new(Instant::now());
        for value in [f64::NAN, -1.0, f64::INFINITY] {
            times.record(value);
        }
        let total = times.total();
        assert_eq!((total.count, total.least), (3, 0.0));
        let level = Level::default();
        level.set(3.0);
        level.increment(2.0);
        level.decrement(4.5);
        assert!((level.get() - 0.5).abs() < f64::EPSILON);
    }
}
