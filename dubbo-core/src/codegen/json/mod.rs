//! Where the JSON of messages is another than what `serde` and pbjson make of their fields: numbers, enums and some of the
//! well-known types (`docs/spec/triple.md` §5.1). `dubbo-build` has generated code call this.

mod enums;
mod masks;
mod numbers;
mod timestamps;
mod values;

use std::{collections::HashMap, fmt, hash::BuildHasher, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    ser::{SerializeMap as _, SerializeSeq as _},
};

pub use self::{
    enums::Enum,
    masks::Masks,
    numbers::{Floats, JsonNumber, Number},
    timestamps::Timestamps,
    values::Values,
};

/// A value that is written and read as `K` has it, wherever it stands in its field.
pub struct As<K, T>(T, PhantomData<K>);

/// `value` as `K` writes it.
pub fn as_json<K, T>(value: T) -> As<K, T> {
    As(value, PhantomData)
}

impl<K, T> As<K, T> {
    /// What was read.
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// What `K` writes.
pub trait WriteAs<K> {
    /// Writes it.
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
}

/// What `K` reads.
pub trait ReadAs<'de, K>: Sized {
    /// Reads it.
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

impl<K, T: WriteAs<K>> Serialize for As<K, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }
}

impl<'de, K, T: ReadAs<'de, K>> Deserialize<'de> for As<K, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer).map(as_json)
    }
}

impl<K, T: WriteAs<K> + ?Sized> WriteAs<K> for &T {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).write(serializer)
    }
}

impl<K, T: WriteAs<K>> WriteAs<K> for Vec<T> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.len()))?;
        for item in self {
            list.serialize_element(&as_json::<K, _>(item))?;
        }
        list.end()
    }
}

impl<K, N: Serialize, T: WriteAs<K>, H: BuildHasher> WriteAs<K> for HashMap<N, T, H> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (name, value) in self {
            map.serialize_entry(name, &as_json::<K, _>(value))?;
        }
        map.end()
    }
}

impl<'de, K, T: ReadAs<'de, K>> ReadAs<'de, K> for Vec<T> {
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = Vec::<As<K, T>>::deserialize(deserializer)?;
        Ok(list.into_iter().map(As::into_inner).collect())
    }
}

impl<K, T: fmt::Debug> fmt::Debug for As<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
