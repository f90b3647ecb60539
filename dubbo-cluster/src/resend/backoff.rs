//! How long to wait before trying again (`docs/spec/cluster.md` §7.5).

use std::time::Duration;

pub use dubbo_core::cluster::Timing;
use dubbo_core::yaml::{ProblemKind, Section};
use fastrand::Rng;

/// The waits between the attempts of a call, or between its replays.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Backoff {
    /// How they grow.
    pub kind: BackoffKind,
    /// The first one, before jitter: `b` of §7.5.
    pub base: Duration,
    /// The longest, before jitter: `C`.
    pub cap: Duration,
    /// What each is of the one before: `m`, from 1.
    pub multiplier: f64,
    /// How far [`Randomised`](BackoffKind::Randomised) goes from its middle, from 0 to 1: `rf`.
    pub randomization: f64,
    /// The wait after the first failure, where another provider is there to be asked, instead of what the kind says.
    /// `None`: what the kind says.
    pub first_other_node_delay: Option<Duration>,
}

/// How waits grow with the number of failures `n`; `x` is `min(C, b·m^(n−1))`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackoffKind {
    /// By what the provider took for its answers lately, and how many failed: `docs/spec/cluster.md` §7.5.1.
    Adaptive,
    /// `b·2^(n−2)` and up to 50 ms by chance, 1 s at most.
    Additive,
    /// By chance from `b` to three times the last wait, `C` at most.
    Decorrelated,
    /// `x`.
    Exponential,
    /// By chance from `x/2` to `x`.
    EqualJitter,
    /// By chance from nothing to `x`.
    FullJitter,
    /// `b`.
    Fixed,
    /// None.
    None,
    /// `x`, more or less the part `rf` of it.
    Randomised,
}

/// A run of waits: those of one call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Waits {
    last: Option<Duration>,
}

impl Backoff {
    /// No wait.
    pub const NONE: Self = Self {
        kind: BackoffKind::None,
        base: Duration::ZERO,
        cap: Duration::ZERO,
        multiplier: 1.0,
        randomization: 0.0,
        first_other_node_delay: None,
    };

    /// What strict policies wait unless they say otherwise: by chance up to 25 ms, 50 ms, … 250 ms, and nothing before
    /// the first attempt on another provider.
    pub const STRICT: Self = Self {
        kind: BackoffKind::FullJitter,
        base: Duration::from_millis(25),
        cap: Duration::from_millis(250),
        multiplier: 2.0,
        randomization: 0.5,
        first_other_node_delay: Some(Duration::ZERO),
    };

    /// Dubbo-go's failback: 1 s, growing by half up to 60 s, ±50 %.
    pub const FAILBACK: Self = Self {
        kind: BackoffKind::Randomised,
        base: Duration::from_secs(1),
        cap: Duration::from_mins(1),
        multiplier: 1.5,
        randomization: 0.5,
        first_other_node_delay: None,
    };

    /// Before the same provider is asked again: 50–99 ms, 100–149 ms, 200–249 ms, … 1 s.
    pub const SAME: Self = Self {
        kind: BackoffKind::Additive,
        base: Duration::from_millis(100),
        cap: Duration::from_secs(1),
        multiplier: 2.0,
        randomization: 0.0,
        first_other_node_delay: None,
    };

    /// The wait after `failures` failures, 1 after the first; `waits` are those of this call so far. `timing` is what
    /// [`Adaptive`](BackoffKind::Adaptive) goes by.
    pub(crate) fn wait(
        &self,
        failures: u32,
        waits: &mut Waits,
        timing: Timing,
        random: &mut Rng,
    ) -> Duration {
        let base = nanos(self.base);
        let cap = nanos(self.cap);
        let grown = scaled(base, self.growth(failures)).min(cap);
        let wait = match self.kind {
            BackoffKind::None => 0,
            BackoffKind::Fixed => base,
            BackoffKind::Exponential => grown,
            BackoffKind::EqualJitter => grown / 2 + up_to(random, grown / 2),
            BackoffKind::FullJitter => up_to(random, grown),
            BackoffKind::Decorrelated => {
                let last = waits.last.map_or(base, nanos);
                let most = last.saturating_mul(3).max(base);
                (base + up_to(random, most - base)).min(cap)
            }
            BackoffKind::Randomised => {
                let away = scaled(grown, self.randomization.clamp(0.0, 1.0));
                let least = grown.saturating_sub(away);
                least.saturating_add(up_to(random, away.saturating_mul(2)))
            }
            BackoffKind::Additive => {
                let doubled = scaled(base, 2_f64.powf(f64::from(failures.max(1)) - 2.0));
                let wait = doubled.saturating_add(random.u64(0..ADDED));
                wait.min(LONGEST_ADDITIVE)
            }
            BackoffKind::Adaptive => {
                let expected =
                    nanos(timing.srtt).saturating_add(nanos(timing.rttvar).saturating_mul(4));
                let doubled = 2_f64.powf(f64::from(failures.max(1) - 1));
                let errors = 1.0 + 4.0 * f64::from(timing.error_rate.clamp(0.0, 1.0));
                let wait = scaled(expected.max(SHORTEST_ADAPTIVE), doubled * errors).min(cap);
                wait / 2 + up_to(random, wait / 2)
            }
        };
        let wait = Duration::from_nanos(wait);
        waits.last = Some(wait);
        wait
    }

    fn growth(&self, failures: u32) -> f64 {
        let steps = i32::try_from(failures.saturating_sub(1)).unwrap_or(i32::MAX);
        self.multiplier.max(1.0).powi(steps)
    }

    /// Reads `backoff`; what is not said is as in `default`, or as the kind has it.
    pub fn read(s: &mut Section<'_, '_>, default: Self) -> Self {
        let kind = s.choice("kind", &KINDS);
        let like = kind.map_or(default, |kind| Self::of(kind, default));
        let multiplier = s.parse("multiplier", "a number from 1 to 100", |text| {
            let number: f64 = text.parse().ok()?;
            (1.0..=100.0).contains(&number).then_some(number)
        });
        let randomization = s.parse("randomization", "a number from 0 to 1", |text| {
            let number: f64 = text.parse().ok()?;
            (0.0..=1.0).contains(&number).then_some(number)
        });
        let read = Self {
            kind: like.kind,
            base: s.duration("base").unwrap_or(like.base),
            cap: s.duration("cap").unwrap_or(like.cap),
            multiplier: multiplier.unwrap_or(like.multiplier),
            randomization: randomization.unwrap_or(like.randomization),
            first_other_node_delay: s
                .duration("first-other-node-delay")
                .or(like.first_other_node_delay),
        };
        if read.cap < read.base && read.uses_cap() {
            let message = format!("{:?} is less than `base`, {:?}", read.cap, read.base);
            s.error("cap", ProblemKind::Conflict, message);
        }
        read
    }

    /// The usual values of `kind`; the growth is that of `default`.
    fn of(kind: BackoffKind, default: Self) -> Self {
        let like = match kind {
            BackoffKind::None => Self::NONE,
            BackoffKind::Randomised => Self::FAILBACK,
            BackoffKind::Additive => Self::SAME,
            BackoffKind::Fixed => Self {
                base: Duration::from_secs(5),
                ..default
            },
            BackoffKind::Adaptive => Self {
                cap: Duration::from_secs(1),
                ..default
            },
            _ => default,
        };
        Self {
            kind,
            first_other_node_delay: default.first_other_node_delay,
            ..like
        }
    }

    fn uses_cap(&self) -> bool {
        !matches!(
            self.kind,
            BackoffKind::None | BackoffKind::Fixed | BackoffKind::Additive | BackoffKind::Adaptive
        )
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// `nanos` times `factor`, at most what a `u64` holds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "such a cast saturates, and half a millionth of a wait is nothing"
)]
fn scaled(nanos: u64, factor: f64) -> u64 {
    (nanos as f64 * factor) as u64
}

fn up_to(random: &mut Rng, most: u64) -> u64 {
    random.u64(0..=most)
}

const KINDS: [(&str, BackoffKind); 9] = [
    ("adaptive", BackoffKind::Adaptive),
    ("additive", BackoffKind::Additive),
    ("decorrelated", BackoffKind::Decorrelated),
    ("exp", BackoffKind::Exponential),
    ("exp-equal-jitter", BackoffKind::EqualJitter),
    ("exp-full-jitter", BackoffKind::FullJitter),
    ("fixed", BackoffKind::Fixed),
    ("none", BackoffKind::None),
    ("randomised", BackoffKind::Randomised),
];

/// The chance in an additive wait: less than 50 ms.
const ADDED: u64 = 50_000_000;

const LONGEST_ADDITIVE: u64 = 1_000_000_000;

/// 10 ms.
const SHORTEST_ADAPTIVE: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// The shortest and longest of many waits after `failures`, in whole milliseconds.
    fn span(backoff: Backoff, failures: u32, timing: Timing) -> (u128, u128) {
        let mut random = Rng::with_seed(42);
        let waits = (0..20_000).map(|_| {
            let wait = backoff.wait(failures, &mut Waits::default(), timing, &mut random);
            wait.as_micros()
        });
        let (least, most) = waits.fold((u128::MAX, 0), |(least, most), wait| {
            (least.min(wait), most.max(wait))
        });
        (least / 1_000, most.div_ceil(1_000))
    }

    fn of(kind: BackoffKind, base: u64, cap: u64) -> Backoff {
        Backoff {
            kind,
            base: millis(base),
            cap: millis(cap),
            multiplier: 2.0,
            randomization: 0.5,
            first_other_node_delay: None,
        }
    }

    #[test]
    fn each_kind_waits_as_long_as_its_formula_says() {
        use BackoffKind::{
            Additive, Decorrelated, EqualJitter, Exponential, Fixed, FullJitter, None, Randomised,
        };
        for (backoff, failures, want) in [
            (of(None, 100, 100), 3, (0, 0)),
            (of(Fixed, 5_000, 0), 7, (5_000, 5_000)),
            (of(Exponential, 25, 250), 1, (25, 25)),
            (of(Exponential, 25, 250), 4, (200, 200)),
            (of(Exponential, 25, 250), 5, (250, 250)),
            (of(Exponential, 1_000, u64::MAX / 1_000_000), u32::MAX, {
                let most = u128::from(u64::MAX / 1_000_000);
                (most, most)
            }),
            (of(EqualJitter, 100, 1_000), 2, (100, 200)),
            (of(FullJitter, 100, 1_000), 2, (0, 200)),
            (of(Decorrelated, 100, 1_000), 1, (100, 300)),
            (of(Randomised, 1_000, 60_000), 1, (500, 1_500)),
            (of(Randomised, 1_000, 60_000), 40, (30_000, 90_000)),
            (of(Additive, 100, 1_000), 1, (50, 100)),
            (of(Additive, 100, 1_000), 2, (100, 150)),
            (of(Additive, 100, 1_000), 3, (200, 250)),
            (of(Additive, 100, 1_000), 30, (1_000, 1_000)),
        ] {
            let got = span(backoff, failures, Timing::default());
            // The extremes of 20,000 draws are near those that can be.
            let slack = 1 + (want.1 - want.0) / 1_000;
            assert!(
                got.0.abs_diff(want.0) <= slack && got.1.abs_diff(want.1) <= slack,
                "{backoff:?} after {failures}: {got:?}, not {want:?}"
            );
        }
    }

    #[test]
    fn dubbo_gos_failback_grows_by_half_to_a_minute() {
        let backoff = Backoff {
            randomization: 0.0,
            ..Backoff::FAILBACK
        };
        let waits: Vec<u128> = (1..=12)
            .map(|failures| span(backoff, failures, Timing::default()).0)
            .collect();
        let want = [
            1_000, 1_500, 2_250, 3_375, 5_062, 7_593, 11_390, 17_085, 25_628, 38_443, 57_665,
            60_000,
        ];
        assert_eq!(waits, want);
    }

    #[test]
    fn a_decorrelated_wait_goes_by_the_last_one() {
        let backoff = of(BackoffKind::Decorrelated, 100, 1_000_000);
        let mut random = Rng::with_seed(42);
        let mut waits = Waits::default();
        let mut last = millis(100);
        for failures in 1..200 {
            let wait = backoff.wait(failures, &mut waits, Timing::default(), &mut random);
            assert!(
                wait >= millis(100) && wait <= last * 3,
                "{wait:?} after {last:?}"
            );
            last = wait;
        }
    }

    #[test]
    fn an_adaptive_wait_goes_by_what_the_provider_took_and_how_often_it_failed() {
        let backoff = of(BackoffKind::Adaptive, 0, 1_000);
        for (error_rate, failures, want) in [
            (0.0, 1, (20, 40)),
            (0.0, 3, (80, 160)),
            (0.5, 1, (60, 120)),
            (0.5, 2, (120, 240)),
            (1.0, 4, (500, 1_000)),
        ] {
            let timing = Timing {
                srtt: millis(20),
                rttvar: millis(5),
                error_rate,
            };
            assert_eq!(
                span(backoff, failures, timing),
                want,
                "{error_rate} {failures}"
            );
        }
        let unknown = span(backoff, 1, Timing::default());
        assert_eq!(unknown, (5, 10), "10 ms where nothing is known");
    }
}
