//! `java.util.UUID`.

use std::{fmt, str::FromStr};

use super::{
    InvalidValue,
    object::{from_text, java_object},
};

/// A UUID. `Display` is `24d9b3c0-1111-4222-8333-444444444444`.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Uuid(u128);

impl Uuid {
    /// The 128 bits, in the order of the text.
    pub const fn from_u128(bits: u128) -> Self {
        Self(bits)
    }

    /// The 128 bits, in the order of the text.
    pub const fn as_u128(self) -> u128 {
        self.0
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:032x}", self.0);
        let (time, mid, high, clock, node) = (
            &digits[..8],
            &digits[8..12],
            &digits[12..16],
            &digits[16..20],
            &digits[20..],
        );
        write!(f, "{time}-{mid}-{high}-{clock}-{node}")
    }
}

impl FromStr for Uuid {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
        let formed = text.len() == 36
            && text.bytes().enumerate().all(|(at, byte)| {
                if dash(at) {
                    byte == b'-'
                } else {
                    byte.is_ascii_hexdigit()
                }
            });
        formed
            .then(|| text.replace('-', ""))
            .and_then(|digits| u128::from_str_radix(&digits, 16).ok())
            .map(Self)
            .ok_or_else(|| {
                InvalidValue::new(
                    "java.util.UUID",
                    text,
                    "hexadecimal digits in groups of 8-4-4-4-12",
                )
            })
    }
}

java_object! {
    Uuid,
    java "java.util.UUID",
    class "java.util.UUID" { value: String = "value" }
    parts |uuid| (uuid.to_string(),),
    build |value: String| value.parse::<Self>(),
    other from_text,
    described { "mostSigBits": i64, "leastSigBits": i64 },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_comes_back() {
        for text in [
            "24d9b3c0-1111-4222-8333-444444444444",
            "00000000-0000-0000-0000-000000000000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ] {
            assert_eq!(text.parse::<Uuid>().expect(text).to_string(), text);
        }
        assert_eq!(
            "24D9B3C0-1111-4222-8333-444444444444"
                .parse::<Uuid>()
                .expect("upper case")
                .as_u128(),
            0x24d9_b3c0_1111_4222_8333_4444_4444_4444
        );
        for text in [
            "",
            "24d9b3c0111142228333444444444444",
            "24d9b3c0-1111-4222-8333-44444444444g",
            "2-4-4-4-2",
        ] {
            assert!(text.parse::<Uuid>().is_err(), "{text}");
        }
    }
}
