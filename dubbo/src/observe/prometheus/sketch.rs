//! How values are distributed: counts of buckets that become wider with the values, so that a percentile is right to a few
//! percent, whatever it is.

/// The bucket of `value`.
#[expect(clippy::cast_possible_truncation, reason = "it is below `BUCKETS`")]
pub(super) fn bucket(value: u64) -> usize {
    let value = value.min(LARGEST);
    if value < STEPS {
        return value as usize;
    }
    let octave = u64::from(value.ilog2());
    let step = (value >> (octave - STEP_BITS)) & (STEPS - 1);
    ((octave - STEP_BITS + 1) * STEPS + step) as usize
}

/// The least value of a bucket.
fn least(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return bucket;
    }
    let (octave, step) = (bucket / STEPS + STEP_BITS - 1, bucket % STEPS);
    (STEPS + step) << (octave - STEP_BITS)
}

/// The values that the shares `quantiles` of all do not exceed, where `counts` has how many are in each bucket. `None` where
/// there is none. Within a bucket values count as spread evenly.
#[expect(
    clippy::cast_precision_loss,
    reason = "a percentile is right to a few percent"
)]
pub(super) fn quantiles<const N: usize>(
    counts: &[(usize, u64)],
    quantiles: [f64; N],
) -> Option<[f64; N]> {
    let all: u64 = counts.iter().map(|(_, count)| count).sum();
    if all == 0 {
        return None;
    }
    Some(quantiles.map(|quantile| {
        let wanted = quantile * all as f64;
        let mut seen = 0.0;
        let mut value = 0.0;
        for &(bucket, count) in counts.iter().filter(|(_, count)| *count > 0) {
            let (from, to) = (least(bucket) as f64, least(bucket + 1) as f64);
            let within = ((wanted - seen) / count as f64).clamp(0.0, 1.0);
            // A bucket of one value has no middle.
            let width = if to - from > 1.0 { to - from } else { 0.0 };
            value = from + width * within;
            seen += count as f64;
            if seen >= wanted {
                break;
            }
        }
        value
    }))
}

const STEP_BITS: u64 = 4;

/// So many buckets has each power of two.
const STEPS: u64 = 1 << STEP_BITS;

/// What is larger counts as this. In microseconds it is more than an hour.
const LARGEST: u64 = u32::MAX as u64;

/// Each value below [`STEPS`] has its own, and each power of two from there to 2^31 has [`STEPS`].
pub(super) const BUCKETS: usize = (1 + (31 - 4 + 1)) * 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_in_the_bucket_that_it_belongs_to() {
        for value in (0..5_000).chain([LARGEST - 1, LARGEST, LARGEST + 1, u64::MAX]) {
            let bucket = bucket(value);
            assert!(bucket < BUCKETS, "{value}");
            let value = value.min(LARGEST);
            assert!(
                least(bucket) <= value && value < least(bucket + 1),
                "{value}"
            );
        }
        assert_eq!(bucket(LARGEST), BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_right_to_a_few_percent() {
        let mut counts = vec![0; BUCKETS];
        for value in 1..=100_000 {
            counts[bucket(value)] += 1;
        }
        let counts: Vec<_> = counts.into_iter().enumerate().collect();
        let got = quantiles(&counts, [0.5, 0.9, 0.95, 0.99, 1.0]).expect("some");
        for (got, want) in got
            .into_iter()
            .zip([50_000.0, 90_000.0, 95_000.0, 99_000.0, 100_000.0])
        {
            assert!((got - want).abs() / want < 0.035, "{got}, not {want}");
        }
        assert_eq!(quantiles(&[(7, 3)], [0.5, 0.99]), Some([7.0, 7.0]));
        assert_eq!(quantiles(&[(7, 0)], [0.5]), None);
    }
}
