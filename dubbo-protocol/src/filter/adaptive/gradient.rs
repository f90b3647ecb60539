use super::limiter::{CEILING, FIRST, FLOOR, Policy, Sample};

/// Compares how long calls take with how long they usually take: the limit follows that ratio, with room for a queue.
#[derive(Debug)]
pub(super) struct Gradient {
    limit: f64,
    /// The usual time of a call, in microseconds, once one has ended.
    usual: Option<f64>,
}

impl Default for Gradient {
    fn default() -> Self {
        Self {
            limit: FIRST,
            usual: None,
        }
    }
}

impl Policy for Gradient {
    fn limit(&self) -> f64 {
        self.limit
    }

    fn ended(&mut self, sample: Sample) {
        let took = (sample.took.as_secs_f64() * 1e6).max(1.0);
        let usual = self
            .usual
            .map_or(took, |usual| usual + (took - usual) / MEMORY);
        // What was slow for long is forgotten faster once it is over.
        let is_recovering = usual / took > 2.0;
        self.usual = Some(if is_recovering { usual * 0.95 } else { usual });
        if f64::from(sample.in_flight) < self.limit / 2.0 {
            // Nobody asks for more, so that nothing can be learned of it.
            return;
        }
        let gradient = (TOLERANCE * usual / took).clamp(0.5, 1.0);
        let wanted = self.limit * gradient + QUEUE;
        let next = self.limit * (1.0 - SMOOTHING) + wanted * SMOOTHING;
        self.limit = next.clamp(FLOOR, CEILING);
    }
}

/// Over so many calls the usual time is averaged.
const MEMORY: f64 = 600.0;
/// So much longer than usual is as good as usual.
const TOLERANCE: f64 = 1.5;
/// So many calls may wait.
const QUEUE: f64 = 4.0;
const SMOOTHING: f64 = 0.2;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::*;

    #[test]
    fn it_grows_while_calls_are_as_fast_as_usual_and_falls_when_they_are_not() {
        let mut policy = Gradient::default();
        let ended = |policy: &mut Gradient, millis: u64, in_flight: u32| {
            policy.ended(Sample {
                took: Duration::from_millis(millis),
                in_flight,
                is_overload: false,
                at: Instant::now(),
            });
            policy.limit
        };
        assert_eq!(
            ended(&mut policy, 10, 10).to_bits(),
            FIRST.to_bits(),
            "too few to learn from"
        );
        for _ in 0..50 {
            ended(&mut policy, 10, 500);
        }
        let grown = policy.limit;
        assert!(grown > 80.0, "{policy:?}");
        for _ in 0..50 {
            ended(&mut policy, 200, 500);
        }
        assert!(
            policy.limit < grown / 4.0 && policy.limit >= FLOOR,
            "{policy:?}"
        );
    }
}
