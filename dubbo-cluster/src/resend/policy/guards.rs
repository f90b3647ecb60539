//! What looks after providers, as documents say it: `breakers`, `ejections`, `recoveries`, `weights`.

use dubbo_core::yaml::{ProblemKind, Section};

use crate::resend::health::{
    BreakerOptions, EjectionOptions, RecoveryOptions, WeightOptions, WindowKind,
};

/// Reads an entry of `breakers`.
pub(super) fn breaker(s: &mut Section<'_, '_>) -> BreakerOptions {
    let mut options = BreakerOptions::default();
    set(&mut options.min_calls, s.integer("min-calls", 1..=MANY));
    set(&mut options.failure_rate, part(s, "failure-rate"));
    options.slow_call_duration = s.duration("slow-call-duration");
    set(&mut options.slow_call_rate, part(s, "slow-call-rate"));
    set(&mut options.open_wait, s.duration("open-wait"));
    set(&mut options.max_open_wait, s.duration("max-open-wait"));
    let permits = s.integer("half-open-permits", 1..=MANY);
    set(&mut options.half_open_permits, permits);
    options.window = window(s);
    if options.max_open_wait < options.open_wait {
        let message = format!(
            "{:?} is less than `open-wait`, {:?}",
            options.max_open_wait, options.open_wait
        );
        s.error("max-open-wait", ProblemKind::Conflict, message);
    }
    options
}

/// `window` and `buckets`, or `count`.
fn window(s: &mut Section<'_, '_>) -> WindowKind {
    let length = s.duration("window");
    let buckets = s.integer("buckets", 1..=1_000_u32);
    let count = s.integer("count", 1..=100_000);
    if let Some(count) = count {
        if length.is_some() || buckets.is_some() {
            let message = "is beside `window` or `buckets`: it is a number of calls, or a time";
            s.error("count", ProblemKind::Conflict, message);
        }
        return WindowKind::Count(count);
    }
    let WindowKind::Time {
        length: usual,
        buckets: parts,
    } = WindowKind::default()
    else {
        return WindowKind::default();
    };
    let length = length.unwrap_or(usual);
    if length.is_zero() {
        s.error(
            "window",
            ProblemKind::Type,
            "is 0, and nothing would be seen",
        );
    }
    WindowKind::Time {
        length,
        buckets: buckets.unwrap_or(parts),
    }
}

/// Reads an entry of `ejections`.
pub(super) fn ejection(s: &mut Section<'_, '_>) -> EjectionOptions {
    let mut options = EjectionOptions::default();
    let failures = s.integer("consecutive-failures", 1..=MANY);
    set(&mut options.consecutive_failures, failures);
    set(&mut options.interval, s.duration("interval"));
    set(&mut options.base_ejection, s.duration("base-ejection"));
    set(&mut options.max_ejection, s.duration("max-ejection"));
    let percent = s.integer("max-ejection-percent", 0..=100);
    set(&mut options.max_ejection_percent, percent);
    set(&mut options.hosts, s.integer("hosts", 1..=MANY));
    let volume = s.integer("success-rate-volume", 1..=MANY);
    set(&mut options.success_rate_volume, volume);
    let factor = s.parse(
        "success-rate-stdev-factor",
        "a number from 0 to 100",
        |text| {
            let factor: f64 = text.parse().ok()?;
            (0.0..=100.0).contains(&factor).then_some(factor)
        },
    );
    set(&mut options.success_rate_stdev_factor, factor);
    let failure = s.integer("failure-percentage", 1..=100);
    set(&mut options.failure_percentage, failure);
    let volume = s.integer("failure-percentage-volume", 1..=MANY);
    set(&mut options.failure_percentage_volume, volume);
    let threshold = s.integer("panic-threshold", 0..=100);
    set(&mut options.panic_threshold, threshold);
    if options.max_ejection < options.base_ejection {
        let message = format!(
            "{:?} is less than `base-ejection`, {:?}",
            options.max_ejection, options.base_ejection
        );
        s.error("max-ejection", ProblemKind::Conflict, message);
    }
    options
}

/// Reads an entry of `recoveries`.
pub(super) fn recovery(s: &mut Section<'_, '_>) -> RecoveryOptions {
    let mut options = RecoveryOptions::default();
    set(&mut options.initial, s.integer("initial", 1..=MANY));
    set(&mut options.window, s.duration("window"));
    set(&mut options.cap, part(s, "cap"));
    options
}

/// Reads an entry of `weights`.
pub(super) fn weights(s: &mut Section<'_, '_>) -> WeightOptions {
    let mut options = WeightOptions::default();
    set(&mut options.target_p99, s.duration("target-p99"));
    set(&mut options.window, s.duration("window"));
    set(&mut options.volume, s.integer("volume", 1..=MANY));
    if options.target_p99.is_zero() {
        s.error(
            "target-p99",
            ProblemKind::Type,
            "is 0, and nobody is as fast",
        );
    }
    options
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// A part of the whole: from 0 to 1, or in percent, as `50%`.
fn part(s: &mut Section<'_, '_>, key: &'static str) -> Option<f64> {
    s.parse(key, "a part such as `0.5` or `50%`", |text| {
        let (number, whole) = match text.strip_suffix('%') {
            Some(percent) => (percent.trim_end(), 100.0),
            None => (text, 1.0),
        };
        let part = number.parse::<f64>().ok()? / whole;
        (0.0..=1.0).contains(&part).then_some(part)
    })
}

const MANY: u32 = 1_000_000;
