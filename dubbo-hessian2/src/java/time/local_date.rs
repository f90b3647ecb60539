//! `java.time.LocalDate`.

use std::{fmt, str::FromStr};

use super::scan;
use crate::java::{
    InvalidValue,
    object::{from_text, java_object},
};

/// A day of the ISO calendar, without a zone. `Display` is `2024-02-29`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct LocalDate {
    year: i32,
    month: i32,
    day: i32,
}

impl LocalDate {
    /// Year −999,999,999 to 999,999,999, month 1 to 12, day 1 to the last of that month.
    pub fn new(year: i32, month: i32, day: i32) -> Result<Self, InvalidValue> {
        Self::checked(year, month, day).ok_or_else(|| {
            InvalidValue::new(
                CLASS,
                format!("{year}-{month}-{day}"),
                "a day that exists, as in 2024-02-29",
            )
        })
    }

    /// The day this many days after 1970-01-01.
    pub fn from_epoch_day(days: i64) -> Result<Self, InvalidValue> {
        Self::at_epoch_day(days).ok_or_else(|| {
            InvalidValue::new(
                CLASS,
                days.to_string(),
                "a number of days within a milliard years of 1970",
            )
        })
    }

    /// Days since 1970-01-01, negative before it.
    pub fn to_epoch_day(self) -> i64 {
        // Years that begin in March have their leap day last, and every 400 of them are equally long.
        let shifted = i64::from(self.year) - i64::from(self.month < 3);
        let (era, year) = (shifted.div_euclid(400), shifted.rem_euclid(400));
        let month = i64::from((self.month + 9) % 12);
        let day = (153 * month + 2) / 5 + i64::from(self.day) - 1;
        era * DAYS_OF_ERA + year * 365 + year / 4 - year / 100 + day - MARCH_0_TO_1970
    }

    /// The year; 0 is 1 BC.
    pub fn year(self) -> i32 {
        self.year
    }

    /// The month, 1 to 12.
    pub fn month(self) -> i32 {
        self.month
    }

    /// The day of the month, from 1.
    pub fn day(self) -> i32 {
        self.day
    }

    pub(super) fn checked(year: i32, month: i32, day: i32) -> Option<Self> {
        ((-MAX_YEAR..=MAX_YEAR).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_of_month(year, month)).contains(&day))
        .then_some(Self { year, month, day })
    }

    pub(super) fn at_epoch_day(days: i64) -> Option<Self> {
        let (year, month, day) = civil(days)?;
        Self::checked(i32::try_from(year).ok()?, month, day)
    }

    pub(super) fn scan(scanner: &mut scan::Scanner<'_>) -> Option<Self> {
        let year = scanner.year()?;
        scanner.need('-')?;
        let month = scanner.two()?;
        scanner.need('-')?;
        Self::checked(year, month, scanner.two()?)
    }
}

impl fmt::Display for LocalDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_year(f, self.year.into())?;
        write!(f, "-{:02}-{:02}", self.month, self.day)
    }
}

impl FromStr for LocalDate {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        scan::whole(
            CLASS,
            text,
            "a day that exists, as in 2024-02-29",
            Self::scan,
        )
    }
}

java_object! {
    LocalDate,
    java "java.time.LocalDate",
    class "com.alibaba.com.caucho.hessian.io.java8.LocalDateHandle" { day: i32 = "day", month: i32 = "month", year: i32 = "year" }
    parts |date| (date.day, date.month, date.year),
    build |day, month, year| Self::new(year, month, day),
    other from_text,
    described { "year": i32, "month": i16, "day": i16 },
}

/// Year, month and day of the month; `None` only near the ends of `i64`.
pub(super) fn civil(days: i64) -> Option<(i64, i32, i32)> {
    let days = days.checked_add(MARCH_0_TO_1970)?;
    let (era, day) = (days.div_euclid(DAYS_OF_ERA), days.rem_euclid(DAYS_OF_ERA));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    // January and February end a year that began in March.
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    Some((
        era * 400 + year + next,
        i32::try_from(month).ok()?,
        i32::try_from(day).ok()?,
    ))
}

/// Four digits, more with a sign, as ISO 8601 has it.
pub(super) fn write_year(f: &mut fmt::Formatter<'_>, year: i64) -> fmt::Result {
    match year {
        10_000.. => write!(f, "+{year}"),
        0..10_000 => write!(f, "{year:04}"),
        _ => write!(f, "-{:04}", year.unsigned_abs()),
    }
}

/// How many days a month has.
pub(super) fn days_of_month(year: i32, month: i32) -> i32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

const CLASS: &str = "java.time.LocalDate";
pub(super) const MAX_YEAR: i32 = 999_999_999;
/// Days in 400 years.
const DAYS_OF_ERA: i64 = 146_097;
/// From 1 March of the year 0 to 1970-01-01.
const MARCH_0_TO_1970: i64 = 719_468;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_1970() {
        for (text, days) in [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2000-02-29", 11_016),
            ("2024-02-29", 19_782),
            ("0000-01-01", -719_528),
            ("-0001-12-31", -719_529),
            ("+10000-01-01", 2_932_897),
            ("+999999999-12-31", 365_241_780_471),
            ("-999999999-01-01", -365_243_219_162),
        ] {
            let date: LocalDate = text.parse().expect(text);
            assert_eq!(date.to_epoch_day(), days, "{text}");
            assert_eq!(LocalDate::from_epoch_day(days).expect(text), date);
            assert_eq!(date.to_string(), text);
        }
    }

    #[test]
    fn every_day_of_four_centuries_comes_back() {
        for day in -150_000..150_000 {
            let date = LocalDate::from_epoch_day(day).expect("within range");
            assert_eq!(date.to_epoch_day(), day, "{date}");
        }
    }

    #[test]
    fn days_that_do_not_exist_are_refused() {
        for text in [
            "2023-02-29",
            "2024-13-01",
            "2024-00-01",
            "2024-01-32",
            "2024-1-01",
            "24-01-01",
            "2024-01-01T",
            "",
            "+1000000000-01-01",
            "2024-01-0１",
        ] {
            assert!(text.parse::<LocalDate>().is_err(), "{text}");
        }
        assert_eq!(
            LocalDate::new(2023, 2, 29)
                .expect_err("no leap year")
                .to_string(),
            "\"2023-2-29\" is no java.time.LocalDate: want a day that exists, as in 2024-02-29"
        );
        assert!(LocalDate::from_epoch_day(i64::MAX).is_err());
        assert!(LocalDate::from_epoch_day(i64::MIN).is_err());
    }
}
