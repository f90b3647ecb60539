//! How often what took how long: counts in buckets that are as fine as their values are small.

use std::time::Duration;

/// Counts of durations, each known to 1 %.
#[derive(Debug, Clone)]
pub(super) struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    least: u64,
    most: u64,
}

impl Histogram {
    pub(super) fn new() -> Self {
        Self {
            buckets: vec![0; BUCKETS],
            count: 0,
            sum: 0,
            least: u64::MAX,
            most: 0,
        }
    }

    /// One more.
    pub(super) fn record(&mut self, duration: Duration) {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.buckets[bucket(nanos)] += 1;
        self.count += 1;
        self.sum += u128::from(nanos);
        self.least = self.least.min(nanos);
        self.most = self.most.max(nanos);
    }

    /// All that the other has counted.
    pub(super) fn add(&mut self, other: &Self) {
        for (own, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *own += more;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The shortest; zero if there is none.
    pub(super) fn least(&self) -> Duration {
        Duration::from_nanos(if self.count == 0 { 0 } else { self.least })
    }

    /// The longest; zero if there is none.
    pub(super) fn most(&self) -> Duration {
        Duration::from_nanos(self.most)
    }

    /// The mean; zero if there is none.
    pub(super) fn mean(&self) -> Duration {
        let mean = self.sum.checked_div(u128::from(self.count));
        Duration::from_nanos(mean.unwrap_or(0).try_into().unwrap_or(u64::MAX))
    }

    /// What `per_mille` of 1000 did not take longer than; zero if there is none.
    pub(super) fn quantile(&self, per_mille: u64) -> Duration {
        let rank = (u128::from(self.count) * u128::from(per_mille)).div_ceil(1000);
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += u128::from(*count);
            if *count > 0 && seen >= rank {
                return Duration::from_nanos(top(index).min(self.most));
            }
        }
        Duration::ZERO
    }

    /// The counts in rows for people: each up to a duration twice as long as the one before, from the first that has some to
    /// the last.
    pub(super) fn rows(&self) -> Vec<(Duration, u64)> {
        let mut rows: Vec<(u32, u64)> = Vec::new();
        for (index, count) in self.buckets.iter().enumerate() {
            let power = u64::BITS - top(index).leading_zeros();
            match rows.last_mut() {
                Some((last, sum)) if *last == power => *sum += count,
                _ => rows.push((power, *count)),
            }
        }
        let first = rows.iter().position(|(_, count)| *count > 0);
        let last = rows.iter().rposition(|(_, count)| *count > 0);
        let (Some(first), Some(last)) = (first, last) else {
            return Vec::new();
        };
        let shown = rows[first..=last].iter();
        let shown = shown.map(|(power, count)| {
            let end = 1_u64.checked_shl(*power).unwrap_or(u64::MAX);
            (Duration::from_nanos(end), *count)
        });
        shown.collect()
    }
}

/// The bucket of a value: values below 128 have one each; each power of two above is 128 buckets.
fn bucket(value: u64) -> usize {
    let power = u64::BITS - value.leading_zeros();
    let shift = power.saturating_sub(PRECISION + 1);
    let offset = usize::try_from(value >> shift);
    let offset = offset.expect("invariant: no more than PRECISION + 1 bits are left");
    offset + (shift as usize) * (1 << PRECISION)
}

/// The greatest value of a bucket.
fn top(bucket: usize) -> u64 {
    let width = 1_usize << PRECISION;
    let shift = (bucket / width).saturating_sub(1);
    let offset = (bucket - shift * width) as u64;
    let top = (u128::from(offset) + 1) << shift;
    u64::try_from(top - 1).unwrap_or(u64::MAX)
}

/// Bits of a value that count.
const PRECISION: u32 = 7;

/// Those of the greatest value, and all before.
const BUCKETS: usize = ((u64::BITS - PRECISION + 1) as usize) << PRECISION;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_bucket_whose_top_is_within_one_percent() {
        let mut values = vec![
            0,
            1,
            127,
            128,
            129,
            255,
            256,
            257,
            1000,
            u64::MAX - 1,
            u64::MAX,
        ];
        values.extend((0..64).map(|power| 1_u64 << power));
        values.extend((1..64).map(|power| (1_u64 << power) - 1));
        for value in values {
            let index = bucket(value);
            assert!(index < BUCKETS, "{value}");
            let top = top(index);
            assert!(top >= value, "{value}: {top}");
            assert!(top - value <= value / 100 + 1, "{value}: {top}");
            if let Some(before) = index.checked_sub(1) {
                assert!(super::top(before) < value, "{value}");
            }
        }
    }

    #[test]
    fn quantiles_are_those_of_what_was_recorded() {
        let mut all = Histogram::new();
        assert_eq!(all.quantile(500), Duration::ZERO);
        assert_eq!(all.rows(), []);
        let mut half = Histogram::new();
        for millis in 1..=1000 {
            let histogram = if millis % 2 == 0 { &mut all } else { &mut half };
            histogram.record(Duration::from_millis(millis));
        }
        all.add(&half);
        assert_eq!(all.count(), 1000);
        assert_eq!(all.least(), Duration::from_millis(1));
        assert_eq!(all.most(), Duration::from_secs(1));
        assert_eq!(all.mean(), Duration::from_micros(500_500));
        for (per_mille, millis) in [(500, 500), (900, 900), (990, 990), (1000, 1000)] {
            let got = all.quantile(per_mille).as_secs_f64() * 1000.0;
            let want = f64::from(millis);
            assert!((got - want).abs() <= want / 100.0, "{per_mille}: {got}");
        }
        let rows = all.rows();
        assert_eq!(rows.iter().map(|(_, count)| count).sum::<u64>(), 1000);
        assert!(rows.windows(2).all(|pair| pair[1].0 == pair[0].0 * 2));
    }
}
