//! `Timestamp`: RFC 3339 in UTC, which is `Z`.

use pbjson_types::Timestamp;
use serde::{Serialize, Serializer, ser};

use super::WriteAs;

/// Timestamps. They are read as pbjson reads them, with any offset.
#[derive(Debug)]
pub struct Timestamps;

impl WriteAs<Timestamps> for Timestamp {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = text(self.seconds, self.nanos).ok_or_else(|| {
            ser::Error::custom(
                "a timestamp is outside of the years 1 to 9999, and has no form in JSON",
            )
        })?;
        text.serialize(serializer)
    }
}

fn text(seconds: i64, nanos: i32) -> Option<String> {
    let is_known = (FIRST..=LAST).contains(&seconds) && (0..1_000_000_000).contains(&nanos);
    if !is_known {
        return None;
    }
    let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let fraction = match nanos {
        0 => String::new(),
        n if n % 1_000_000 == 0 => format!(".{:03}", n / 1_000_000),
        n if n % 1_000 == 0 => format!(".{:06}", n / 1_000),
        n => format!(".{n:09}"),
    };
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z"
    ))
}

/// The date that is so many days after 1970-01-01. Years begin in March here, so that a leap day is their last.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_TO_1970;
    let (era, of_era) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

const DAY: i64 = 86_400;
/// 400 years.
const ERA: i64 = 146_097;
/// From the first of March of the year 0.
const DAYS_TO_1970: i64 = 719_468;
/// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z.
const FIRST: i64 = -62_135_596_800;
const LAST: i64 = 253_402_300_799;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc_with_as_many_digits_as_it_takes() {
        for (seconds, nanos, want) in [
            (0, 0, Some("1970-01-01T00:00:00Z")),
            (1, 500_000_000, Some("1970-01-01T00:00:01.500Z")),
            (-1, 1_000, Some("1969-12-31T23:59:59.000001Z")),
            (951_782_400, 1, Some("2000-02-29T00:00:00.000000001Z")),
            (4_107_542_399, 0, Some("2100-02-28T23:59:59Z")),
            (4_107_542_400, 0, Some("2100-03-01T00:00:00Z")),
            (FIRST, 0, Some("0001-01-01T00:00:00Z")),
            (LAST, 999_999_999, Some("9999-12-31T23:59:59.999999999Z")),
            (FIRST - 1, 0, None),
            (LAST + 1, 0, None),
            (0, -1, None),
            (0, 1_000_000_000, None),
        ] {
            assert_eq!(text(seconds, nanos).as_deref(), want, "{seconds} {nanos}");
        }
    }
}
