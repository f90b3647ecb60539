//! Values of Rust values.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use bytes::Bytes;

use super::Value;

macro_rules! from {
    ($($type:ty: $value:ident => $result:expr;)*) => {
        $(impl From<$type> for Value {
            fn from($value: $type) -> Self {
                $result
            }
        })*
    };
}

from! {
    (): _value => Self::Null;
    bool: value => Self::Bool(value);
    i8: value => Self::Int(value.into());
    i16: value => Self::Int(value.into());
    i32: value => Self::Int(value);
    i64: value => Self::Long(value);
    f64: value => Self::Double(value);
    &str: value => Self::String(value.into());
    String: value => Self::String(value.into());
    Arc<str>: value => Self::String(value);
    Cow<'_, str>: value => Self::String(value.into());
    Bytes: value => Self::Bytes(value);
    Vec<u8>: value => Self::Bytes(value.into());
    &[u8]: value => Self::Bytes(Bytes::copy_from_slice(value));
    Vec<Value>: value => Self::list(value);
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<K: Into<Self>, V: Into<Self>, S> From<HashMap<K, V, S>> for Value {
    fn from(map: HashMap<K, V, S>) -> Self {
        Self::map(
            map.into_iter()
                .map(|(key, value)| (key.into(), value.into())),
        )
    }
}

impl<K: Into<Self>, V: Into<Self>> From<BTreeMap<K, V>> for Value {
    fn from(map: BTreeMap<K, V>) -> Self {
        Self::map(
            map.into_iter()
                .map(|(key, value)| (key.into(), value.into())),
        )
    }
}

impl FromIterator<Self> for Value {
    fn from_iter<I: IntoIterator<Item = Self>>(items: I) -> Self {
        Self::list(items)
    }
}
