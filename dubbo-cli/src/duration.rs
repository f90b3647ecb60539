//! Durations on the command line.

use std::time::Duration;

/// Reads `500ms`, `3s`, `2m` or `1h`; fractions will do.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no duration: write `500ms`, `3s`, `2m` or `1h`");
    let digits = text
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .ok_or_else(wrong)?;
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())
}

/// Writes a duration as people like it: three digits and a unit.
pub(crate) fn short(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let (number, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    let digits = match number {
        n if n >= 100.0 => 0,
        n if n >= 10.0 => 1,
        _ => 2,
    };
    format!("{number:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_unit_and_refused_without() {
        for (text, want) in [
            ("500ms", Some(500)),
            ("3s", Some(3000)),
            ("1.5s", Some(1500)),
            ("2m", Some(120_000)),
            ("1h", Some(3_600_000)),
            ("3", None),
            ("", None),
            ("s", None),
            ("1d", None),
            ("1.2.3s", None),
            ("99999999999999999999h", None),
            ("-1s", None),
        ] {
            let want = want.map(Duration::from_millis);
            assert_eq!(parse(text).ok(), want, "{text}");
        }
    }

    #[test]
    fn durations_are_written_with_three_digits() {
        for (micros, want) in [
            (0, "0.00 µs"),
            (7, "7.00 µs"),
            (812, "812 µs"),
            (1_500, "1.50 ms"),
            (12_340, "12.3 ms"),
            (2_000_000, "2.00 s"),
            (754_000_000, "754 s"),
        ] {
            assert_eq!(short(Duration::from_micros(micros)), want);
        }
    }
}
