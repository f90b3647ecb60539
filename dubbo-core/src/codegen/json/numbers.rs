//! Numbers: integers are read from whatever is one, and what JSON has no number for has a name.

use std::{fmt, marker::PhantomData};

use pbjson_types::{DoubleValue, FloatValue};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, Unexpected, Visitor},
};

use super::WriteAs;

/// A number that is read from a number or from a text of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Number<T>(pub T);

/// The numbers of protobuf.
pub trait JsonNumber: Sized {
    /// What messages call it.
    const EXPECTED: &'static str;

    /// The integer, if it fits.
    fn of_int(value: i128) -> Option<Self>;

    /// The number, if it fits and loses nothing that counts.
    fn of_float(value: f64) -> Option<Self>;

    /// What has a name in place of digits.
    fn of_name(_name: &str) -> Option<Self> {
        None
    }
}

macro_rules! integers {
    ($($type:ty: $expected:literal;)*) => {$(
        impl JsonNumber for $type {
            const EXPECTED: &'static str = $expected;

            fn of_int(value: i128) -> Option<Self> {
                value.try_into().ok()
            }

            #[expect(clippy::cast_possible_truncation, reason = "it has no fraction, and is far below that")]
            fn of_float(value: f64) -> Option<Self> {
                let is_whole = value.fract() == 0.0 && value.abs() < LARGEST;
                Self::of_int(value as i128).filter(|_| is_whole)
            }
        }
    )*};
}

integers! {
    i32: "an integer of 32 bits";
    i64: "an integer of 64 bits";
    u32: "an integer of 32 bits that is not negative";
    u64: "an integer of 64 bits that is not negative";
}

impl JsonNumber for f64 {
    const EXPECTED: &'static str = "a number, \"NaN\", \"Infinity\" or \"-Infinity\"";

    #[expect(
        clippy::cast_precision_loss,
        reason = "the nearest one is what is meant"
    )]
    fn of_int(value: i128) -> Option<Self> {
        Some(value as Self)
    }

    fn of_float(value: f64) -> Option<Self> {
        Some(value)
    }

    fn of_name(name: &str) -> Option<Self> {
        match name {
            NAN => Some(Self::NAN),
            INFINITY => Some(Self::INFINITY),
            NEGATIVE => Some(Self::NEG_INFINITY),
            _ => None,
        }
    }
}

impl JsonNumber for f32 {
    const EXPECTED: &'static str =
        "a number that a float has, \"NaN\", \"Infinity\" or \"-Infinity\"";

    fn of_int(value: i128) -> Option<Self> {
        f64::of_int(value).and_then(Self::of_float)
    }

    #[expect(clippy::cast_possible_truncation, reason = "it is looked at")]
    fn of_float(value: f64) -> Option<Self> {
        let float = value as Self;
        (float.is_finite() || !value.is_finite()).then_some(float)
    }

    #[expect(clippy::cast_possible_truncation, reason = "it has no digits")]
    fn of_name(name: &str) -> Option<Self> {
        f64::of_name(name).map(|value| value as Self)
    }
}

impl<'de, T: JsonNumber> Deserialize<'de> for Number<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader(PhantomData)).map(Self)
    }
}

struct Reader<T>(PhantomData<T>);

impl<T: JsonNumber> Visitor<'_> for Reader<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        T::of_int(value.into()).ok_or_else(|| E::invalid_value(Unexpected::Signed(value), &self))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<T, E> {
        T::of_int(value.into()).ok_or_else(|| E::invalid_value(Unexpected::Unsigned(value), &self))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
        T::of_float(value).ok_or_else(|| E::invalid_value(Unexpected::Float(value), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        let number = || {
            let number: serde_json::Number = text.parse().ok()?;
            let int = number.as_i64().map(i128::from);
            match int.or_else(|| number.as_u64().map(i128::from)) {
                Some(int) => T::of_int(int),
                None => T::of_float(number.as_f64()?),
            }
        };
        let read = T::of_name(text).or_else(number);
        read.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// `float` and `double`, and their wrappers.
#[derive(Debug)]
pub struct Floats;

impl WriteAs<Floats> for f64 {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match name(*self) {
            Some(name) => name.serialize(serializer),
            None => self.serialize(serializer),
        }
    }
}

impl WriteAs<Floats> for f32 {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match name((*self).into()) {
            Some(name) => name.serialize(serializer),
            None => self.serialize(serializer),
        }
    }
}

impl WriteAs<Floats> for DoubleValue {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.write(serializer)
    }
}

impl WriteAs<Floats> for FloatValue {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.write(serializer)
    }
}

fn name(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some(NAN)
    } else if value.is_infinite() {
        Some(if value > 0.0 { INFINITY } else { NEGATIVE })
    } else {
        None
    }
}

const NAN: &str = "NaN";
const INFINITY: &str = "Infinity";
const NEGATIVE: &str = "-Infinity";

/// Beyond every integer of 64 bits.
const LARGEST: f64 = 1e20;
