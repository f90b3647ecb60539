//! How many calls may be tried again, in proportion to those that are made (`docs/spec/cluster.md` §7.6).

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use dubbo_core::yaml::{ProblemKind, Section};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::throttle::{Throttle, ThrottleOptions};

/// What a budget gives.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct BudgetOptions {
    /// So many retries for each call, from 0 to 10; 0.2.
    pub ratio: f64,
    /// And so many a second however few calls there are; 10.
    pub min_per_sec: u32,
    /// Over this time, in ten steps; 10 s.
    pub window: Duration,
    /// Stops retries while most attempts fail. By default nothing does.
    pub throttle: Option<ThrottleOptions>,
}

impl Default for BudgetOptions {
    fn default() -> Self {
        Self {
            ratio: 0.2,
            min_per_sec: 10,
            window: Duration::from_secs(10),
            throttle: None,
        }
    }
}

impl BudgetOptions {
    /// Reads an entry of `budgets`.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        let default = Self::default();
        let ratio = s.parse("ratio", "a number from 0 to 10", |text| {
            let ratio: f64 = text.parse().ok()?;
            (0.0..=10.0).contains(&ratio).then_some(ratio)
        });
        let window = s.duration("window").unwrap_or(default.window);
        if !(SHORTEST_WINDOW..=LONGEST_WINDOW).contains(&window) {
            let message = format!("{window:?} is not within 100ms to 10m");
            s.error("window", ProblemKind::Type, message);
        }
        let throttle = s.node("throttle").is_some();
        Self {
            ratio: ratio.unwrap_or(default.ratio),
            min_per_sec: s
                .integer("min-per-sec", 0..=1_000_000)
                .unwrap_or(default.min_per_sec),
            window,
            throttle: throttle.then(|| s.section("throttle", ThrottleOptions::read)),
        }
    }
}

/// One budget: that of a service, in one pool.
///
/// Counting a call takes no lock. The bound is that of a window, not of each second: when a retry is given, the ten steps up
/// to then have at most `min_per_sec` times the seconds of the window and `ratio` times their calls of them, however many
/// threads ask; all of them may be given at once. In `n` steps that is ⌈n/10⌉ times the former and once the latter.
pub struct Budget {
    options: BudgetOptions,
    throttle: Option<Throttle>,
    begun: Instant,
    /// The balance of each step of the window: what its calls brought less what its retries took, in thousandths of a
    /// retry, beside the number of the step.
    steps: [AtomicU64; STEPS as usize],
    /// Retries are taken one after the other, so that the last one is given away once.
    taking: Mutex<()>,
    brought: u32,
    reserve: i64,
}

impl Budget {
    /// A budget as if nothing had been called.
    pub fn new(options: BudgetOptions, now: Instant) -> Self {
        Self {
            options,
            throttle: options.throttle.map(Throttle::new),
            begun: now,
            steps: std::array::from_fn(|_| AtomicU64::new(NEVER)),
            taking: Mutex::new(()),
            brought: thousandths(options.ratio),
            reserve: reserve(&options),
        }
    }

    /// What it was made of.
    pub fn options(&self) -> &BudgetOptions {
        &self.options
    }

    /// A call is made.
    pub fn called(&self, now: Instant) {
        if self.brought > 0 {
            self.add(self.step(now), i64::from(self.brought));
        }
    }

    /// An attempt worked.
    pub fn worked(&self) {
        if let Some(throttle) = &self.throttle {
            throttle.worked();
        }
    }

    /// An attempt failed in a way that calls are tried again for.
    pub fn failed(&self) {
        if let Some(throttle) = &self.throttle {
            throttle.failed();
        }
    }

    /// Takes one retry, if there is one.
    ///
    /// # Errors
    ///
    /// There is none: which part of it says so.
    pub fn take(&self, now: Instant) -> Result<(), Spent> {
        if let Some(throttle) = &self.throttle
            && !throttle.allows()
        {
            return Err(Spent::Throttled);
        }
        let _one_at_a_time = self.taking.lock();
        if self.balance(now) < RETRY {
            return Err(Spent::Budget);
        }
        self.add(self.step(now), -RETRY);
        Ok(())
    }

    /// The retries that are left.
    pub fn left(&self, now: Instant) -> u64 {
        u64::try_from(self.balance(now) / RETRY).unwrap_or(0)
    }

    /// Whether at least half of what it can give is left.
    pub fn is_half_full(&self, now: Instant) -> bool {
        let newest = self.step(now);
        let calls: i64 = self.kept(newest).filter(|balance| *balance > 0).sum();
        self.balance(now) * 2 >= self.reserve + calls
    }

    fn balance(&self, now: Instant) -> i64 {
        self.reserve + self.kept(self.step(now)).sum::<i64>()
    }

    /// The balances of the steps that the window has now.
    fn kept(&self, newest: u32) -> impl Iterator<Item = i64> {
        self.steps.iter().filter_map(move |step| {
            let (number, balance) = unpack(step.load(Ordering::Relaxed));
            let age = newest.checked_sub(number)?;
            (age < STEPS).then_some(balance)
        })
    }

    fn step(&self, now: Instant) -> u32 {
        let since = now.saturating_duration_since(self.begun).as_nanos();
        let step = (self.options.window.as_nanos() / u128::from(STEPS)).max(1);
        u32::try_from(since / step).unwrap_or(u32::MAX - 1)
    }

    fn add(&self, number: u32, amount: i64) {
        let place = &self.steps[(number % STEPS) as usize];
        let mut seen = place.load(Ordering::Relaxed);
        loop {
            let (of, balance) = unpack(seen);
            let balance = if of == number { balance } else { 0 };
            let next = pack(number, balance.saturating_add(amount));
            match place.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(changed) => seen = changed,
            }
        }
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Why a budget gives no retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spent {
    /// All that its calls brought has been taken.
    Budget,
    /// Most attempts fail.
    Throttled,
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a ratio is from 0 to 10"
)]
fn thousandths(ratio: f64) -> u32 {
    // Rounded down: a bound stays one.
    (ratio.clamp(0.0, 10.0) * 1_000.0 + 1e-9) as u32
}

fn reserve(options: &BudgetOptions) -> i64 {
    let millis = options
        .window
        .as_millis()
        .saturating_mul(options.min_per_sec.into());
    i64::try_from(millis).unwrap_or(i64::MAX / 2)
}

fn pack(number: u32, balance: i64) -> u64 {
    let balance = i32::try_from(balance).unwrap_or(if balance < 0 { i32::MIN } else { i32::MAX });
    u64::from(number) << 32 | u64::from(balance.cast_unsigned())
}

fn unpack(packed: u64) -> (u32, i64) {
    let number = u32::try_from(packed >> 32).unwrap_or(u32::MAX);
    let balance = u32::try_from(packed & u64::from(u32::MAX)).unwrap_or(0);
    (number, i64::from(balance.cast_signed()))
}

const STEPS: u32 = 10;

/// No step has this number.
const NEVER: u64 = u64::MAX << 32;

/// One retry, in thousandths.
const RETRY: i64 = 1_000;

const SHORTEST_WINDOW: Duration = Duration::from_millis(100);
const LONGEST_WINDOW: Duration = Duration::from_mins(10);

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn budget(options: BudgetOptions) -> (Budget, Instant) {
        let now = Instant::now();
        (Budget::new(options, now), now)
    }

    fn take_all(budget: &Budget, now: Instant) -> usize {
        (0..100_000)
            .take_while(|_| budget.take(now).is_ok())
            .count()
    }

    #[test]
    fn a_window_with_a_thousand_calls_has_three_hundred_retries() {
        let (budget, start) = budget(BudgetOptions::default());
        let at = |seconds| start + Duration::from_secs(seconds);
        for call in 0..1_000 {
            budget.called(start + Duration::from_millis(call * 10));
        }
        assert_eq!(budget.left(at(9)), 300);
        assert_eq!(take_all(&budget, at(9)), 300);
        assert_eq!(budget.take(at(9)), Err(Spent::Budget));
        assert_eq!(
            take_all(&budget, at(10)),
            0,
            "what was taken is still taken"
        );
        assert_eq!(
            take_all(&budget, at(19)),
            100,
            "and forgotten with its calls"
        );
    }

    /// In a second, which is a step: how many are called, and how many want to be tried again.
    fn seconds(budget: &Budget, start: Instant, each: &[(u32, u32)]) -> Vec<(u64, u64)> {
        let made = |(second, &(calls, wanted)): (u64, &(u32, u32))| {
            let now = start + Duration::from_secs(second) + Duration::from_millis(999);
            (0..calls).for_each(|_| budget.called(now));
            let given = (0..wanted).filter(|_| budget.take(now).is_ok());
            (u64::from(calls), given.count() as u64)
        };
        (0..).zip(each).map(made).collect()
    }

    #[test]
    fn the_bound_holds_in_every_window_and_over_all_time_whatever_comes_when() {
        fastrand::seed(42);
        for _ in 0..20 {
            let (budget, start) = budget(BudgetOptions::default());
            let busy = || fastrand::u32(..300) * fastrand::u32(..2);
            let each: Vec<_> = (0..60).map(|_| (busy(), busy())).collect();
            let made = seconds(&budget, start, &each);
            let sum = |some: &[(u64, u64)]| {
                let sum = |(calls, retries), &(c, r)| (calls + c, retries + r);
                some.iter().fold((0, 0), sum)
            };
            for now in 0..made.len() {
                let (calls, retries) = sum(&made[..=now]);
                let most = 100 * (now as u64 + 1).div_ceil(10) + calls / 5;
                assert!(retries <= most, "{retries} of {most} in {now} s");
                let (calls, retries) = sum(&made[now.saturating_sub(9)..=now]);
                let most = 100 + calls / 5;
                assert!(
                    made[now].1 == 0 || retries <= most,
                    "{retries} of {most} before {now} s"
                );
            }
        }
    }

    #[test]
    fn what_a_window_gives_may_be_taken_at_once_and_no_sooner_again_than_after_it() {
        let (budget, start) = budget(BudgetOptions::default());
        let made = seconds(&budget, start, &[(0, 1_000); 100]);
        for (second, (_, retries)) in (0_u64..).zip(made) {
            let want = if second.is_multiple_of(10) { 100 } else { 0 };
            assert_eq!(retries, want, "in second {second}");
        }
    }

    #[test]
    fn half_of_it_is_told() {
        let (budget, now) = budget(BudgetOptions::default());
        for taken in 0..100 {
            assert_eq!(
                budget.is_half_full(now),
                taken <= 50,
                "{taken} of 100 taken"
            );
            budget.take(now).expect("is left");
        }
    }

    #[test]
    fn a_ratio_of_nothing_leaves_what_a_second_gives() {
        let options = BudgetOptions {
            ratio: 0.0,
            min_per_sec: 2,
            window: Duration::from_secs(1),
            throttle: None,
        };
        let (budget, start) = budget(options);
        budget.called(start);
        assert_eq!(take_all(&budget, start), 2);
        assert_eq!(take_all(&budget, start + Duration::from_millis(999)), 0);
        assert_eq!(take_all(&budget, start + Duration::from_secs(1)), 2);
    }

    #[test]
    fn threads_take_no_more_than_there_is() {
        let (budget, now) = budget(BudgetOptions::default());
        let taken = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        budget.called(now);
                        if budget.take(now).is_ok() {
                            taken.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert!(taken.load(Ordering::Relaxed) <= 100 + 1_600);
        let rest = take_all(&budget, now);
        assert_eq!(taken.load(Ordering::Relaxed) + rest, 100 + 1_600);
    }

    #[test]
    fn a_step_with_more_than_it_can_hold_stays_full() {
        let (budget, now) = budget(BudgetOptions {
            ratio: 10.0,
            ..BudgetOptions::default()
        });
        budget.add(0, i64::from(i32::MAX) - 1);
        budget.called(now);
        assert!(budget.left(now) >= 2_000_000);
    }
}
