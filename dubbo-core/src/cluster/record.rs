//! What the calls of one method of one provider have shown lately, and what the provider says of itself.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

/// What the calls of one method have shown, the older the less: what ended `memory` ago counts 1/e.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Recent {
    /// How long calls that worked took on average. It falls with the time in which no call ended, by the same measure, so
    /// that a provider that was slow is tried again; `None` when none has worked.
    pub latency: Option<Duration>,
    /// How long the slowest took: at once what a slow one took, and then falling. It counts failures, too.
    pub peak: Option<Duration>,
    /// How many worked.
    pub succeeded: f64,
    /// How many ended.
    pub ended: f64,
}

impl Recent {
    /// Nothing was seen.
    pub const NONE: Self = Self {
        latency: None,
        peak: None,
        succeeded: 0.0,
        ended: 0.0,
    };

    /// The part of the calls that worked, above 0 to 1. One call that worked is always counted beside what was seen, so
    /// that a single failure does not say everything, and with time every failure is forgotten.
    pub fn success_ratio(&self) -> f64 {
        (self.succeeded + 1.0) / (self.ended + 1.0)
    }
}

/// Written by every attempt that ends, read by every choice: those who read wait for nobody, and may see one attempt in
/// one figure and not yet in another.
#[derive(Debug)]
pub(super) struct Record {
    base: Instant,
    /// In nanoseconds; 0 while nobody has asked.
    memory: AtomicU64,
    writing: Mutex<()>,
    /// When the last one ended.
    ended_at: Moment,
    ended: Float,
    succeeded: Float,
    /// Of those that worked, in seconds.
    elapsed: Float,
    /// In seconds.
    peak: Float,
    remaining: AtomicU64,
    remaining_at: Moment,
    load: Float,
    /// The provider's clock when it told its load, in milliseconds; 0 when it has not.
    load_millis: AtomicU64,
    picked_at: Moment,
}

impl Record {
    /// Nothing, with times reckoned from `now`.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            base: now,
            memory: AtomicU64::new(0),
            writing: Mutex::default(),
            ended_at: Moment::default(),
            ended: Float::default(),
            succeeded: Float::default(),
            elapsed: Float::default(),
            peak: Float::default(),
            remaining: AtomicU64::new(0),
            remaining_at: Moment::default(),
            load: Float::default(),
            load_millis: AtomicU64::new(0),
            picked_at: Moment::default(),
        }
    }

    pub(super) fn finished(&self, ok: bool, elapsed: Duration, now: Instant) {
        let memory = self.memory.load(Ordering::Relaxed);
        if memory == 0 {
            return;
        }
        let (now, elapsed) = (self.nanos(now), elapsed.as_secs_f64());
        let _writing = self.writing.lock();
        let kept = self.ended_at.age(now).map_or(0.0, |age| decay(age, memory));
        self.ended.set(self.ended.get() * kept + 1.0);
        self.succeeded.set(self.succeeded.get() * kept);
        self.elapsed.set(self.elapsed.get() * kept);
        self.peak.set(elapsed.max(self.peak.get() * kept));
        if ok {
            self.succeeded.set(self.succeeded.get() + 1.0);
            self.elapsed.set(self.elapsed.get() + elapsed);
        }
        self.ended_at.set(now);
    }

    pub(super) fn recent(&self, memory: Duration, now: Instant) -> Recent {
        let memory = u64::try_from(memory.as_nanos()).unwrap_or(u64::MAX).max(1);
        if self.memory.load(Ordering::Relaxed) != memory {
            self.memory.store(memory, Ordering::Relaxed);
        }
        let now = self.nanos(now);
        let Some(age) = self.ended_at.age(now) else {
            return Recent::NONE;
        };
        let kept = decay(age, memory);
        let succeeded = self.succeeded.get();
        let mean = (succeeded > 0.0).then(|| self.elapsed.get() / succeeded);
        Recent {
            latency: mean.map(|mean| duration(mean * kept)),
            peak: Some(duration(self.peak.get() * kept)),
            succeeded: succeeded * kept,
            ended: self.ended.get() * kept,
        }
    }

    pub(super) fn report_remaining(&self, remaining: u64, now: Instant) {
        self.remaining.store(remaining, Ordering::Relaxed);
        self.remaining_at.set(self.nanos(now));
    }

    pub(super) fn remaining(&self, now: Instant) -> Option<u64> {
        let age = self.remaining_at.age(self.nanos(now))?;
        (Duration::from_nanos(age) <= FRESH).then(|| self.remaining.load(Ordering::Relaxed))
    }

    pub(super) fn report_load(&self, load: f64, told_millis: u64) {
        // A report that was overtaken by a later one is no news.
        let before = self.load_millis.fetch_max(told_millis, Ordering::Relaxed);
        if before <= told_millis {
            self.load.set(load);
        }
    }

    pub(super) fn load(&self) -> Option<f64> {
        (self.load_millis.load(Ordering::Relaxed) > 0).then(|| self.load.get())
    }

    pub(super) fn picked(&self, now: Instant) {
        self.picked_at.set(self.nanos(now));
    }

    pub(super) fn since_picked(&self, now: Instant) -> Option<Duration> {
        let age = self.picked_at.age(self.nanos(now))?;
        Some(Duration::from_nanos(age))
    }

    fn nanos(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.base);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A time in nanoseconds, if it came.
#[derive(Debug)]
struct Moment(AtomicU64);

impl Moment {
    fn set(&self, nanos: u64) {
        self.0.store(nanos, Ordering::Relaxed);
    }

    fn age(&self, now: u64) -> Option<u64> {
        let at = self.0.load(Ordering::Relaxed);
        (at != NEVER).then(|| now.saturating_sub(at))
    }
}

impl Default for Moment {
    fn default() -> Self {
        Self(AtomicU64::new(NEVER))
    }
}

/// 0 at first.
#[derive(Debug, Default)]
struct Float(AtomicU64);

impl Float {
    fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Ordering::Relaxed);
    }
}

/// What is left after `age` of what counts 1/e after `memory`.
#[expect(
    clippy::cast_precision_loss,
    reason = "what is lost is nothing beside what decays"
)]
fn decay(age: u64, memory: u64) -> f64 {
    (-(age as f64) / memory as f64).exp()
}

/// A reading between two writes may divide by what is not there yet.
fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

const NEVER: u64 = u64::MAX;

/// How long what a provider says about its room is believed (`docs/spec/cluster.md` §3.7).
const FRESH: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: Duration = Duration::from_secs(30);

    fn after(base: Instant, seconds: u64) -> Instant {
        base + Duration::from_secs(seconds)
    }

    #[test]
    fn nothing_is_kept_until_somebody_asks() {
        let base = Instant::now();
        let record = Record::new(base);
        record.finished(true, Duration::from_secs(1), base);
        assert_eq!(record.recent(MEMORY, base), Recent::NONE);
        record.finished(true, Duration::from_secs(1), base);
        assert_eq!(
            record.recent(MEMORY, base).latency,
            Some(Duration::from_secs(1))
        );
    }

    #[test]
    fn what_ended_long_ago_counts_less_and_less() {
        let base = Instant::now();
        let record = Record::new(base);
        record.recent(MEMORY, base);
        for (ok, millis) in [(true, 100), (true, 300), (false, 900)] {
            record.finished(ok, Duration::from_millis(millis), base);
        }
        let at = |seconds| record.recent(MEMORY, after(base, seconds));
        let now = at(0);
        assert_eq!(now.latency, Some(Duration::from_millis(200)));
        assert_eq!(now.peak, Some(Duration::from_millis(900)));
        assert!((now.success_ratio() - 0.75).abs() < 1e-9);
        let later = at(30);
        for (got, want) in [(later.latency, 0.2), (later.peak, 0.9)] {
            let got = got.expect("was seen").as_secs_f64();
            assert!((got - want / std::f64::consts::E).abs() < 1e-6, "{got}");
        }
        assert!(later.success_ratio() > now.success_ratio());
        assert!(at(3_000).success_ratio() > 0.999);

        record.finished(true, Duration::from_millis(400), after(base, 30));
        let mean = at(30).latency.expect("was seen").as_secs_f64();
        let kept = 1.0 / std::f64::consts::E;
        let want = (0.4 * kept + 0.4) / (2.0 * kept + 1.0);
        assert!((mean - want).abs() < 1e-6, "{mean}, not {want}");
    }

    #[test]
    fn what_a_provider_says_about_its_room_is_believed_for_ten_seconds() {
        let base = Instant::now();
        let record = Record::new(base);
        assert_eq!(record.remaining(base), None);
        record.report_remaining(7, base);
        for (seconds, want) in [(0, Some(7)), (10, Some(7)), (11, None)] {
            assert_eq!(record.remaining(after(base, seconds)), want, "{seconds} s");
        }
    }

    #[test]
    fn a_report_of_load_that_was_overtaken_is_dropped() {
        let record = Record::new(Instant::now());
        assert_eq!(record.load(), None);
        for (load, told, want) in [
            (5.0, 20, 5.0),
            (9.0, 10, 5.0),
            (3.0, 20, 3.0),
            (1.0, 30, 1.0),
        ] {
            record.report_load(load, told);
            assert_eq!(record.load(), Some(want), "{load} told at {told}");
        }
    }
}
