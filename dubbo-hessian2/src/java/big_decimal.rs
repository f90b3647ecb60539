//! `java.math.BigDecimal`.

use std::{fmt, str::FromStr, sync::Arc};

use super::{
    BigInteger, InvalidValue,
    object::{from_text, java_name, present, refused},
};
use crate::{DecodeError, Decoder, EncodeError, Encoder, FromHessian, Kind, Shape, ToHessian};

/// A decimal number of any size, kept as the text that travels: `100.256`, `-1E+30`.
///
/// Equal when the texts are, so `1.0` and `1.00` differ, as they do in Java; compute with a decimal crate, through the
/// text.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct BigDecimal(Arc<str>);

impl BigDecimal {
    /// The text: a sign, digits with a point among them, an exponent within 32 bits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The nearest double, infinite if there is none.
    pub fn to_f64(&self) -> f64 {
        // What is valid for Java is for Rust.
        self.0.parse().unwrap_or(f64::NAN)
    }

    /// The number itself, if it is whole and a `long`.
    pub(crate) fn to_i64(&self) -> Option<i64> {
        let (mantissa, exponent) = self.0.split_once(['e', 'E']).unwrap_or((&self.0, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let significant = digits.trim_end_matches('0');
        if significant.trim_start_matches(['+', '-', '0']).is_empty() {
            return Some(0);
        }
        let zeros = i64::try_from(digits.len() - significant.len()).ok()?;
        let fraction = i64::try_from(fraction.len()).ok()?;
        let zeros = usize::try_from(exponent.parse::<i64>().ok()? + zeros - fraction).ok()?;
        let fits = zeros <= LONG_DIGITS;
        fits.then(|| format!("{significant}{}", "0".repeat(zeros)))?
            .parse()
            .ok()
    }
}

impl From<i64> for BigDecimal {
    fn from(number: i64) -> Self {
        Self(number.to_string().into())
    }
}

impl From<BigInteger> for BigDecimal {
    fn from(number: BigInteger) -> Self {
        Self(number.to_string().into())
    }
}

impl TryFrom<f64> for BigDecimal {
    type Error = InvalidValue;

    /// The shortest text that means this double; infinities and NaN have none.
    fn try_from(number: f64) -> Result<Self, InvalidValue> {
        format!("{number:?}").parse()
    }
}

impl fmt::Display for BigDecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for BigDecimal {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let mantissa = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty())
            || !digits(whole)
            || !digits(fraction)
            || exponent.parse::<i32>().is_err()
        {
            return Err(InvalidValue::new(
                "java.math.BigDecimal",
                text,
                "a decimal number, as in -12.50 or 1E+30",
            ));
        }
        Ok(Self(text.into()))
    }
}

impl ToHessian for BigDecimal {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.enter()?;
        encoder.begin_object(&SHAPE);
        encoder.str(&self.0);
        encoder.leave();
        Ok(())
    }
}

impl FromHessian for BigDecimal {
    /// Generic calls send numbers of any kind, and texts.
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        match decoder.peek()? {
            Kind::Null => Err(DecodeError::null_for(CLASS)),
            Kind::Object if decoder.class_ahead() == Some("java.math.BigInteger") => {
                let digits = BigInteger::decode(decoder)?.to_text();
                digits.map(|text| Self(text.into())).map_err(refused)
            }
            Kind::Object | Kind::Map => {
                let mut value: Option<String> = None;
                decoder.read_struct(&SHAPE, |decoder, _| {
                    value = Some(FromHessian::decode(decoder)?);
                    Ok(())
                })?;
                present(value, CLASS, "value")?.parse().map_err(refused)
            }
            Kind::Int | Kind::Long => decoder.long().map(Self::from),
            Kind::Double => f64::decode(decoder)?.try_into().map_err(refused),
            _ => from_text(decoder),
        }
    }
}

java_name!(BigDecimal, "java.math.BigDecimal");

static SHAPE: Shape = Shape {
    class: CLASS,
    fields: &["value"],
};
const CLASS: &str = "java.math.BigDecimal";
/// How many digits a `long` has at most.
const LONG_DIGITS: usize = 19;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_java_accepts_is_kept_to_the_letter() {
        for text in [
            "0",
            "100.256",
            "-1E+30",
            "1e-20",
            "+1.",
            ".5",
            "00.10",
            "1E2147483647",
        ] {
            assert_eq!(text.parse::<BigDecimal>().expect(text).as_str(), text);
        }
        for text in [
            "",
            "-",
            ".",
            "1.2.3",
            "1E",
            "E1",
            "1E2147483648",
            "NaN",
            "Infinity",
            "0x1",
            "1_000",
            "１",
            " 1",
        ] {
            assert!(text.parse::<BigDecimal>().is_err(), "{text}");
        }
    }

    #[test]
    fn doubles_convert_where_there_is_a_number() {
        let number = BigDecimal::try_from(0.1).expect("finite");
        assert_eq!(number.as_str(), "0.1");
        assert_eq!(number.to_f64().to_bits(), 0.1_f64.to_bits());
        assert_eq!(
            BigDecimal::try_from(1e300).expect("finite").as_str(),
            "1e300"
        );
        assert!(BigDecimal::try_from(f64::NAN).is_err());
        assert!(
            "1E400"
                .parse::<BigDecimal>()
                .expect("valid")
                .to_f64()
                .is_infinite()
        );
    }
}
