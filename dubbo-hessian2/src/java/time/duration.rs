//! `java.time.Duration`.

use std::{fmt, str::FromStr};

use super::scan;
use crate::java::{
    InvalidValue,
    object::{from_text, java_object},
};

/// A span of time, to the nanosecond, possibly negative. `Display` is `PT8H6M12.345S`.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Duration {
    seconds: i64,
    nanos: i32,
}

impl Duration {
    /// Seconds and 0 to 999,999,999 nanoseconds on top: −0.5 s is −1 s and 500,000,000 ns.
    pub fn new(seconds: i64, nanos: i32) -> Result<Self, InvalidValue> {
        if !(0..NANOS).contains(&i64::from(nanos)) {
            return Err(InvalidValue::new(
                CLASS,
                format!("{seconds} s {nanos} ns"),
                "0 to 999,999,999 ns",
            ));
        }
        Ok(Self { seconds, nanos })
    }

    /// Whole seconds, rounded down.
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// Nanoseconds on top, 0 to 999,999,999.
    pub fn nanos(self) -> i32 {
        self.nanos
    }
}

impl TryFrom<std::time::Duration> for Duration {
    type Error = InvalidValue;

    fn try_from(span: std::time::Duration) -> Result<Self, InvalidValue> {
        let long = || InvalidValue::new(CLASS, format!("{span:?}"), "at most 2^63 seconds");
        Self::new(
            i64::try_from(span.as_secs()).map_err(|_| long())?,
            i32::try_from(span.subsec_nanos()).map_err(|_| long())?,
        )
    }
}

impl TryFrom<Duration> for std::time::Duration {
    type Error = InvalidValue;

    fn try_from(span: Duration) -> Result<Self, InvalidValue> {
        u64::try_from(span.seconds)
            .map(|seconds| Self::new(seconds, span.nanos.unsigned_abs()))
            .map_err(|_| InvalidValue::new(CLASS, span.to_string(), "no negative span"))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Java shows every part with the sign of the whole, so a negative span is counted up to its second.
        let (total, nanos) = match (self.seconds, i64::from(self.nanos)) {
            (seconds @ ..0, nanos @ 1..) => (seconds + 1, NANOS - nanos),
            parts => parts,
        };
        let (hours, minutes, seconds) = (total / 3_600, total / 60 % 60, total % 60);
        f.write_str("PT")?;
        if hours != 0 {
            write!(f, "{hours}H")?;
        }
        if minutes != 0 {
            write!(f, "{minutes}M")?;
        }
        if seconds == 0 && nanos == 0 && total != 0 {
            return Ok(());
        }
        let sign = if self.seconds < 0 && seconds == 0 {
            "-"
        } else {
            ""
        };
        write!(f, "{sign}{seconds}")?;
        if nanos != 0 {
            let fraction = format!("{nanos:09}");
            write!(f, ".{}", fraction.trim_end_matches('0'))?;
        }
        f.write_str("S")
    }
}

impl FromStr for Duration {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        scan::whole(CLASS, text, "a span, as in PT8H6M12.345S", scan)
    }
}

fn scan(scanner: &mut scan::Scanner<'_>) -> Option<Duration> {
    let sign = scanner.sign();
    scanner.need('P')?;
    let days = scanner.amount('D');
    let (mut hours, mut minutes, mut rest) = (None, None, None);
    if scanner.take('T') {
        hours = scanner.amount('H');
        minutes = scanner.amount('M');
        if !scanner.rest().is_empty() {
            rest = Some(scan_seconds(scanner)?);
        }
        hours.or(minutes).map(i128::from).or(rest)?;
    }
    let parts = [(days, 86_400), (hours, 3_600), (minutes, 60)];
    if rest.is_none() && parts.iter().all(|(amount, _)| amount.is_none()) {
        return None;
    }
    let seconds = parts
        .iter()
        .map(|(amount, unit)| i128::from(amount.unwrap_or(0)) * unit)
        .sum::<i128>();
    let total = i128::from(sign) * (seconds * i128::from(NANOS) + rest.unwrap_or(0));
    Some(Duration {
        seconds: i64::try_from(total.div_euclid(i128::from(NANOS))).ok()?,
        nanos: i32::try_from(total.rem_euclid(i128::from(NANOS))).ok()?,
    })
}

/// Seconds with a fraction, in nanoseconds. The sign counts for both: `-0.5S` is less than nothing.
fn scan_seconds(scanner: &mut scan::Scanner<'_>) -> Option<i128> {
    let sign = scanner.sign();
    let seconds: i64 = scanner.digits(1, 19)?.parse().ok()?;
    let nanos = scanner.nanos()?;
    scanner.need('S')?;
    Some(i128::from(sign) * (i128::from(seconds) * i128::from(NANOS) + i128::from(nanos)))
}

java_object! {
    Duration,
    java "java.time.Duration",
    class "com.alibaba.com.caucho.hessian.io.java8.DurationHandle" { nanos: i32 = "nanos", seconds: i64 = "seconds" }
    parts |span| (span.nanos, span.seconds),
    build |nanos, seconds| Self::new(seconds, nanos),
    other from_text,
}

const CLASS: &str = "java.time.Duration";
const NANOS: i64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_java_s() {
        for (seconds, nanos, text) in [
            (0, 0, "PT0S"),
            (30, 10, "PT30.00000001S"),
            (29_172, 345_000_000, "PT8H6M12.345S"),
            (3_600, 0, "PT1H"),
            (-1, 500_000_000, "PT-0.5S"),
            (-2, 500_000_000, "PT-1.5S"),
            (-60, 0, "PT-1M"),
            (-61, 999_999_999, "PT-1M-0.000000001S"),
            (86_400, 0, "PT24H"),
            (i64::MAX, 999_999_999, "PT2562047788015215H30M7.999999999S"),
            (i64::MIN, 0, "PT-2562047788015215H-30M-8S"),
        ] {
            let span = Duration::new(seconds, nanos).expect(text);
            assert_eq!(span.to_string(), text);
            assert_eq!(text.parse::<Duration>().expect(text), span, "{text}");
        }
    }

    #[test]
    fn other_texts_of_java_s_parse_are_read_and_broken_ones_refused() {
        for (text, seconds, nanos) in [
            ("P2D", 172_800, 0),
            ("-PT1.5S", -2, 500_000_000),
            ("pt-6h3m", -21_420, 0),
            ("P1DT2H", 93_600, 0),
            ("PT1,5S", 1, 500_000_000),
        ] {
            assert_eq!(text.parse(), Duration::new(seconds, nanos), "{text}");
        }
        for text in [
            "",
            "P",
            "PT",
            "P1DT",
            "1S",
            "PT1",
            "PT1S1M",
            "PT9223372036854775808S",
            "PT1.0000000001S",
        ] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
    }

    #[test]
    fn spans_of_the_standard_library_convert_unless_negative() {
        let span = std::time::Duration::new(5, 7);
        let java = Duration::try_from(span).expect("fits");
        assert_eq!(std::time::Duration::try_from(java), Ok(span));
        assert!(Duration::try_from(std::time::Duration::MAX).is_err());
        let negative = Duration::new(-1, 0).expect("fits");
        assert!(std::time::Duration::try_from(negative).is_err());
    }
}
