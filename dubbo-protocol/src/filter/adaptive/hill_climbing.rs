use std::time::Duration;

use tokio::time::Instant;

use super::limiter::{CEILING, FIRST, FLOOR, Policy, Sample};

/// Tries more for as long as that does more, and goes back to the best that it has seen when it became slower.
///
/// dubbo-go's, without what makes its limit only ever fall (`docs/spec/cluster.md` §6.5): times are in microseconds and
/// limits in fractions, rounds of any length are compared by the second, the first call of a round counts, growth of a response time is compared as growth, rounds become
/// short again, and there is a floor from which it can grow.
#[derive(Debug)]
pub(super) struct HillClimbing {
    limit: f64,
    /// How long a round is.
    period: Duration,
    /// How many rounds have ended since one that was too slow, or since the period was shortened.
    calm: u32,
    round: Option<Round>,
    best: Option<Best>,
}

#[derive(Debug)]
struct Round {
    began: Instant,
    calls: f64,
    /// The average time of a call, in microseconds.
    took: f64,
}

/// The round with the most calls in a second.
#[derive(Debug, Clone, Copy)]
struct Best {
    rate: f64,
    took: f64,
    capacity: f64,
    limit: f64,
}

impl Default for HillClimbing {
    fn default() -> Self {
        Self::at(FIRST, SHORTEST)
    }
}

impl HillClimbing {
    pub(super) fn at(limit: f64, period: Duration) -> Self {
        Self {
            limit,
            period,
            calm: 0,
            round: None,
            best: None,
        }
    }

    fn close(&mut self, round: &Round, elapsed: Duration) {
        let seconds = elapsed.as_secs_f64();
        let rate = round.calls / seconds;
        // As of a round of one second: those of any length can be compared.
        let capacity = rate * 1e6 / round.took;
        let best = *self.best.get_or_insert(Best {
            rate: 0.0,
            took: round.took,
            capacity,
            limit: self.limit,
        });
        let is_radical = self.period == SHORTEST;
        if rate > best.rate {
            self.best = Some(Best {
                rate,
                took: round.took,
                capacity,
                limit: self.limit,
            });
        } else if is_slower(best, capacity, round.took) {
            self.period = (self.period * 2).min(LONGEST);
            self.calm = 0;
            self.set(best.limit - self.step(is_radical));
            return;
        }
        if (capacity * 1.5).trunc() > self.limit {
            self.set(self.limit + self.step(is_radical));
        }
        self.calm += 1;
        if self.calm == CALM {
            self.calm = 0;
            self.period = (self.period / 2).max(SHORTEST);
        }
    }

    fn step(&self, is_radical: bool) -> f64 {
        let size = if is_radical { 1.5 } else { 0.8 };
        size * self.limit.ln() / self.period.as_secs_f64().log2().max(1.0)
    }

    fn set(&mut self, limit: f64) {
        self.limit = limit.clamp(FLOOR, CEILING);
    }
}

impl Policy for HillClimbing {
    fn limit(&self) -> f64 {
        self.limit
    }

    fn ended(&mut self, sample: Sample) {
        let took = (sample.took.as_secs_f64() * 1e6).max(1.0);
        match self.round.take() {
            Some(round) if sample.at.saturating_duration_since(round.began) > self.period => {
                let elapsed = sample.at.saturating_duration_since(round.began);
                self.close(&round, elapsed);
            }
            Some(round) => {
                self.round = Some(Round {
                    took: (round.took * round.calls + took) / (round.calls + 1.0),
                    calls: round.calls + 1.0,
                    ..round
                });
                return;
            }
            None => {}
        }
        self.round = Some(Round {
            began: sample.at,
            calls: 1.0,
            took,
        });
    }
}

/// Whether a round did less than the best because its calls took longer.
fn is_slower(best: Best, capacity: f64, took: f64) -> bool {
    let less = best.capacity - capacity;
    let percent = 100.0 * less / best.capacity;
    if percent <= 10.0 || less <= 5.0 {
        return false;
    }
    let millis = best.took / 1e3;
    let (more_millis, more_percent) = match millis {
        ..5.0 => (3.0, 80.0),
        ..10.0 => (2.0, 30.0),
        ..50.0 => (5.0, 20.0),
        ..100.0 => (10.0, 10.0),
        _ => (20.0, 5.0),
    };
    let longer = took - best.took;
    longer / 1e3 > more_millis || 100.0 * longer / best.took >= more_percent
}

/// A round in which steps are large.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(32);

/// After so many rounds that were not too slow the next ones are shorter.
const CALM: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs one round of `calls`, each of which takes `took`.
    fn round(policy: &mut HillClimbing, clock: &mut Instant, calls: u32, took: Duration) {
        let length = policy.period + Duration::from_millis(1);
        let began = *clock;
        for call in 0..calls {
            let at = began + length * call / calls;
            let in_flight = 1;
            policy.ended(Sample {
                took,
                in_flight,
                is_overload: false,
                at,
            });
        }
        *clock = began + length;
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn cluster_t14_the_floor_is_left_again_and_long_rounds_still_extend() {
        let mut clock = Instant::now();
        let mut policy = HillClimbing::at(FLOOR, SHORTEST);
        let mut limits = Vec::new();
        for _ in 0..12 {
            round(&mut policy, &mut clock, 100, ms(10));
            limits.push(policy.limit);
        }
        // A round is closed by the first call of the next.
        assert!(
            (limits[1] - 6.08).abs() < 0.01 && (limits[2] - 8.79).abs() < 0.01,
            "{limits:?}"
        );
        assert!(limits[11] >= 50.0, "after 11 rounds: {limits:?}");

        let mut policy = HillClimbing::at(100.0, LONGEST);
        round(&mut policy, &mut clock, 100, ms(10));
        for _ in 0..10 {
            let before = policy.limit;
            round(&mut policy, &mut clock, 100, ms(10));
            assert!(policy.limit > before, "{policy:?}");
        }
    }

    #[test]
    fn what_became_slower_goes_back_and_rounds_grow_long_and_short_again() {
        let mut clock = Instant::now();
        let mut policy = HillClimbing::default();
        for _ in 0..3 {
            round(&mut policy, &mut clock, 1_000, ms(20));
        }
        let (best, before) = (policy.best.expect("there is one").limit, policy.limit);
        round(&mut policy, &mut clock, 400, ms(60));
        round(&mut policy, &mut clock, 400, ms(60));
        assert!(policy.limit < before && policy.limit <= best, "{policy:?}");
        assert_eq!(policy.period, SHORTEST * 2);
        for _ in 0..12 {
            round(&mut policy, &mut clock, 400, ms(60));
        }
        assert!(policy.limit >= FLOOR);
        assert_eq!(policy.period, LONGEST);
        for _ in 0..30 {
            let calls = u32::try_from(policy.period.as_secs()).expect("few") * 1_000;
            round(&mut policy, &mut clock, calls, ms(20));
        }
        assert_eq!(policy.period, SHORTEST, "{policy:?}");
    }

    #[test]
    fn calls_that_take_no_time_poison_nothing() {
        let mut clock = Instant::now();
        let mut policy = HillClimbing::default();
        for calls in [1, 1, 2, 50] {
            round(&mut policy, &mut clock, calls, Duration::ZERO);
        }
        assert!(
            policy.limit.is_finite() && policy.best.is_some_and(|best| best.capacity.is_finite())
        );
    }
}
