//! How long the attempts of the last minute took.

use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::Duration,
};

use tokio::time::Instant;

/// Counts of latencies in buckets, for the last minute. It takes no lock: what is recorded while a slot begins anew may be
/// lost, which a percentile can bear.
pub(super) struct Latencies {
    base: Instant,
    slots: Box<[Slot; SLOTS]>,
    /// The last reading in microseconds, 0 for none, and when it is to be read anew, in milliseconds since `base`.
    p95: AtomicU64,
    stale: AtomicU64,
}

/// Ten seconds.
struct Slot {
    /// Which ten seconds since `base`.
    period: AtomicU64,
    counts: [AtomicU32; BUCKETS],
}

impl Latencies {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            base: now,
            slots: Box::new(std::array::from_fn(|_| Slot::new())),
            p95: AtomicU64::new(0),
            stale: AtomicU64::new(0),
        }
    }

    pub(super) fn record(&self, latency: Duration, now: Instant) {
        let period = self.period(now);
        let slot = &self.slots[slot_of(period)];
        if slot.period.swap(period, Ordering::Relaxed) != period {
            for count in &slot.counts {
                count.store(0, Ordering::Relaxed);
            }
        }
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        slot.counts[bucket_of(micros)].fetch_add(1, Ordering::Relaxed);
    }

    /// The time within which 95 of 100 were answered, at most a second ago and an eighth too long; `None` while there are
    /// too few to tell.
    pub(super) fn p95(&self, now: Instant) -> Option<Duration> {
        let millis = self.millis(now);
        let stale = self.stale.load(Ordering::Relaxed);
        if millis >= stale {
            let next = millis + FRESH_MILLIS;
            let mine =
                self.stale
                    .compare_exchange(stale, next, Ordering::Relaxed, Ordering::Relaxed);
            if mine.is_ok() {
                let read = self.read(now).unwrap_or(0);
                self.p95.store(read, Ordering::Relaxed);
            }
        }
        match self.p95.load(Ordering::Relaxed) {
            0 => None,
            micros => Some(Duration::from_micros(micros)),
        }
    }

    fn read(&self, now: Instant) -> Option<u64> {
        let period = self.period(now);
        let mut counts = [0_u64; BUCKETS];
        for slot in self.slots.iter() {
            let age = period.checked_sub(slot.period.load(Ordering::Relaxed))?;
            if age < SLOTS as u64 {
                for (sum, count) in counts.iter_mut().zip(&slot.counts) {
                    *sum += u64::from(count.load(Ordering::Relaxed));
                }
            }
        }
        let total: u64 = counts.iter().sum();
        if total < FEWEST {
            return None;
        }
        let mut left = (total * 95).div_ceil(100);
        let bucket = counts.iter().position(|count| {
            left = left.saturating_sub(*count);
            left == 0
        });
        bucket.map(end_of)
    }

    fn period(&self, now: Instant) -> u64 {
        self.millis(now) / SLOT_MILLIS
    }

    fn millis(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.base);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

impl Slot {
    fn new() -> Self {
        Self {
            period: AtomicU64::new(0),
            counts: std::array::from_fn(|_| AtomicU32::new(0)),
        }
    }
}

fn slot_of(period: u64) -> usize {
    usize::try_from(period % SLOTS as u64).unwrap_or(0)
}

/// Eight buckets for each power of two; those below eight have one for each microsecond.
fn bucket_of(micros: u64) -> usize {
    let octave = micros.max(FINE).ilog2() - FINE.ilog2();
    let within = micros >> octave;
    let bucket = u64::from(octave) * FINE + within;
    usize::try_from(bucket).map_or(BUCKETS - 1, |bucket| bucket.min(BUCKETS - 1))
}

/// The longest that is in the bucket, in microseconds.
fn end_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let octave = (bucket / FINE).saturating_sub(1);
    let within = bucket - octave * FINE;
    ((within + 1) << octave) - 1
}

/// Buckets of one power of two.
const FINE: u64 = 8;

/// Up to two minutes; what takes longer is in the last one.
const BUCKETS: usize = 200;

const SLOTS: usize = 6;
const SLOT_MILLIS: u64 = 10_000;
const FRESH_MILLIS: u64 = 1_000;
const FEWEST: u64 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_is_at_most_an_eighth_shorter_than_its_end() {
        for micros in (0..5_000).chain([10_000, 99_999, 1_000_000, 60_000_000]) {
            let end = end_of(bucket_of(micros));
            assert!(
                end >= micros && end <= micros + micros / 8,
                "{micros} is in {end}"
            );
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
        assert!(end_of(BUCKETS - 1) > 120_000_000);
    }

    #[test]
    fn the_95th_of_a_hundred_is_read_anew_each_second_and_forgotten_after_a_minute() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let latencies = Latencies::new(start);
        assert_eq!(latencies.p95(start), None);
        for percent in 1..=100 {
            latencies.record(Duration::from_millis(percent), at(1));
        }
        let read = latencies.p95(at(2)).expect("enough").as_millis();
        assert!((95..=107).contains(&read), "{read}");
        for _ in 0..10_000 {
            latencies.record(Duration::from_secs(1), at(2));
        }
        assert_eq!(latencies.p95(at(2)).expect("kept").as_millis(), read);
        let read = latencies.p95(at(3)).expect("enough").as_millis();
        assert!((1_000..=1_125).contains(&read), "{read}");
        assert!(latencies.p95(at(59)).is_some());
        assert_eq!(latencies.p95(at(60)), None, "a minute later");
        for _ in 0..FEWEST - 1 {
            latencies.record(Duration::from_millis(5), at(61));
        }
        assert_eq!(latencies.p95(at(62)), None, "too few");
        latencies.record(Duration::from_millis(5), at(63));
        assert!(
            latencies
                .p95(at(64))
                .is_some_and(|read| read.as_millis() == 5)
        );
    }
}
