//! `java.time.Period`.

use std::{fmt, str::FromStr};

use super::scan;
use crate::java::{
    InvalidValue,
    object::{from_text, java_object},
};

/// A span in years, months and days, each possibly negative. `Display` is `P1Y2M3D`, and `P0D` for none.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Period {
    /// Years.
    pub years: i32,
    /// Months, not carried into years.
    pub months: i32,
    /// Days, not carried into months.
    pub days: i32,
}

impl Period {
    /// Any amounts.
    pub fn new(years: i32, months: i32, days: i32) -> Self {
        Self {
            years,
            months,
            days,
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::default() {
            return f.write_str("P0D");
        }
        f.write_str("P")?;
        for (amount, unit) in [(self.years, 'Y'), (self.months, 'M'), (self.days, 'D')] {
            if amount != 0 {
                write!(f, "{amount}{unit}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for Period {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        scan::whole(
            "java.time.Period",
            text,
            "a span within 2^31 of each unit, as in P1Y2M3D",
            |scanner| {
                let sign = scanner.sign();
                scanner.need('P')?;
                let parts = ['Y', 'M', 'W', 'D'].map(|unit| scanner.amount(unit));
                parts.iter().copied().find_map(|part| part)?;
                let [years, months, weeks, days] = parts.map(Option::unwrap_or_default);
                let days = weeks.checked_mul(7)?.checked_add(days)?;
                let within = |amount: i64| i32::try_from(amount.checked_mul(sign)?).ok();
                Some(Self::new(within(years)?, within(months)?, within(days)?))
            },
        )
    }
}

java_object! {
    Period,
    java "java.time.Period",
    class "com.alibaba.com.caucho.hessian.io.java8.PeriodHandle" { days: i32 = "days", months: i32 = "months", years: i32 = "years" }
    parts |span| (span.days, span.months, span.years),
    build |days, months, years| Ok::<_, InvalidValue>(Self::new(years, months, days)),
    other from_text,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_java_s() {
        for (parts, text) in [
            ((0, 0, 0), "P0D"),
            ((1, 2, 3), "P1Y2M3D"),
            ((0, -2, 0), "P-2M"),
            ((i32::MAX, 0, i32::MIN), "P2147483647Y-2147483648D"),
        ] {
            let span = Period::new(parts.0, parts.1, parts.2);
            assert_eq!(span.to_string(), text);
            assert_eq!(text.parse(), Ok(span));
        }
        assert_eq!("-P1W2D".parse(), Ok(Period::new(0, 0, -9)));
        for text in [
            "",
            "P",
            "P1",
            "P1D1Y",
            "P2147483648Y",
            "P9223372036854775807W",
        ] {
            assert!(text.parse::<Period>().is_err(), "{text}");
        }
    }
}
