//! Enums: by name where there is one, else by number.

use std::marker::PhantomData;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, IntoDeserializer as _, Visitor, value::StrDeserializer},
};

use super::numbers::JsonNumber as _;

/// A value of the enum `T`, perhaps one that a later version of its file defines.
#[derive(Debug)]
pub struct Enum<T> {
    number: i32,
    of: PhantomData<T>,
}

impl<T> Enum<T> {
    /// The value with this number.
    pub fn of(number: i32) -> Self {
        let of = PhantomData;
        Self { number, of }
    }

    /// Its number.
    pub fn number(self) -> i32 {
        self.number
    }
}

impl<T: TryFrom<i32> + Serialize> Serialize for Enum<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match T::try_from(self.number) {
            Ok(known) => known.serialize(serializer),
            Err(_) => self.number.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de> + Into<i32>> Deserialize<'de> for Enum<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader(PhantomData))
    }
}

struct Reader<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de> + Into<i32>> Visitor<'de> for Reader<T> {
    type Value = Enum<T>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the name of a value of an enum, or its number")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Enum<T>, E> {
        let number = i32::of_int(value.into()).map(Enum::of);
        number.ok_or_else(|| E::invalid_value(de::Unexpected::Signed(value), &self))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Enum<T>, E> {
        let number = i32::of_int(value.into()).map(Enum::of);
        number.ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(value), &self))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Enum<T>, E> {
        let number = i32::of_float(value).map(Enum::of);
        number.ok_or_else(|| E::invalid_value(de::Unexpected::Float(value), &self))
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Enum<T>, E> {
        let name: StrDeserializer<'_, E> = name.into_deserializer();
        T::deserialize(name).map(|value| Enum::of(value.into()))
    }
}
