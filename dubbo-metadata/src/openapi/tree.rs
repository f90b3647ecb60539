//! Documents as trees that keep the order of their keys: an OpenAPI document is read from its version down.

use serde::{
    Serialize, Serializer,
    ser::{SerializeMap as _, SerializeSeq as _},
};

/// A value of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Null,
    Bool(bool),
    Number(i64),
    Text(String),
    List(Vec<Self>),
    Map(Map),
}

/// Keys and values, in the order in which they were added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Map(Vec<(String, Node)>);

impl Map {
    /// The map and one more entry.
    pub(super) fn with(mut self, key: impl Into<String>, value: impl Into<Node>) -> Self {
        self.0.push((key.into(), value.into()));
        self
    }

    /// The map and one more entry, if there is something to add.
    pub(super) fn with_some(self, key: impl Into<String>, value: Option<impl Into<Node>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// The map and one more entry, unless that is empty.
    pub(super) fn with_any(self, key: impl Into<String>, value: impl Into<Node>) -> Self {
        let value = value.into();
        if value.is_empty() {
            self
        } else {
            self.with(key, value)
        }
    }

    /// The map and the entries of another.
    pub(super) fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }
}

impl<K: Into<String>, V: Into<Node>> FromIterator<(K, V)> for Map {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        Self(
            entries
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }
}

impl Node {
    /// Whether it has nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) => false,
            Self::Text(text) => text.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Map(map) => map.is_empty(),
        }
    }
}

impl From<bool> for Node {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Node {
    fn from(value: i64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Node {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Map> for Node {
    fn from(map: Map) -> Self {
        Self::Map(map)
    }
}

impl<T: Into<Self>> From<Vec<T>> for Node {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(value) => serializer.serialize_i64(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Self::Map(map) => {
                let mut entries = serializer.serialize_map(Some(map.0.len()))?;
                for (key, value) in map.iter() {
                    entries.serialize_entry(key, value)?;
                }
                entries.end()
            }
        }
    }
}
