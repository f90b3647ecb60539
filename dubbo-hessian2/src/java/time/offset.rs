//! `java.time.OffsetDateTime` and `java.time.OffsetTime`.

use std::{fmt, str::FromStr};

use super::{Instant, LocalDateTime, LocalTime, ZoneOffset, scan};
use crate::java::{
    InvalidValue,
    object::{from_text, java_object},
};

/// What a clock shows and how far it is ahead of UTC. `Display` is `2024-02-29T10:15:30+08:00`.
///
/// Two of them are equal when both parts are, as in Java; compare [`to_instant`](Self::to_instant) for the same moment.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct OffsetDateTime {
    /// What the clock shows.
    pub date_time: LocalDateTime,
    /// How far it is ahead of UTC.
    pub offset: ZoneOffset,
}

impl OffsetDateTime {
    /// A clock with its offset.
    pub fn new(date_time: LocalDateTime, offset: ZoneOffset) -> Self {
        Self { date_time, offset }
    }

    /// The moment at which the clock shows this.
    pub fn to_instant(self) -> Instant {
        Instant::of(self.date_time, self.offset)
    }

    pub(super) fn scan(scanner: &mut scan::Scanner<'_>) -> Option<Self> {
        let date_time = LocalDateTime::scan(scanner)?;
        let offset = ZoneOffset::scan(scanner)?;
        Some(Self { date_time, offset })
    }
}

impl fmt::Display for OffsetDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.date_time, self.offset)
    }
}

impl FromStr for OffsetDateTime {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        scan::whole(
            "java.time.OffsetDateTime",
            text,
            "a day, a time and an offset, as in 2024-02-29T10:15:30+08:00",
            Self::scan,
        )
    }
}

java_object! {
    OffsetDateTime,
    java "java.time.OffsetDateTime",
    class "com.alibaba.com.caucho.hessian.io.java8.OffsetDateTimeHandle" {
        offset: ZoneOffset = "offset", date_time: LocalDateTime = "dateTime",
    }
    parts |at| (at.offset, at.date_time),
    build |offset, date_time| Ok::<_, InvalidValue>(Self { date_time, offset }),
    other from_text,
}

/// A time of day and how far its clock is ahead of UTC. `Display` is `10:15:30+08:00`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct OffsetTime {
    /// What the clock shows.
    pub time: LocalTime,
    /// How far it is ahead of UTC.
    pub offset: ZoneOffset,
}

impl OffsetTime {
    /// A time with its offset.
    pub fn new(time: LocalTime, offset: ZoneOffset) -> Self {
        Self { time, offset }
    }
}

impl fmt::Display for OffsetTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.time, self.offset)
    }
}

impl FromStr for OffsetTime {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        scan::whole(
            "java.time.OffsetTime",
            text,
            "a time and an offset, as in 10:15:30+08:00",
            |scanner| {
                let time = LocalTime::scan(scanner)?;
                let offset = ZoneOffset::scan(scanner)?;
                Some(Self { time, offset })
            },
        )
    }
}

java_object! {
    OffsetTime,
    java "java.time.OffsetTime",
    class "com.alibaba.com.caucho.hessian.io.java8.OffsetTimeHandle" {
        offset: ZoneOffset = "zoneOffset", time: LocalTime = "localTime",
    }
    parts |at| (at.offset, at.time),
    build |offset, time| Ok::<_, InvalidValue>(Self { time, offset }),
    other from_text,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_moment_shows_differently_on_clocks_with_other_offsets() {
        let east: OffsetDateTime = "2024-03-01T01:30+08:00".parse().expect("east");
        let utc: OffsetDateTime = "2024-02-29T17:30Z".parse().expect("utc");
        assert_ne!(east, utc);
        assert_eq!(east.to_instant(), utc.to_instant());
        assert_eq!(east.to_string(), "2024-03-01T01:30+08:00");
        let time: OffsetTime = "10:15:30-01:30:15".parse().expect("time");
        assert_eq!(time.to_string(), "10:15:30-01:30:15");
        assert!("2024-03-01T01:30".parse::<OffsetDateTime>().is_err());
    }
}
