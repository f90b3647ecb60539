//! The `grpc-timeout` header: how much longer the caller will wait.
//!
//! On the wire it is one to eight ASCII digits and a unit, `H M S m u n` (`docs/spec/triple.md` §9.1). It carries a
//! *remainder*, not a point in time: each hop subtracts what it has used, so clocks never have to agree.
//!
//! Peers differ in what they write (dubbo-go the finest unit that fits in seven digits, Dubbo Java microseconds); all of
//! it is read here, and what we write is read by both.

use std::time::Duration;

/// Formats `remaining` for the wire, in the finest unit that fits.
///
/// Rounds up, so that a positive remainder never becomes the zero that means "already too late".
/// Remainders beyond 99,999,999 hours are written as that.
#[must_use]
pub(crate) fn format(remaining: Duration) -> String {
    let nanos = remaining.as_nanos();
    UNITS
        .iter()
        .rev()
        .map(|unit| (nanos.div_ceil(unit.nanos), unit.letter))
        .find(|(count, _)| *count <= MAX_COUNT)
        .map_or_else(
            || format!("{MAX_COUNT}H"),
            |(count, letter)| format!("{count}{}", char::from(letter)),
        )
}

/// Reads a header value.
///
/// # Errors
///
/// [`TimeoutError`] says what is wrong with the value. A server answers `INVALID_ARGUMENT` with its text and does not
/// call the handler; ignoring the value would turn a bounded call into an unbounded one.
pub(crate) fn parse(value: &[u8]) -> Result<Duration, TimeoutError> {
    let (&letter, digits) = value.split_last().ok_or(TimeoutError::Empty)?;
    let unit = UNITS
        .iter()
        .find(|unit| unit.letter == letter)
        .ok_or(TimeoutError::Unit(letter))?;
    if digits.is_empty() || digits.len() > MAX_DIGITS {
        return Err(TimeoutError::Length(digits.len()));
    }
    let count = digits.iter().try_fold(0_u64, |count, &byte| match byte {
        b'0'..=b'9' => Ok(count * 10 + u64::from(byte - b'0')),
        _ => Err(TimeoutError::Digit(byte)),
    })?;
    // Eight digits of hours are 3.6e20 ns, more than a u64 holds.
    Ok(Duration::from_nanos_u128(u128::from(count) * unit.nanos))
}

/// Why a `grpc-timeout` value was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TimeoutError {
    /// A byte that is not a digit stands where a digit belongs.
    #[error("grpc-timeout has {:?} where a digit belongs", char::from(*.0))]
    Digit(u8),
    /// The header was there but blank.
    #[error("grpc-timeout is empty")]
    Empty,
    /// No digits, or more than eight: the count found.
    #[error("grpc-timeout has {0} digits, expected 1 to 8")]
    Length(usize),
    /// The last byte is no unit of the protocol.
    #[error("grpc-timeout has the unit {:?}, expected one of H M S m u n", char::from(*.0))]
    Unit(u8),
}

struct Unit {
    letter: u8,
    nanos: u128,
}

const MAX_COUNT: u128 = 99_999_999;
const MAX_DIGITS: usize = 8;
const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// Coarsest first.
const UNITS: [Unit; 6] = [
    Unit {
        letter: b'H',
        nanos: 3_600 * NANOS_PER_SECOND,
    },
    Unit {
        letter: b'M',
        nanos: 60 * NANOS_PER_SECOND,
    },
    Unit {
        letter: b'S',
        nanos: NANOS_PER_SECOND,
    },
    Unit {
        letter: b'm',
        nanos: 1_000_000,
    },
    Unit {
        letter: b'u',
        nanos: 1_000,
    },
    Unit {
        letter: b'n',
        nanos: 1,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_live_peers_sent_are_read() {
        for (value, want) in [
            ("5000000u", Duration::from_secs(5)), // Dubbo Java 3.3.6
            ("2999985u", Duration::from_micros(2_999_985)), // dubbo-go 3.3.2, 3 s less what it had used
            ("0n", Duration::ZERO),                         // dubbo-go, too late already
            ("99999999H", Duration::from_hours(99_999_999)),
        ] {
            assert_eq!(parse(value.as_bytes()), Ok(want), "{value}");
        }
    }

    #[test]
    fn malformed_values_say_what_is_wrong() {
        for (value, want) in [
            ("", TimeoutError::Empty),
            ("5", TimeoutError::Unit(b'5')),
            ("5x", TimeoutError::Unit(b'x')),
            ("m", TimeoutError::Length(0)),
            ("123456789S", TimeoutError::Length(9)),
            ("-1S", TimeoutError::Digit(b'-')),
        ] {
            assert_eq!(parse(value.as_bytes()), Err(want), "{value:?}");
        }
    }

    #[test]
    fn what_is_written_reads_back_and_is_never_shorter() {
        for nanos in [0, 1, 99_999_999, 100_000_001, 123_456_789_012, u64::MAX] {
            let remaining = Duration::from_nanos(nanos);
            let back = parse(format(remaining).as_bytes()).expect("our own output is well formed");
            assert!(back >= remaining, "{remaining:?} came back as {back:?}");
            assert!(
                back.abs_diff(remaining) <= remaining / 100_000,
                "{remaining:?} grew to {back:?}"
            );
        }
    }
}
