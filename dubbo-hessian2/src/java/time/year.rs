//! `java.time.Year`, `java.time.YearMonth` and `java.time.MonthDay`.

use std::{fmt, str::FromStr};

use super::{
    LocalDate,
    local_date::{MAX_YEAR, days_of_month, write_year},
    scan,
};
use crate::java::{
    InvalidValue,
    object::{from_text, java_object},
};

/// A year from −999,999,999 to 999,999,999. `Display` is `2024`, without leading zeros, as Java's.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Year(i32);

impl Year {
    /// A year; 0 is 1 BC.
    pub fn new(year: i32) -> Result<Self, InvalidValue> {
        if (-MAX_YEAR..=MAX_YEAR).contains(&year) {
            Ok(Self(year))
        } else {
            Err(InvalidValue::new(
                YEAR,
                year.to_string(),
                "at most nine digits",
            ))
        }
    }

    /// The number.
    pub fn value(self) -> i32 {
        self.0
    }
}

impl fmt::Display for Year {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Year {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        text.parse()
            .map_err(|_| InvalidValue::new(YEAR, text, "a number of at most nine digits"))
            .and_then(Self::new)
    }
}

java_object! {
    Year,
    java "java.time.Year",
    class "com.alibaba.com.caucho.hessian.io.java8.YearHandle" { year: i32 = "year" }
    parts |year| (year.0,),
    build Self::new,
    other from_text,
}

/// A month of a year. `Display` is `2024-02`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct YearMonth {
    year: i32,
    month: i32,
}

impl YearMonth {
    /// Year −999,999,999 to 999,999,999, month 1 to 12.
    pub fn new(year: i32, month: i32) -> Result<Self, InvalidValue> {
        LocalDate::checked(year, month, 1)
            .map(|_| Self { year, month })
            .ok_or_else(|| {
                InvalidValue::new(
                    YEAR_MONTH,
                    format!("{year}-{month}"),
                    "a month, as in 2024-02",
                )
            })
    }

    /// The year; 0 is 1 BC.
    pub fn year(self) -> i32 {
        self.year
    }

    /// The month, 1 to 12.
    pub fn month(self) -> i32 {
        self.month
    }
}

impl fmt::Display for YearMonth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_year(f, self.year.into())?;
        write!(f, "-{:02}", self.month)
    }
}

impl FromStr for YearMonth {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        scan::whole(YEAR_MONTH, text, "a month, as in 2024-02", |scanner| {
            let year = scanner.year()?;
            scanner.need('-')?;
            Self::new(year, scanner.two()?).ok()
        })
    }
}

java_object! {
    YearMonth,
    java "java.time.YearMonth",
    class "com.alibaba.com.caucho.hessian.io.java8.YearMonthHandle" { month: i32 = "month", year: i32 = "year" }
    parts |at| (at.month, at.year),
    build |month, year| Self::new(year, month),
    other from_text,
}

/// A day of any year. `Display` is `--02-29`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct MonthDay {
    month: i32,
    day: i32,
}

impl MonthDay {
    /// Month 1 to 12, day 1 to the last of that month in a leap year.
    pub fn new(month: i32, day: i32) -> Result<Self, InvalidValue> {
        if (1..=12).contains(&month) && (1..=days_of_month(2000, month)).contains(&day) {
            Ok(Self { month, day })
        } else {
            Err(InvalidValue::new(
                MONTH_DAY,
                format!("--{month}-{day}"),
                "a day of a leap year, as in --02-29",
            ))
        }
    }

    /// The month, 1 to 12.
    pub fn month(self) -> i32 {
        self.month
    }

    /// The day of the month, from 1.
    pub fn day(self) -> i32 {
        self.day
    }
}

impl fmt::Display for MonthDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{:02}-{:02}", self.month, self.day)
    }
}

impl FromStr for MonthDay {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        scan::whole(
            MONTH_DAY,
            text,
            "a day of a leap year, as in --02-29",
            |scanner| {
                scanner.need('-')?;
                scanner.need('-')?;
                let month = scanner.two()?;
                scanner.need('-')?;
                Self::new(month, scanner.two()?).ok()
            },
        )
    }
}

java_object! {
    MonthDay,
    java "java.time.MonthDay",
    class "com.alibaba.com.caucho.hessian.io.java8.MonthDayHandle" { day: i32 = "day", month: i32 = "month" }
    parts |at| (at.day, at.month),
    build |day, month| Self::new(month, day),
    other from_text,
}

const YEAR: &str = "java.time.Year";
const YEAR_MONTH: &str = "java.time.YearMonth";
const MONTH_DAY: &str = "java.time.MonthDay";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_java_s_and_come_back() {
        for (year, text) in [(2024, "2024"), (5, "5"), (-44, "-44"), (12_345, "12345")] {
            assert_eq!(Year::new(year).expect(text).to_string(), text);
            assert_eq!(text.parse(), Year::new(year));
        }
        for (year, month, text) in [
            (2024, 2, "2024-02"),
            (-1, 12, "-0001-12"),
            (10_000, 1, "+10000-01"),
        ] {
            assert_eq!(YearMonth::new(year, month).expect(text).to_string(), text);
            assert_eq!(text.parse(), YearMonth::new(year, month));
        }
        assert_eq!(
            MonthDay::new(2, 29).expect("leap day").to_string(),
            "--02-29"
        );
        assert_eq!("--02-29".parse(), MonthDay::new(2, 29));
    }

    #[test]
    fn what_is_on_no_calendar_is_refused() {
        assert!(Year::new(1_000_000_000).is_err());
        assert!("".parse::<Year>().is_err());
        assert!(YearMonth::new(2024, 13).is_err());
        assert!("2024-2".parse::<YearMonth>().is_err());
        assert!(MonthDay::new(2, 30).is_err());
        assert!(MonthDay::new(4, 31).is_err());
        assert!("02-29".parse::<MonthDay>().is_err());
    }
}
