//! `java.time.LocalTime`.

use std::{fmt, str::FromStr};

use super::scan;
use crate::java::{
    InvalidValue,
    object::{from_text, java_object},
};

/// A time of day, to the nanosecond. `Display` is `10:15`, `10:15:30` or `10:15:30.001`, as short as it can be.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct LocalTime {
    hour: i32,
    minute: i32,
    second: i32,
    nano: i32,
}

impl LocalTime {
    /// 00:00.
    pub const MIDNIGHT: Self = Self {
        hour: 0,
        minute: 0,
        second: 0,
        nano: 0,
    };

    /// Hour 0 to 23, minute and second 0 to 59, nanosecond 0 to 999,999,999.
    pub fn new(hour: i32, minute: i32, second: i32, nano: i32) -> Result<Self, InvalidValue> {
        Self::checked(hour, minute, second, nano).ok_or_else(|| {
            InvalidValue::new(CLASS, format!("{hour}:{minute}:{second}.{nano:09}"), WANT)
        })
    }

    /// The hour, 0 to 23.
    pub fn hour(self) -> i32 {
        self.hour
    }

    /// The minute, 0 to 59.
    pub fn minute(self) -> i32 {
        self.minute
    }

    /// The second, 0 to 59.
    pub fn second(self) -> i32 {
        self.second
    }

    /// The nanosecond, 0 to 999,999,999.
    pub fn nano(self) -> i32 {
        self.nano
    }

    /// Whole seconds since midnight.
    pub fn second_of_day(self) -> i32 {
        self.hour * 3_600 + self.minute * 60 + self.second
    }

    /// The inverse of [`second_of_day`](Self::second_of_day); `None` if there is no such second or nanosecond.
    pub(super) fn of_second(second: i32, nano: i32) -> Option<Self> {
        Self::checked(
            second.div_euclid(3_600),
            second / 60 % 60,
            second % 60,
            nano,
        )
    }

    fn checked(hour: i32, minute: i32, second: i32, nano: i32) -> Option<Self> {
        ((0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..1_000_000_000).contains(&nano))
        .then_some(Self {
            hour,
            minute,
            second,
            nano,
        })
    }

    pub(super) fn scan(scanner: &mut scan::Scanner<'_>) -> Option<Self> {
        let hour = scanner.two()?;
        scanner.need(':')?;
        let minute = scanner.two()?;
        let (second, nano) = if scanner.take(':') {
            (scanner.two()?, scanner.nanos()?)
        } else {
            (0, 0)
        };
        Self::checked(hour, minute, second, nano)
    }
}

impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.hour, self.minute)?;
        if self.second != 0 || self.nano != 0 {
            write!(f, ":{:02}", self.second)?;
        }
        write_fraction(f, self.nano)
    }
}

impl FromStr for LocalTime {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        scan::whole(CLASS, text, WANT, Self::scan)
    }
}

java_object! {
    LocalTime,
    java "java.time.LocalTime",
    class "com.alibaba.com.caucho.hessian.io.java8.LocalTimeHandle" {
        nano: i32 = "nano", second: i32 = "second", minute: i32 = "minute", hour: i32 = "hour",
    }
    parts |time| (time.nano, time.second, time.minute, time.hour),
    build |nano, second, minute, hour| Self::new(hour, minute, second, nano),
    other from_text,
    described { "hour": i8, "minute": i8, "second": i8, "nano": i32 },
}

/// Nothing, or three, six or nine digits after a point.
pub(super) fn write_fraction(f: &mut fmt::Formatter<'_>, nano: i32) -> fmt::Result {
    match nano {
        0 => Ok(()),
        _ if nano % 1_000_000 == 0 => write!(f, ".{:03}", nano / 1_000_000),
        _ if nano % 1_000 == 0 => write!(f, ".{:06}", nano / 1_000),
        _ => write!(f, ".{nano:09}"),
    }
}

const CLASS: &str = "java.time.LocalTime";
const WANT: &str = "a time of day, as in 10:15:30.001";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_as_short_as_java_s() {
        for (parts, text) in [
            ((0, 0, 0, 0), "00:00"),
            ((10, 15, 0, 0), "10:15"),
            ((10, 15, 30, 0), "10:15:30"),
            ((10, 15, 0, 1_000_000), "10:15:00.001"),
            ((10, 15, 30, 1_000), "10:15:30.000001"),
            ((23, 59, 59, 999_999_999), "23:59:59.999999999"),
        ] {
            let time = LocalTime::new(parts.0, parts.1, parts.2, parts.3).expect(text);
            assert_eq!(time.to_string(), text);
            assert_eq!(text.parse::<LocalTime>().expect(text), time);
        }
    }

    #[test]
    fn times_that_do_not_exist_are_refused() {
        for text in [
            "24:00",
            "10:60",
            "10:15:60",
            "10",
            "10:1",
            "10:15:30.0000000001",
            "x",
        ] {
            assert!(text.parse::<LocalTime>().is_err(), "{text}");
        }
        assert!(LocalTime::new(0, 0, 0, 1_000_000_000).is_err());
        assert!(LocalTime::new(0, 0, 0, -1).is_err());
    }
}
