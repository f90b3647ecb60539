//! Null, booleans, numbers and dates (`docs/spec/hessian2.md` §2).

use super::Decoder;
use crate::{DecodeError, FromHessian, error::Problem, java::BigDecimal};

/// A number in any of the forms of `int`, `long` and `double`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Int(i32),
    Long(i64),
    Double(f64),
}

impl Decoder<'_> {
    /// Whether null is next; if so it is read.
    #[inline]
    pub fn null(&mut self) -> Result<bool, DecodeError> {
        let null = self.lead()? == b'N';
        self.position += usize::from(null);
        Ok(null)
    }

    /// A boolean.
    pub fn bool(&mut self) -> Result<bool, DecodeError> {
        let value = match self.lead()? {
            b'T' => true,
            b'F' => false,
            lead => return Err(self.unexpected("a boolean", lead)),
        };
        self.position += 1;
        Ok(value)
    }

    /// An `int`, or a `long`, an integral `double` or one of Java's big numbers in its range.
    pub fn int(&mut self) -> Result<i32, DecodeError> {
        let start = self.position;
        match self.number_or(INT, Self::big_integer)? {
            Number::Int(value) => Ok(value),
            Number::Long(value) => {
                i32::try_from(value).map_err(|_| out_of_range(value, "int", start))
            }
            Number::Double(value) => {
                let long = integral(value, "int", start)?;
                i32::try_from(long).map_err(|_| out_of_range(long, "int", start))
            }
        }
    }

    /// A `long`, an `int`, or an integral `double` or one of Java's big numbers in its range.
    pub fn long(&mut self) -> Result<i64, DecodeError> {
        let start = self.position;
        match self.number_or("a long", Self::big_integer)? {
            Number::Int(value) => Ok(i64::from(value)),
            Number::Long(value) => Ok(value),
            Number::Double(value) => integral(value, "long", start),
        }
    }

    /// A `double`, an `int`, a `long` that a `double` can hold exactly, or the one nearest to one of Java's big numbers.
    pub fn double(&mut self) -> Result<f64, DecodeError> {
        let start = self.position;
        match self.number_or("a double", Self::big_double)? {
            Number::Int(value) => Ok(f64::from(value)),
            Number::Long(value) => exact(value).ok_or_else(|| out_of_range(value, "double", start)),
            Number::Double(value) => Ok(value),
        }
    }

    /// A `float`: a number as [`double`](Self::double) reads it, narrowed. A finite number beyond the range of a
    /// `float` is an error.
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    pub fn float(&mut self) -> Result<f32, DecodeError> {
        let start = self.position;
        let value = self.double()?;
        let narrow = value as f32;
        if narrow.is_infinite() && value.is_finite() {
            return Err(out_of_range(value, "float", start));
        }
        Ok(narrow)
    }

    /// A point in time, in milliseconds since 1970.
    pub fn date(&mut self) -> Result<i64, DecodeError> {
        let lead = self.lead()?;
        match lead {
            0x4a => {
                self.position += 1;
                Ok(i64::from_be_bytes(self.take()?))
            }
            0x4b => {
                self.position += 1;
                Ok(i64::from(i32::from_be_bytes(self.take()?)) * 60_000)
            }
            _ => Err(self.unexpected("a date", lead)),
        }
    }

    /// A number of any kind, as it was written.
    ///
    /// Inlined where it is called for one kind, so that the other kinds are out of the way there.
    #[expect(clippy::inline_always, reason = "a third faster in lists of numbers")]
    #[inline(always)]
    pub(super) fn number(&mut self, expected: &'static str) -> Result<Number, DecodeError> {
        self.number_or(expected, Self::unexpected_number)
    }

    /// The same; `other` reads what starts with none of the bytes of numbers.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    fn number_or(
        &mut self,
        expected: &'static str,
        other: fn(&mut Self, &'static str, u8) -> Result<Number, DecodeError>,
    ) -> Result<Number, DecodeError> {
        let lead = self.lead()?;
        self.position += 1;
        Ok(match lead {
            0x38..=0x3f => {
                let [high, low] = self.take()?;
                Number::Long(three(lead, 0x3c, high, low).into())
            }
            b'D' => Number::Double(f64::from_be_bytes(self.take()?)),
            b'I' => Number::Int(i32::from_be_bytes(self.take()?)),
            b'L' => Number::Long(i64::from_be_bytes(self.take()?)),
            b'Y' => Number::Long(i32::from_be_bytes(self.take()?).into()),
            0x5b => Number::Double(0.0),
            0x5c => Number::Double(1.0),
            0x5d => Number::Double(i8::from_be_bytes(self.take()?).into()),
            0x5e => Number::Double(i16::from_be_bytes(self.take()?).into()),
            // Java multiplies; a division may differ in the last bit.
            0x5f => Number::Double(0.001 * f64::from(i32::from_be_bytes(self.take()?))),
            0x80..=0xbf => Number::Int(i32::from(lead) - 0x90),
            0xc0..=0xcf => {
                let [low] = self.take()?;
                Number::Int(two(lead, 0xc8, low))
            }
            0xd0..=0xd7 => {
                let [high, low] = self.take()?;
                Number::Int(three(lead, 0xd4, high, low))
            }
            0xd8..=0xef => Number::Long(i64::from(lead) - 0xe0),
            0xf0..=0xff => {
                let [low] = self.take()?;
                Number::Long(two(lead, 0xf8, low).into())
            }
            _ => {
                self.position -= 1;
                return other(self, expected, lead);
            }
        })
    }

    #[cold]
    fn unexpected_number(
        &mut self,
        expected: &'static str,
        lead: u8,
    ) -> Result<Number, DecodeError> {
        Err(self.unexpected(expected, lead))
    }

    /// An integer that comes as a `BigInteger` or a `BigDecimal`, as those do that were numbers of JSON.
    #[cold]
    fn big_integer(&mut self, expected: &'static str, lead: u8) -> Result<Number, DecodeError> {
        let start = self.position;
        let big = self.big(expected, lead)?;
        let target = if expected == INT { "int" } else { "long" };
        big.to_i64()
            .map(Number::Long)
            .ok_or_else(|| out_of_range(shortened(&big), target, start))
    }

    /// The same for the nearest `double`.
    #[cold]
    fn big_double(&mut self, expected: &'static str, lead: u8) -> Result<Number, DecodeError> {
        let start = self.position;
        let big = self.big(expected, lead)?;
        let double = big.to_f64();
        if double.is_infinite() {
            return Err(out_of_range(shortened(&big), "double", start));
        }
        Ok(Number::Double(double))
    }

    fn big(&mut self, expected: &'static str, lead: u8) -> Result<BigDecimal, DecodeError> {
        match self.class_ahead() {
            Some("java.math.BigDecimal" | "java.math.BigInteger") => BigDecimal::decode(self),
            _ => Err(self.unexpected(expected, lead)),
        }
    }

    /// A length or an index: an integer where no class may be defined.
    pub(super) fn index(&mut self, what: &'static str) -> Result<i64, DecodeError> {
        let lead = self.raw_lead()?;
        match lead {
            0x38..=0x3f | b'I' | b'L' | b'Y' | 0x80..=0xff => match self.number(what)? {
                Number::Int(value) => Ok(value.into()),
                Number::Long(value) => Ok(value),
                Number::Double(_) => Err(self.error(Problem::Byte {
                    expected: what,
                    found: lead,
                })),
            },
            _ => Err(self.error(Problem::Byte {
                expected: what,
                found: lead,
            })),
        }
    }

    /// How many of `what` follow, each of which takes a byte at least.
    pub(super) fn length(&mut self, what: &'static str) -> Result<usize, DecodeError> {
        let length = self.index("a length")?;
        match i32::try_from(length)
            .ok()
            .and_then(|length| usize::try_from(length).ok())
        {
            Some(length) if length <= self.rest().len() => Ok(length),
            Some(length) => Err(self.truncated(length)),
            None => Err(self.error(Problem::Length { what, length })),
        }
    }
}

fn two(lead: u8, zero: i32, low: u8) -> i32 {
    ((i32::from(lead) - zero) << 8) + i32::from(low)
}

fn three(lead: u8, zero: i32, high: u8, low: u8) -> i32 {
    ((i32::from(lead) - zero) << 16) + (i32::from(high) << 8) + i32::from(low)
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn integral(value: f64, target: &'static str, at: usize) -> Result<i64, DecodeError> {
    let fits = value.fract() == 0.0 && (-LONG_BOUND..LONG_BOUND).contains(&value);
    if fits {
        Ok(value as i64)
    } else {
        Err(out_of_range(value, target, at))
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "compared afterwards"
)]
fn exact(value: i64) -> Option<f64> {
    let wide = value as f64;
    (wide < LONG_BOUND && wide as i64 == value).then_some(wide)
}

#[cold]
fn out_of_range<T: ToString + Copy>(value: T, target: &'static str, at: usize) -> DecodeError {
    DecodeError::new(
        Problem::Range {
            value: value.to_string(),
            target,
        },
        at,
    )
}

/// A peer decides how long such a number is.
fn shortened(number: &BigDecimal) -> &str {
    let text = number.as_str();
    text.get(..MAX_SHOWN).unwrap_or(text)
}

const INT: &str = "an int";
/// How many characters of a number an error repeats.
const MAX_SHOWN: usize = 64;
/// 2^63.
const LONG_BOUND: f64 = 9_223_372_036_854_775_808.0;

#[cfg(test)]
mod tests {
    use crate::{DecodeError, Decoder, error::Problem};

    fn problem<'a, T: std::fmt::Debug>(
        bytes: &'a [u8],
        read: impl FnOnce(&mut Decoder<'a>) -> Result<T, DecodeError>,
    ) -> Problem {
        let error = read(&mut Decoder::new(bytes)).expect_err("an error");
        assert_eq!(error.offset(), 0, "{error}");
        error.problem().clone()
    }

    #[test]
    fn a_number_that_does_not_fit_is_refused_and_never_cut() {
        for bytes in [
            &b"L\0\0\0\0\x80\0\0\0"[..],
            b"L\xff\xff\xff\xff\x7f\xff\xff\xff",
            // 0.5, 2^31, 2^63, NaN, infinity.
            b"\x5f\0\0\x01\xf4",
            b"D\x41\xe0\0\0\0\0\0\0",
            b"D\x43\xe0\0\0\0\0\0\0",
            b"D\x7f\xf8\0\0\0\0\0\0",
            b"D\x7f\xf0\0\0\0\0\0\0",
        ] {
            let problem = problem(bytes, Decoder::int);
            assert!(
                matches!(problem, Problem::Range { target: "int", .. }),
                "{problem}"
            );
        }
        for bytes in [
            &b"D\x43\xe0\0\0\0\0\0\0"[..],
            b"\x5f\0\0\x01\xf4",
            b"D\x7f\xf8\0\0\0\0\0\0",
        ] {
            assert!(matches!(
                problem(bytes, Decoder::long),
                Problem::Range { target: "long", .. }
            ));
        }
        let beyond = b"L\0\x20\0\0\0\0\0\x01";
        assert!(matches!(
            problem(beyond, Decoder::double),
            Problem::Range {
                target: "double",
                ..
            }
        ));
        let huge = b"D\x7f\xe0\0\0\0\0\0\0";
        assert!(matches!(
            problem(huge, Decoder::float),
            Problem::Range {
                target: "float",
                ..
            }
        ));
    }

    #[test]
    fn numbers_that_fit_are_read_as_any_type() {
        assert_eq!(
            Decoder::new(b"Y\x7f\xff\xff\xff").int().expect("an int"),
            i32::MAX
        );
        assert_eq!(
            Decoder::new(b"D\xc1\xe0\0\0\0\0\0\0")
                .int()
                .expect("an int"),
            i32::MIN
        );
        assert_eq!(
            Decoder::new(b"D\xc3\xe0\0\0\0\0\0\0")
                .long()
                .expect("a long"),
            i64::MIN
        );
        assert_eq!(
            Decoder::new(b"D\x80\0\0\0\0\0\0\0").int().expect("an int"),
            0
        );
        let double = Decoder::new(b"I\x80\0\0\0").double().expect("a double");
        assert_eq!(double.to_bits(), (-2_147_483_648_f64).to_bits());
        assert!(
            Decoder::new(b"D\x7f\xf0\0\0\0\0\0\0")
                .float()
                .expect("a float")
                .is_infinite()
        );
    }

    #[test]
    fn what_is_no_number_is_named() {
        let found = |bytes: &[u8]| problem(bytes, Decoder::int).to_string();
        assert_eq!(found(b"\x01a"), "expected an int, found a string");
        assert_eq!(found(b"N"), "expected an int, found null");
        assert_eq!(found(b"\x78"), "expected an int, found a list");
        assert_eq!(found(b"\x40"), "no value starts with the byte 0x40");
    }

    #[test]
    fn lengths_are_integers_alone() {
        for (bytes, what) in [
            (&b"X\x5b"[..], "a double"),
            (b"XT", "a boolean"),
            (b"XN", "null"),
            (b"X\x8f", "negative"),
            (b"XL\0\0\0\0\x80\0\0\0", "beyond Java's longest"),
            (b"XC\x01A\x90\x90", "a class"),
        ] {
            assert!(Decoder::new(bytes).value().is_err(), "{what}");
        }
        // A long that fits is no worse than an int.
        assert!(Decoder::new(b"X\xe1N").value().is_ok());
    }
}
