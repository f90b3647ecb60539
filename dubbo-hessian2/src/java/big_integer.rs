//! `java.math.BigInteger`.

use std::{fmt, str::FromStr};

use num_bigint::{BigInt, Sign};

use super::{
    InvalidValue,
    object::{java_name, present, refused},
};
use crate::{DecodeError, Decoder, EncodeError, Encoder, FromHessian, Kind, Shape, ToHessian};

/// An integer of any size up to 2^20 bits, which is some 315,000 digits.
///
/// Read from what Java writes (any JDK), from dubbo-go's list of longs, and from a number or a text. A text has at most
/// 10,000 digits, because reading more takes time that grows with the square of their number; `Display`, which is
/// decimal, writes as many as there are.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct BigInteger(BigInt);

impl BigInteger {
    /// Two's complement, highest byte first, as Java's `new BigInteger(byte[])`; nothing is zero.
    pub fn from_be_bytes(bytes: &[u8]) -> Result<Self, InvalidValue> {
        Self::checked(BigInt::from_signed_bytes_be(bytes))
    }

    /// Two's complement, highest byte first, in as few bytes as hold it, as Java's `toByteArray`.
    pub fn to_be_bytes(&self) -> Vec<u8> {
        self.0.to_signed_bytes_be()
    }

    /// The decimal digits, if they are few enough to be read again.
    pub(crate) fn to_text(&self) -> Result<String, InvalidValue> {
        let text = (self.0.bits() <= MAX_TEXT_BITS).then(|| self.to_string());
        text.filter(|text| text.trim_start_matches('-').len() <= MAX_DIGITS)
            .ok_or_else(|| {
                let shown = format!("a number of {} bits", self.0.bits());
                InvalidValue::new(CLASS, shown, DIGITS)
            })
    }

    fn checked(number: BigInt) -> Result<Self, InvalidValue> {
        if number.bits() <= MAX_BITS {
            Ok(Self(number))
        } else {
            Err(InvalidValue::new(
                CLASS,
                format!("a number of {} bits", number.bits()),
                format!("at most {MAX_BITS} bits"),
            ))
        }
    }

    /// From Java's fields: the sign and the absolute value, highest word first.
    fn from_words(signum: i32, mut words: Vec<u32>) -> Result<Self, InvalidValue> {
        let sign = match signum {
            -1 => Sign::Minus,
            0 if words.iter().all(|word| *word == 0) => Sign::NoSign,
            1 => Sign::Plus,
            _ => {
                return Err(InvalidValue::new(
                    CLASS,
                    format!("signum {signum}, {} words", words.len()),
                    "signum -1, 0 or 1, and 0 only for zero",
                ));
            }
        };
        words.reverse();
        Self::checked(BigInt::new(sign, words))
    }
}

macro_rules! convert {
    ($($int:ty),+) => {$(
        impl From<$int> for BigInteger {
            fn from(number: $int) -> Self {
                Self(number.into())
            }
        }

        impl TryFrom<&BigInteger> for $int {
            type Error = InvalidValue;

            fn try_from(number: &BigInteger) -> Result<Self, InvalidValue> {
                Self::try_from(&number.0).map_err(|_| {
                    let shown = format!("a number of {} bits", number.0.bits());
                    InvalidValue::new(CLASS, shown, concat!("what fits in ", stringify!($int)))
                })
            }
        }
    )+};
}

convert!(i32, i64, i128, u64, u128);

impl fmt::Display for BigInteger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for BigInteger {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        if digits.is_empty()
            || digits.len() > MAX_DIGITS
            || !digits.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Err(InvalidValue::new(CLASS, text, DIGITS));
        }
        text.parse()
            .map_err(|_| InvalidValue::new(CLASS, text, "an integer"))
            .and_then(Self::checked)
    }
}

impl ToHessian for BigInteger {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        let (sign, words) = self.0.to_u32_digits();
        let words: Vec<i32> = words.iter().rev().map(|word| word.cast_signed()).collect();
        encoder.enter()?;
        encoder.begin_object(&SHAPE);
        encoder.items(Some("[int"), &words)?;
        // Java computes these four anew when they are zero.
        for _ in CACHES {
            encoder.int(0);
        }
        encoder.int(match sign {
            Sign::Minus => -1,
            Sign::NoSign => 0,
            Sign::Plus => 1,
        });
        encoder.leave();
        Ok(())
    }
}

impl FromHessian for BigInteger {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        match decoder.peek()? {
            Kind::Null => Err(DecodeError::null_for(CLASS)),
            Kind::Object | Kind::Map => {
                let (mut words, mut signum) = (None, None);
                decoder.read_struct(&SHAPE, |decoder, field| {
                    match SHAPE.fields[field] {
                        "mag" => words = Some(read_words(decoder)?),
                        "signum" => signum = Some(decoder.int()?),
                        _ => decoder.skip()?,
                    }
                    Ok(())
                })?;
                Self::from_words(
                    present(signum, CLASS, "signum")?,
                    words.ok_or_else(|| DecodeError::null_for(CLASS).in_field(CLASS, "mag"))?,
                )
                .map_err(refused)
            }
            Kind::String => decoder.str()?.parse().map_err(refused),
            _ => decoder.long().map(Self::from),
        }
    }
}

java_name!(BigInteger, "java.math.BigInteger");

/// Java's words are ints that may be negative, dubbo-go's are longs that are not; both are 32 bits.
fn read_words(decoder: &mut Decoder<'_>) -> Result<Vec<u32>, DecodeError> {
    decoder.read_list(Vec::with_capacity, |words, decoder| {
        let word = decoder.long()?;
        let bits = u32::try_from(word)
            .or_else(|_| i32::try_from(word).map(i32::cast_unsigned))
            .map_err(|_| {
                refused(format_args!(
                    "a word of {CLASS} has 32 bits, this is {word}"
                ))
            })?;
        words.push(bits);
        Ok(())
    })
}

static SHAPE: Shape = Shape {
    class: CLASS,
    fields: &["mag", CACHES[0], CACHES[1], CACHES[2], CACHES[3], "signum"],
};
/// What JDK 17 calls them; JDK 8 had other names.
const CACHES: [&str; 4] = [
    "firstNonzeroIntNumPlusTwo",
    "lowestSetBitPlusTwo",
    "bitLengthPlusOne",
    "bitCountPlusOne",
];
const CLASS: &str = "java.math.BigInteger";
const MAX_BITS: u64 = 1 << 20;
/// Converting to decimal and back takes time that grows with the square of the length.
const MAX_DIGITS: usize = 10_000;
/// A number of more bits has more digits.
const MAX_TEXT_BITS: u64 = 33_220;
const DIGITS: &str = "at most 10,000 decimal digits";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_texts_and_bytes_convert_both_ways() {
        for number in [0, 1, -1, i128::from(u64::MAX), i128::MAX, i128::MIN] {
            let big = BigInteger::from(number);
            assert_eq!(big.to_string(), number.to_string());
            assert_eq!(number.to_string().parse(), Ok(big.clone()));
            assert_eq!(i128::try_from(&big), Ok(number));
            assert_eq!(BigInteger::from_be_bytes(&big.to_be_bytes()), Ok(big));
        }
        assert!(i64::try_from(&BigInteger::from(i128::MAX)).is_err());
        assert_eq!(BigInteger::from_be_bytes(&[]), Ok(BigInteger::default()));
    }

    #[test]
    fn words_are_bit_patterns_and_the_sign_must_agree() {
        let big = |signum, words: &[u32]| BigInteger::from_words(signum, words.to_vec());
        assert_eq!(big(1, &[1, 2]), Ok(BigInteger::from(4_294_967_298_i64)));
        assert_eq!(
            big(-1, &[0, u32::MAX]),
            Ok(BigInteger::from(-4_294_967_295_i64))
        );
        assert_eq!(big(0, &[]), Ok(BigInteger::from(0)));
        assert_eq!(big(1, &[0]), Ok(BigInteger::from(0)));
        assert!(big(0, &[1]).is_err());
        assert!(big(2, &[1]).is_err());
    }

    #[test]
    fn numbers_that_would_take_too_long_are_refused() {
        for text in ["", "+", "--1", "1.0", "0x1", "1_0"] {
            assert!(text.parse::<BigInteger>().is_err(), "{text}");
        }
        let most = "9".repeat(MAX_DIGITS);
        for text in [most.clone(), format!("-{most}")] {
            let number: BigInteger = text.parse().expect("as many as may be");
            assert_eq!(number.to_text().as_deref(), Ok(&*text));
        }
        let error = format!("{most}9")
            .parse::<BigInteger>()
            .expect_err("one more");
        assert!(error.to_string().contains("at most 10,000"), "{error}");
        // One of 10,001 digits, and the largest that there is.
        for bytes in [4153, 1 << 17] {
            let number = [&[0x7f][..], &vec![0xff; bytes - 1]].concat();
            let number = BigInteger::from_be_bytes(&number).expect("small enough");
            let error = number.to_text().expect_err("too many digits");
            assert!(error.to_string().contains("at most 10,000"), "{error}");
            let error = i64::try_from(&number).expect_err("too large").to_string();
            assert!(error.contains(" bits"), "{error}");
        }
        assert!(BigInteger::from_be_bytes(&vec![0x7f; 1 << 18]).is_err());
    }
}
