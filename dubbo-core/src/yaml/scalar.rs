//! What the texts of a document mean to those who ask for something else than a text.

use std::time::Duration;

/// `true` and `false` in any case, `1` and `0`.
pub(super) fn bool(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" => Some(true),
        "0" | "false" => Some(false),
        _ => None,
    }
}

/// Go's syntax (`1h2m3.5s`, `µs`), or an integer that counts `bare` units. `None` if malformed, negative or longer than
/// the 292 years that Go's durations end at.
pub(super) fn duration(text: &str, bare: Duration) -> Option<Duration> {
    if let Some(count) = digits(text) {
        return bounded(count.checked_mul(bare.as_nanos())?);
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() {
        return None;
    }
    let mut nanos = 0_u128;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(number_end);
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let (unit, tail) = tail.split_at(tail.find(is_number).unwrap_or(tail.len()));
        let (_, scale) = DURATION_UNITS.iter().find(|(name, _)| *name == unit)?;
        nanos = nanos.checked_add(decimal(number, *scale)?)?;
        rest = tail;
    }
    bounded(nanos)
}

/// A number of bytes, with a unit of a thousand (`kb`, `mb`, `gb`) or of 1024 (`kib`, `mib`, `gib`) if wanted.
pub(super) fn size(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = unit.trim_start().to_ascii_lowercase();
    let (_, scale) = SIZE_UNITS.iter().find(|(name, _)| *name == unit)?;
    u64::try_from(decimal(number, *scale)?).ok()
}

/// `number` times `scale`, for digits with at most one point among them; the rest below one is cut off.
fn decimal(number: &str, scale: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.len() > MAX_FRACTION {
        return None;
    }
    let whole = if whole.is_empty() { 0 } else { digits(whole)? };
    let mut total = whole.checked_mul(scale)?;
    if !fraction.is_empty() {
        let places = u32::try_from(fraction.len()).ok()?;
        total = total.checked_add(digits(fraction)?.checked_mul(scale)? / 10_u128.pow(places))?;
    }
    Some(total)
}

fn digits(text: &str) -> Option<u128> {
    let only_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if only_digits { text.parse().ok() } else { None }
}

fn bounded(nanos: u128) -> Option<Duration> {
    let limit = u128::from(i64::MAX.unsigned_abs());
    (nanos <= limit).then(|| Duration::from_nanos_u128(nanos))
}

/// So many decimals are read, and no more: fractions of a nanosecond and of a byte are worth nothing.
const MAX_FRACTION: usize = 18;

const DURATION_UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),  // the micro sign
    ("\u{3bc}s", 1_000), // the Greek letter
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

const SIZE_UNITS: [(&str, u128); 11] = [
    ("", 1),
    ("b", 1),
    ("k", 1_000),
    ("kb", 1_000),
    ("kib", 1 << 10),
    ("m", 1_000_000),
    ("mb", 1_000_000),
    ("mib", 1 << 20),
    ("g", 1_000_000_000),
    ("gb", 1_000_000_000),
    ("gib", 1 << 30),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_gos_or_a_number_of_units() {
        let millis = Duration::from_millis;
        for (text, want) in [
            ("3s", Some(millis(3_000))),
            ("1h2m3.5s", Some(millis(3_723_500))),
            ("100us", Some(Duration::from_micros(100))),
            ("100\u{b5}s", Some(Duration::from_micros(100))),
            ("100\u{3bc}s", Some(Duration::from_micros(100))),
            (".5s", Some(millis(500))),
            ("1.s", Some(millis(1_000))),
            ("+1ms", Some(millis(1))),
            ("3000", Some(millis(3_000))),
            ("0", Some(Duration::ZERO)),
            ("0s", Some(Duration::ZERO)),
            ("2562047h", Some(Duration::from_hours(2_562_047))),
            ("2562048h", None),
            ("340282366920938463463374607431768211455", None),
            ("-3s", None),
            ("-1", None),
            ("1.5", None),
            ("3 s", None),
            ("3x", None),
            ("s", None),
            (".s", None),
            ("1.2.3s", None),
            ("abc", None),
            ("+", None),
            ("", None),
        ] {
            assert_eq!(duration(text, millis(1)), want, "{text:?}");
        }
        assert_eq!(duration("10", Duration::from_secs(1)), Some(millis(10_000)));
    }

    #[test]
    fn sizes_tell_thousands_from_powers_of_two() {
        for (text, want) in [
            ("4mib", Some(4 << 20)),
            ("4mb", Some(4_000_000)),
            ("4MB", Some(4_000_000)),
            ("1.5 KiB", Some(1_536)),
            ("512kb", Some(512_000)),
            ("2147483647", Some(2_147_483_647)),
            ("0", Some(0)),
            ("18446744073709551616", None),
            ("99999999999gib", None),
            ("-1", None),
            ("4 mibs", None),
            ("mib", None),
            ("", None),
        ] {
            assert_eq!(size(text), want, "{text:?}");
        }
    }

    #[test]
    fn yes_and_on_are_no_booleans() {
        for (text, want) in [
            ("true", Some(true)),
            ("TRUE", Some(true)),
            ("1", Some(true)),
            ("False", Some(false)),
            ("0", Some(false)),
            ("yes", None),
            ("off", None),
            ("2", None),
            ("", None),
        ] {
            assert_eq!(bool(text), want, "{text:?}");
        }
    }
}
