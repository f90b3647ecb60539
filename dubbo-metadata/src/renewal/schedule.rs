//! When metadata is renewed: at night, and not everywhere at once.

use std::time::Duration;

use crate::clock::Clock;

/// How long to wait until the first renewal: until it is two in the morning where the clock is, and up to four hours more.
pub(super) fn until_first(clock: &Clock, random: &mut fastrand::Rng) -> Duration {
    let day = millis(DAY);
    let utc = i64::try_from(clock.now_ms()).unwrap_or(i64::MAX - day);
    let local = utc + i64::from(clock.offset_s()) * 1000;
    let until_two = (millis(TWO) - local).rem_euclid(day);
    Duration::from_millis(until_two.unsigned_abs()) + SPREAD.mul_f64(random.f64())
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).expect("invariant: a day is short")
}

pub(super) const DAY: Duration = Duration::from_hours(24);

const TWO: Duration = Duration::from_hours(2);
const SPREAD: Duration = Duration::from_hours(4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_renewal_is_between_two_and_six_in_the_morning() {
        const HOUR: u64 = 3_600_000;
        const MIDNIGHT: u64 = 20_000 * 24 * HOUR;
        let mut random = fastrand::Rng::with_seed(1);
        // The time of day in UTC, the offset in hours, and how many hours it is until two at the place.
        for (time, offset, until_two) in [
            (0, 0, 2),
            (1, 0, 1),
            (2, 0, 0),
            (3, 0, 23),
            (23, 0, 3),
            (0, 8, 18),
            (17, 8, 1),
            (19, 8, 23),
            (0, -5, 7),
            (8, -5, 23),
        ] {
            let now = MIDNIGHT + time * HOUR;
            for _ in 0..100 {
                let clock = Clock::new(move || now, offset * 3600);
                let wait = until_first(&clock, &mut random);
                let range = Duration::from_hours(until_two)..Duration::from_hours(until_two + 4);
                assert!(range.contains(&wait), "{time} {offset}: {wait:?}");
            }
        }
        let far = until_first(&Clock::new(|| u64::MAX, 0), &mut random);
        assert!(far < Duration::from_hours(28), "{far:?}");
    }

    #[test]
    fn instances_do_not_renew_at_once() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut waits: Vec<_> = (0..100)
            .map(|_| until_first(&Clock::new(|| 0, 0), &mut random))
            .collect();
        waits.sort();
        waits.dedup();
        assert_eq!(waits.len(), 100);
        assert!(waits[99] > waits[0] + Duration::from_hours(3));
    }
}
