//! What a value is, for one who knows what to expect.

use super::{List, Map, Object, Value};

impl Value {
    /// Whether this is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// A boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// An `int` or a `long`.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(i64::from(*value)),
            Self::Long(value) => Some(*value),
            _ => None,
        }
    }

    /// A `double`, or an `int`, which it can hold exactly.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Double(value) => Some(*value),
            Self::Int(value) => Some(f64::from(*value)),
            _ => None,
        }
    }

    /// A date: milliseconds since 1970.
    pub fn as_date(&self) -> Option<i64> {
        match self {
            Self::Date(milliseconds) => Some(*milliseconds),
            _ => None,
        }
    }

    /// A string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Binary.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The elements of a list.
    pub fn as_list(&self) -> Option<&[Self]> {
        self.as_typed_list().map(List::items)
    }

    /// A list with its type.
    pub fn as_typed_list(&self) -> Option<&List> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// The entries of a map.
    pub fn as_map(&self) -> Option<&[(Self, Self)]> {
        self.as_typed_map().map(Map::entries)
    }

    /// A map with its type.
    pub fn as_typed_map(&self) -> Option<&Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    /// An object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }
}
