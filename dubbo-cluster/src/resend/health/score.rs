//! How well a provider does beside others, as a part of its weight.

use std::time::Duration;

use dubbo_core::cluster::Score;
use tokio::time::Instant;

use super::window::rate;

/// How weights follow what is seen of providers (`docs/spec/cluster.md` §7.10).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct WeightOptions {
    /// The time in which 99 of 100 calls should be answered; 500 ms.
    pub target_p99: Duration,
    /// How often a score moves; 10 s.
    pub window: Duration,
    /// With fewer calls than this in a window it does not; 20.
    pub volume: u32,
}

impl Default for WeightOptions {
    fn default() -> Self {
        Self {
            target_p99: Duration::from_millis(500),
            window: Duration::from_secs(10),
            volume: 20,
        }
    }
}

/// The machine of one provider. Time is handed in.
#[derive(Debug)]
pub(super) struct Scorer {
    score: f64,
    bad_windows: u32,
    window_ends: Option<Instant>,
    calls: u32,
    failures: u32,
    /// How many calls took how long, in steps of a quarter of a doubling.
    took: Box<[u32; STEPS]>,
}

impl Scorer {
    pub(super) fn new() -> Self {
        Self {
            score: 1.0,
            bad_windows: 0,
            window_ends: None,
            calls: 0,
            failures: 0,
            took: Box::new([0; STEPS]),
        }
    }

    /// Takes in how a call ended; the new score, if a window ended with it.
    pub(super) fn settle(
        &mut self,
        failed: bool,
        elapsed: Duration,
        options: &WeightOptions,
        now: Instant,
    ) -> Option<Score> {
        let ended = now >= *self.window_ends.get_or_insert(now + options.window);
        let score = ended.then(|| self.end_window(options));
        if ended {
            self.window_ends = Some(now + options.window);
        }
        self.calls = self.calls.saturating_add(1);
        self.failures = self.failures.saturating_add(failed.into());
        let step = &mut self.took[step_of(elapsed)];
        *step = step.saturating_add(1);
        score.flatten()
    }

    fn end_window(&mut self, options: &WeightOptions) -> Option<Score> {
        let (calls, failures) = (self.calls, self.failures);
        let p99 = self.p99();
        (self.calls, self.failures) = (0, 0);
        self.took.fill(0);
        if calls < options.volume {
            return None;
        }
        self.take(raw(p99, rate(failures, calls), options.target_p99));
        #[expect(clippy::cast_possible_truncation, reason = "a score needs few digits")]
        Some(Score::new(self.score as f32))
    }

    fn take(&mut self, raw: f64) {
        self.score = OLD_PART * self.score + (1.0 - OLD_PART) * raw;
        self.bad_windows = if raw < BAD { self.bad_windows + 1 } else { 0 };
        if self.bad_windows >= ENOUGH_BAD {
            self.score = raw;
        }
    }

    /// The upper end of the step that the 99th of 100 calls fell into.
    fn p99(&self) -> Duration {
        let counted: u64 = self.took.iter().copied().map(u64::from).sum();
        let mut slower = counted / 100;
        let step = self.took.iter().rposition(|&count| {
            let here = slower < u64::from(count);
            slower = slower.saturating_sub(u64::from(count));
            here
        });
        step.map_or(Duration::ZERO, upper_end)
    }
}

/// What a window was worth by itself, from 0 to 1.
fn raw(p99: Duration, errors: f64, target: Duration) -> f64 {
    let p99 = p99.as_secs_f64().max(f64::MIN_POSITIVE);
    (target.as_secs_f64() / p99).min(1.0) * (1.0 - errors).powi(2)
}

/// Four to a doubling of microseconds.
fn step_of(elapsed: Duration) -> usize {
    let micros = u64::try_from(elapsed.as_micros())
        .unwrap_or(u64::MAX)
        .max(1);
    let doublings = micros.ilog2() as usize;
    let quarter = if doublings < 2 {
        0
    } else {
        // The two digits after the first one.
        usize::try_from((micros >> (doublings - 2)) & 0b11).unwrap_or(0)
    };
    (doublings * 4 + quarter).min(STEPS - 1)
}

fn upper_end(step: usize) -> Duration {
    let (doublings, quarter) = (step / 4, step % 4);
    let low = 1_u64 << doublings;
    Duration::from_micros(low + (low / 4).max(1) * (quarter as u64 + 1))
}

/// The last one takes all from half an hour on.
const STEPS: usize = 4 * 31;

const OLD_PART: f64 = 0.8;
const BAD: f64 = 0.2;
const ENOUGH_BAD: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(got: f64, want: f64) -> bool {
        (got - want).abs() < 0.0005
    }

    #[test]
    fn a_window_is_worth_its_latency_and_its_errors() {
        for (p99, errors, want) in [
            (100, 0.0, 1.0),
            (1_000, 0.0, 0.5),
            (100, 0.1, 0.81),
            (5, 1.0, 0.0),
            (0, 0.0, 1.0),
        ] {
            let got = raw(
                Duration::from_millis(p99),
                errors,
                WeightOptions::default().target_p99,
            );
            assert!(is_near(got, want), "{p99} ms, {errors}: {got}");
        }
    }

    #[test]
    fn a_score_moves_slowly_but_falls_fast() {
        let mut slow = Scorer::new();
        for _ in 0..10 {
            slow.bad_windows = 0;
            slow.take(0.0);
        }
        assert!(is_near(slow.score, 0.107), "{}", slow.score);
        let mut fast = Scorer::new();
        fast.take(0.0);
        assert!(is_near(fast.score, 0.8));
        fast.take(0.0);
        assert!(fast.score <= 0.01);
        fast.take(1.0);
        assert!(is_near(fast.score, 0.2));
    }

    #[test]
    fn a_window_with_few_calls_says_nothing() {
        let options = WeightOptions::default();
        let start = Instant::now();
        let call = |scorer: &mut Scorer, failed, seconds| {
            let now = start + Duration::from_secs(seconds);
            scorer.settle(failed, Duration::from_millis(5), &options, now)
        };
        let mut scorer = Scorer::new();
        for _ in 0..19 {
            assert_eq!(call(&mut scorer, true, 0), None);
        }
        assert_eq!(call(&mut scorer, true, 10), None);
        for _ in 0..19 {
            assert_eq!(call(&mut scorer, true, 11), None);
        }
        let score = call(&mut scorer, false, 20).expect("twenty calls");
        assert!(is_near(score.part().into(), 0.8), "{score:?}");
    }

    #[test]
    fn the_slowest_hundredth_decides() {
        let mut scorer = Scorer::new();
        let options = WeightOptions::default();
        let now = Instant::now();
        assert_eq!(scorer.p99(), Duration::ZERO);
        for n in 0..1_000 {
            let millis = if n < 10 { 900 } else { 10 };
            scorer.settle(false, Duration::from_millis(millis), &options, now);
        }
        let p99 = scorer.p99().as_secs_f64();
        assert!((0.010..0.0125).contains(&p99), "{p99}");
        scorer.settle(false, Duration::from_millis(900), &options, now);
        for _ in 0..20 {
            scorer.settle(false, Duration::from_millis(900), &options, now);
        }
        let p99 = scorer.p99().as_secs_f64();
        assert!((0.9..1.125).contains(&p99), "{p99}");
    }

    #[test]
    fn every_duration_has_a_step_that_holds_it() {
        for micros in (0..40).flat_map(|shift| [1_u64 << shift, (1 << shift) + (1 << shift) / 3]) {
            let elapsed = Duration::from_micros(micros);
            let step = step_of(elapsed);
            let held = step == STEPS - 1 || elapsed < upper_end(step);
            assert!(held, "{elapsed:?} in {step}, up to {:?}", upper_end(step));
            assert!(micros < 8 || upper_end(step - 1) <= elapsed, "{elapsed:?}");
        }
        assert_eq!(step_of(Duration::MAX), STEPS - 1);
    }
}
