//! `java.time.Instant`.

use std::{
    fmt,
    str::FromStr,
    time::{SystemTime, UNIX_EPOCH},
};

use super::{
    LocalDateTime, OffsetDateTime, ZoneOffset,
    local_date::{civil, write_year},
    local_time::write_fraction,
    scan,
};
use crate::java::{
    InvalidValue,
    object::{from_text, java_object},
};

/// A moment, to the nanosecond, within a milliard years of 1970. `Display` is `2024-02-29T02:15:30.001Z`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Instant {
    seconds: i64,
    nanos: i32,
}

impl Instant {
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self {
        seconds: 0,
        nanos: 0,
    };

    /// Seconds since 1970 and 0 to 999,999,999 nanoseconds after them.
    pub fn new(seconds: i64, nanos: i32) -> Result<Self, InvalidValue> {
        if !(MIN_SECOND..=MAX_SECOND).contains(&seconds) || !(0..1_000_000_000).contains(&nanos) {
            return Err(InvalidValue::new(
                CLASS,
                format!("{seconds} s {nanos} ns"),
                "a moment within a milliard years of 1970, with 0 to 999,999,999 ns",
            ));
        }
        Ok(Self { seconds, nanos })
    }

    /// Seconds since 1970, rounded down.
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// Nanoseconds after that second, 0 to 999,999,999.
    pub fn nanos(self) -> i32 {
        self.nanos
    }

    /// What a clock with this offset shows; `None` if its year would be beyond Java's.
    pub fn at_offset(self, offset: ZoneOffset) -> Option<OffsetDateTime> {
        LocalDateTime::at(self.seconds, self.nanos, offset)
            .map(|date_time| OffsetDateTime { date_time, offset })
    }

    pub(super) fn of(date_time: LocalDateTime, offset: ZoneOffset) -> Self {
        Self {
            seconds: date_time.to_epoch_second(offset),
            nanos: date_time.time.nano(),
        }
    }
}

impl TryFrom<SystemTime> for Instant {
    type Error = InvalidValue;

    fn try_from(time: SystemTime) -> Result<Self, InvalidValue> {
        let far = || InvalidValue::new(CLASS, format!("{time:?}"), "a moment Java can hold");
        let (since, before) = match time.duration_since(UNIX_EPOCH) {
            Ok(since) => (since, false),
            Err(error) => (error.duration(), true),
        };
        let seconds = i64::try_from(since.as_secs()).map_err(|_| far())?;
        let nanos = i32::try_from(since.subsec_nanos()).map_err(|_| far())?;
        match (before, nanos) {
            (false, _) => Self::new(seconds, nanos),
            (true, 0) => Self::new(-seconds, 0),
            (true, _) => Self::new(-seconds - 1, 1_000_000_000 - nanos),
        }
    }
}

impl TryFrom<Instant> for SystemTime {
    type Error = InvalidValue;

    fn try_from(instant: Instant) -> Result<Self, InvalidValue> {
        let whole = std::time::Duration::from_secs(instant.seconds.unsigned_abs());
        let nanos = std::time::Duration::from_nanos(u64::from(instant.nanos.unsigned_abs()));
        if instant.seconds < 0 {
            UNIX_EPOCH.checked_sub(whole)
        } else {
            UNIX_EPOCH.checked_add(whole)
        }
        .and_then(|time| time.checked_add(nanos))
        .ok_or_else(|| {
            InvalidValue::new(CLASS, instant.to_string(), "a moment this system can hold")
        })
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil(self.seconds.div_euclid(86_400)).ok_or(fmt::Error)?;
        let second = self.seconds.rem_euclid(86_400);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        write_year(f, year)?;
        // Unlike a local time, an instant always shows its second.
        write!(f, "-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        write_fraction(f, self.nanos)?;
        f.write_str("Z")
    }
}

impl FromStr for Instant {
    type Err = InvalidValue;

    /// Accepts an offset too, as Java's `Instant.parse` does since 12.
    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        scan::whole(
            CLASS,
            text,
            "a moment, as in 2024-02-29T02:15:30Z",
            OffsetDateTime::scan,
        )
        .map(OffsetDateTime::to_instant)
    }
}

java_object! {
    Instant,
    java "java.time.Instant",
    class "com.alibaba.com.caucho.hessian.io.java8.InstantHandle" { nanos: i32 = "nanos", seconds: i64 = "seconds" }
    parts |instant| (instant.nanos, instant.seconds),
    build |nanos, seconds| Self::new(seconds, nanos),
    other from_text,
    described { "seconds": i64, "nanos": i32 },
}

const CLASS: &str = "java.time.Instant";
/// -1000000000-01-01T00:00:00Z: a year before the first local date, so that every offset fits.
const MIN_SECOND: i64 = -31_557_014_167_219_200;
/// +1000000000-12-31T23:59:59Z.
const MAX_SECOND: i64 = 31_556_889_864_403_199;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_shows_seconds_and_three_digits_at_a_time() {
        for (seconds, nanos, text) in [
            (0, 0, "1970-01-01T00:00:00Z"),
            (1, 2, "1970-01-01T00:00:01.000000002Z"),
            (-1, 999_000_000, "1969-12-31T23:59:59.999Z"),
            (1_500_000_000, 123_456_000, "2017-07-14T02:40:00.123456Z"),
        ] {
            let instant = Instant::new(seconds, nanos).expect(text);
            assert_eq!(instant.to_string(), text);
            assert_eq!(text.parse::<Instant>().expect(text), instant);
        }
    }

    #[test]
    fn the_ends_are_java_s() {
        for (seconds, nanos, text) in [
            (
                MAX_SECOND,
                999_999_999,
                "+1000000000-12-31T23:59:59.999999999Z",
            ),
            (MIN_SECOND, 0, "-1000000000-01-01T00:00:00Z"),
        ] {
            assert_eq!(Instant::new(seconds, nanos).expect(text).to_string(), text);
        }
        assert!(Instant::new(MAX_SECOND + 1, 0).is_err());
        assert!(Instant::new(MIN_SECOND - 1, 0).is_err());
        assert!(Instant::new(0, 1_000_000_000).is_err());
    }

    #[test]
    fn system_times_before_and_after_1970_come_back() {
        for (seconds, nanos) in [
            (0, 0),
            (1, 1),
            (-1, 0),
            (-1, 999_999_999),
            (1_500_000_000, 7),
        ] {
            let instant = Instant::new(seconds, nanos).expect("within range");
            let time = SystemTime::try_from(instant).expect("within range");
            assert_eq!(Instant::try_from(time).expect("within range"), instant);
        }
    }

    #[test]
    fn an_offset_at_the_end_of_time_does_not_overflow() {
        let last: OffsetDateTime = "+999999999-12-31T23:59:59-18:00".parse().expect("parses");
        assert_eq!(last.to_instant().to_string(), "+1000000000-01-01T17:59:59Z");
        assert_eq!(last.to_instant().at_offset(last.offset), Some(last));
        assert_eq!(last.to_instant().at_offset(ZoneOffset::UTC), None);
    }
}
