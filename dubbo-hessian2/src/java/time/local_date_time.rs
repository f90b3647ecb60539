//! `java.time.LocalDateTime`.

use std::{fmt, str::FromStr};

use super::{LocalDate, LocalTime, ZoneOffset, scan};
use crate::java::{
    InvalidValue,
    object::{from_text, java_object},
};

/// A day and a time of day, without a zone. `Display` is `2024-02-29T10:15:30.001`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct LocalDateTime {
    /// The day.
    pub date: LocalDate,
    /// The time of day.
    pub time: LocalTime,
}

impl LocalDateTime {
    /// A time of a day.
    pub fn new(date: LocalDate, time: LocalTime) -> Self {
        Self { date, time }
    }

    /// Seconds since 1970-01-01T00:00Z of a clock that is this far ahead of UTC.
    pub fn to_epoch_second(self, offset: ZoneOffset) -> i64 {
        self.date.to_epoch_day() * SECONDS_OF_DAY + i64::from(self.time.second_of_day())
            - i64::from(offset.seconds())
    }

    /// What a clock shows that is this far ahead of UTC; `None` beyond Java's years.
    pub(super) fn at(epoch_second: i64, nano: i32, offset: ZoneOffset) -> Option<Self> {
        let second = epoch_second.checked_add(i64::from(offset.seconds()))?;
        let of_day = i32::try_from(second.rem_euclid(SECONDS_OF_DAY)).ok()?;
        Some(Self {
            date: LocalDate::at_epoch_day(second.div_euclid(SECONDS_OF_DAY))?,
            time: LocalTime::of_second(of_day, nano)?,
        })
    }

    pub(super) fn scan(scanner: &mut scan::Scanner<'_>) -> Option<Self> {
        let date = LocalDate::scan(scanner)?;
        scanner.need('T')?;
        let time = LocalTime::scan(scanner)?;
        Some(Self { date, time })
    }
}

impl fmt::Display for LocalDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}T{}", self.date, self.time)
    }
}

impl FromStr for LocalDateTime {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        scan::whole(
            "java.time.LocalDateTime",
            text,
            "a day and a time, as in 2024-02-29T10:15:30",
            Self::scan,
        )
    }
}

java_object! {
    LocalDateTime,
    java "java.time.LocalDateTime",
    class "com.alibaba.com.caucho.hessian.io.java8.LocalDateTimeHandle" { time: LocalTime = "time", date: LocalDate = "date" }
    parts |at| (at.time, at.date),
    build |time, date| Ok::<_, InvalidValue>(Self { date, time }),
    other from_text,
    described { "date": LocalDate, "time": LocalTime },
}

const SECONDS_OF_DAY: i64 = 86_400;
