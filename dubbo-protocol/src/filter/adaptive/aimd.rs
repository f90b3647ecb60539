use super::limiter::{CEILING, FIRST, FLOOR, Policy, Sample};

/// One more for each call that went well while the limit was needed, a tenth less for each that was too late.
#[derive(Debug)]
pub(super) struct Aimd(f64);

impl Default for Aimd {
    fn default() -> Self {
        Self(FIRST)
    }
}

impl Policy for Aimd {
    fn limit(&self) -> f64 {
        self.0
    }

    fn ended(&mut self, sample: Sample) {
        if sample.is_overload {
            self.0 *= 0.9;
        } else if f64::from(sample.in_flight) * 2.0 >= self.0 {
            self.0 += 1.0;
        }
        self.0 = self.0.clamp(FLOOR, CEILING);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::*;

    #[test]
    fn it_grows_by_one_and_falls_by_a_tenth() {
        let mut policy = Aimd::default();
        for (in_flight, is_overload, want) in [
            (50, false, 51.0),
            (10, false, 51.0),
            (10, true, 45.9),
            (30, false, 46.9),
        ] {
            policy.ended(Sample {
                took: Duration::from_millis(1),
                in_flight,
                is_overload,
                at: Instant::now(),
            });
            assert!(
                (policy.limit() - want).abs() < 1e-9,
                "{policy:?} instead of {want}"
            );
        }
    }
}
