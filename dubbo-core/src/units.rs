//! Durations and sizes as Dubbo's configuration writes them.

use std::time::Duration;

/// Reads a duration: Go's form (`1h2m3.5s`, `250ms`, `10µs`), or a bare integer of milliseconds.
///
/// # Errors
///
/// [`UnitError`] for anything else, negative durations and those beyond [`LONGEST`] included.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let text = text.trim();
    let error = || UnitError {
        text: text.to_owned(),
        expected: "a duration such as `3s`, `250ms` or `1m30s`, or a whole number of milliseconds, of at most 100 years",
    };
    let bounded = |duration: Duration| (duration <= LONGEST).then_some(duration);
    if let Ok(millis) = text.parse() {
        return bounded(Duration::from_millis(millis)).ok_or_else(error);
    }
    let mut rest = text;
    let mut total = 0_f64;
    while !rest.is_empty() {
        let (count, unit, after) = take_quantity(rest).ok_or_else(error)?;
        let seconds = DURATION_UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(error)?
            .1;
        total += count * seconds;
        rest = after;
    }
    if text.is_empty() {
        return Err(error());
    }
    let total = Duration::try_from_secs_f64(total).ok();
    total.and_then(bounded).ok_or_else(error)
}

/// Reads a size in bytes: `4194304`, `4mib` (binary), `4mb` (decimal), `512kb`; case and a space before the unit are
/// free.
///
/// # Errors
///
/// [`UnitError`] for anything else.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let text = text.trim();
    let error = || UnitError {
        text: text.to_owned(),
        expected: "a size such as `4mib`, `512kb` or a whole number of bytes",
    };
    if let Ok(bytes) = text.parse() {
        return Ok(bytes);
    }
    let lower = text.to_ascii_lowercase();
    let (count, unit, rest) = take_quantity(&lower).ok_or_else(error)?;
    let scale = SIZE_UNITS
        .iter()
        .find(|(name, _)| *name == unit.trim())
        .filter(|_| rest.is_empty())
        .ok_or_else(error)?
        .1;
    let bytes = count * scale;
    // A u64 holds every whole f64 below 2^53, far beyond any message.
    if !(0.0..=9_007_199_254_740_992.0).contains(&bytes) {
        return Err(error());
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Ok(bytes as u64)
}

/// The longest duration that a text may say: 100 years. A longer one is a slip, and clocks overflow on some.
pub const LONGEST: Duration = Duration::from_hours(24 * 365 * 100);

/// A text that is no duration or size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {expected}")]
pub struct UnitError {
    text: String,
    expected: &'static str,
}

/// Splits `3.5s1m` into `3.5`, `s` and the rest.
fn take_quantity(text: &str) -> Option<(f64, &str, &str)> {
    let digits_end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (digits, rest) = text.split_at(digits_end);
    let unit_end = rest
        .find(|c: char| c.is_ascii_digit() || c == '.')
        .unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(unit_end);
    Some((digits.parse().ok()?, unit, rest))
}

const DURATION_UNITS: [(&str, f64); 8] = [
    ("h", 3_600.0),
    ("m", 60.0),
    ("ms", 1e-3),
    ("ns", 1e-9),
    ("s", 1.0),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("μs", 1e-6),
];

const SIZE_UNITS: [(&str, f64); 11] = [
    ("b", 1.0),
    ("g", 1e9),
    ("gb", 1e9),
    ("gib", 1_073_741_824.0),
    ("k", 1e3),
    ("kb", 1e3),
    ("kib", 1_024.0),
    ("m", 1e6),
    ("mb", 1e6),
    ("mib", 1_048_576.0),
    ("", 1.0),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them_and_bare_numbers_are_milliseconds() {
        for (text, want) in [
            ("3s", Some(Duration::from_secs(3))),
            ("1h2m3.5s", Some(Duration::from_millis(3_723_500))),
            ("250ms", Some(Duration::from_millis(250))),
            ("10µs", Some(Duration::from_micros(10))),
            ("3000", Some(Duration::from_secs(3))),
            ("0", Some(Duration::ZERO)),
            ("0s", Some(Duration::ZERO)),
            ("", None),
            ("-3s", None),
            ("3 s", None),
            ("abc", None),
            ("3x", None),
            ("s", None),
            ("1e400h", None),
            ("876000h", Some(LONGEST)),
            ("876000h1s", None),
            ("3153600000000", Some(LONGEST)),
            ("3153600000001", None),
            ("18446744073709551615", None),
        ] {
            assert_eq!(parse_duration(text).ok(), want, "{text:?}");
        }
    }

    #[test]
    fn sizes_tell_binary_from_decimal_units() {
        for (text, want) in [
            ("4194304", Some(4_194_304)),
            ("4MiB", Some(4_194_304)),
            ("4mb", Some(4_000_000)),
            ("512 kb", Some(512_000)),
            ("1.5kib", Some(1_536)),
            ("0", Some(0)),
            ("-1", None),
            ("4tb", None),
            ("mb", None),
            ("4mib5", None),
            ("", None),
        ] {
            assert_eq!(parse_size(text).ok(), want, "{text:?}");
        }
    }
}
