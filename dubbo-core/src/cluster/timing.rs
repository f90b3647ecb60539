//! How long a provider takes, and how far that varies: what adaptive waits go by (`docs/spec/cluster.md` §7.5.1).

use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::Duration,
};

/// The smoothed time of answers (RFC 6298: α 1/8, β 1/4), and the smoothed part of attempts that fail.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Timing {
    /// The time of an answer; 0 before the first.
    pub srtt: Duration,
    /// How far it varies.
    pub rttvar: Duration,
    /// The part of attempts that fail, from 0 to 1.
    pub error_rate: f32,
}

impl Timing {
    /// What is known after an answer that took `sample`.
    #[must_use]
    pub fn answered(self, sample: Duration) -> Self {
        let (srtt, rttvar) = if self.srtt.is_zero() {
            (sample, sample / 2)
        } else {
            // The variation is from what was expected before.
            let apart = self.srtt.abs_diff(sample);
            (
                self.srtt * 7 / 8 + sample / 8,
                self.rttvar * 3 / 4 + apart / 4,
            )
        };
        Self {
            srtt,
            rttvar,
            error_rate: self.error_rate * (1.0 - ERROR_WEIGHT),
        }
    }

    /// What is known after a failure.
    #[must_use]
    pub fn failed(self) -> Self {
        Self {
            error_rate: self.error_rate * (1.0 - ERROR_WEIGHT) + ERROR_WEIGHT,
            ..self
        }
    }
}

/// A timing that many write at once. Of two that end at the same time one may be forgotten: it is a smoothed value.
#[derive(Debug, Default)]
pub(super) struct AtomicTiming {
    /// `srtt` and `rttvar` in microseconds, 32 bits each, so that they are of one moment.
    times: AtomicU64,
    error_rate: AtomicU32,
}

impl AtomicTiming {
    pub(super) fn get(&self) -> Timing {
        let times = self.times.load(Ordering::Relaxed);
        Timing {
            srtt: Duration::from_micros(times >> 32),
            rttvar: Duration::from_micros(times & u64::from(u32::MAX)),
            error_rate: f32::from_bits(self.error_rate.load(Ordering::Relaxed)),
        }
    }

    pub(super) fn finished(&self, ok: bool, elapsed: Duration) {
        let known = self.get();
        let next = if ok {
            known.answered(elapsed)
        } else {
            known.failed()
        };
        let times = micros(next.srtt) << 32 | micros(next.rttvar);
        self.times.store(times, Ordering::Relaxed);
        let error_rate = next.error_rate.to_bits();
        self.error_rate.store(error_rate, Ordering::Relaxed);
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).map_or(LONGEST, |micros| micros.min(LONGEST))
}

/// More than an hour.
const LONGEST: u64 = u32::MAX as u64;

/// The weight of the newest attempt in the part that fails.
const ERROR_WEIGHT: f32 = 0.2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_answers_give_what_rfc_6298_says() {
        let timing = AtomicTiming::default();
        for sample in [20, 20, 40] {
            timing.finished(true, Duration::from_millis(sample));
        }
        let got = timing.get();
        assert_eq!(got.srtt, Duration::from_micros(22_500));
        assert_eq!(got.rttvar, Duration::from_micros(10_625));
        assert!(got.error_rate.abs() < 1e-6);
    }

    #[test]
    fn failures_count_a_fifth_each_and_leave_the_time_alone() {
        let timing = AtomicTiming::default();
        timing.finished(true, Duration::from_millis(8));
        timing.finished(false, Duration::from_hours(9));
        timing.finished(false, Duration::ZERO);
        let got = timing.get();
        assert!((got.error_rate - 0.36).abs() < 1e-6, "{got:?}");
        assert_eq!(got.srtt, Duration::from_millis(8));
        timing.finished(true, Duration::from_hours(9));
        assert!((timing.get().error_rate - 0.288).abs() < 1e-6);
    }
}
