use std::{collections::HashMap, fmt, sync::Arc};

/// One value of a document, and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// What was written.
    pub value: Value,
    /// Where it begins.
    pub at: Location,
}

impl Node {
    /// A text, as if it had been written unquoted at `at`.
    pub fn scalar(text: impl Into<Arc<str>>, at: Location) -> Self {
        Self {
            value: Value::Scalar(Scalar {
                text: text.into(),
                quoted: false,
            }),
            at,
        }
    }

    /// The map's entries, unless this is a text or a list.
    pub fn as_map(&self) -> Option<&Map> {
        match &self.value {
            Value::Map(map) => Some(map),
            Value::Scalar(_) | Value::Seq(_) => None,
        }
    }

    /// The text, unless this is a map or a list.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(scalar) => Some(&scalar.text),
            Value::Map(_) | Value::Seq(_) => None,
        }
    }

    /// Whether nothing was written: `key:`, `key: ~` or `key: null`, without quotes.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(scalar) if !scalar.quoted
            && matches!(&*scalar.text, "" | "~" | "null" | "Null" | "NULL"))
    }

    /// What this is, for a message: "a text", "a list", "a map".
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Map(_) => "a map",
            Value::Scalar(_) => "a text",
            Value::Seq(_) => "a list",
        }
    }
}

/// The three shapes of YAML. Numbers, booleans and dates are texts here: what a text means is decided by who reads it,
/// so `version: 1.10` stays `1.10` and `group: no` stays `no`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Keys with values.
    Map(Map),
    /// A text.
    Scalar(Scalar),
    /// A list.
    Seq(Vec<Node>),
}

/// A text as it was written, with its quotes and escapes resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// The text. Shared, so that an alias costs no copy.
    pub text: Arc<str>,
    /// Whether it stood in quotes or in a block: `""` is an empty text, nothing at all is no value.
    pub quoted: bool,
}

/// Keys with values, in the order they were written; no key occurs twice.
#[derive(Debug, Clone, Default)]
pub struct Map {
    entries: Vec<Entry>,
    index: HashMap<Arc<str>, usize>,
}

impl Map {
    /// The entry of exactly this key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.index.get(key).map(|&index| &self.entries[index])
    }

    /// The value of exactly this key, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let index = *self.index.get(key)?;
        Some(&mut self.entries[index].value)
    }

    /// Adds an entry at the end, or gives back the entry that has the key already.
    ///
    /// # Errors
    ///
    /// The existing entry; the map is unchanged.
    pub fn insert(&mut self, entry: Entry) -> Result<(), &Entry> {
        if let Some(&index) = self.index.get(&entry.key) {
            return Err(&self.entries[index]);
        }
        self.index.insert(entry.key.clone(), self.entries.len());
        self.entries.push(entry);
        Ok(())
    }

    /// Adds an entry at the end, or puts it in the place of the one that has the key already.
    pub fn put(&mut self, entry: Entry) {
        if let Some(&index) = self.index.get(&entry.key) {
            self.entries[index] = entry;
            return;
        }
        self.index.insert(entry.key.clone(), self.entries.len());
        self.entries.push(entry);
    }

    /// Takes the entry of exactly this key out.
    pub fn remove(&mut self, key: &str) -> Option<Entry> {
        let gone = self.index.remove(key)?;
        for index in self.index.values_mut().filter(|index| **index > gone) {
            *index -= 1;
        }
        Some(self.entries.remove(gone))
    }

    /// The entries in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.entries.iter()
    }

    /// The keys and values in order, the values to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Node)> {
        let entries = self.entries.iter_mut();
        entries.map(|entry| (&*entry.key, &mut entry.value))
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl Eq for Map {}

impl<'a> IntoIterator for &'a Map {
    type Item = &'a Entry;
    type IntoIter = std::slice::Iter<'a, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// A key, where it stands, and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The key as it was written.
    pub key: Arc<str>,
    /// Where the key stands; the place to point at when something is wrong with the whole entry.
    pub at: Location,
    /// The value.
    pub value: Node,
}

/// Where something was written: a place in a file, or a source without lines such as an environment variable.
///
/// Prints as `dubbo.yaml:12:5`, or as the bare name of the source. Sorts by source, then by place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    source: Arc<str>,
    position: Option<(usize, usize)>,
}

impl Location {
    /// A place in a file; `line` and `column` count from 1, columns in characters.
    pub fn new(source: impl Into<Arc<str>>, line: usize, column: usize) -> Self {
        Self {
            source: source.into(),
            position: Some((line, column)),
        }
    }

    /// A source without lines.
    pub fn named(source: impl Into<Arc<str>>) -> Self {
        Self {
            source: source.into(),
            position: None,
        }
    }

    /// The file, or the name of the source.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The line, from 1, if the source has lines.
    pub fn line(&self) -> Option<usize> {
        self.position.map(|(line, _)| line)
    }

    /// The column in characters, from 1, if the source has lines.
    pub fn column(&self) -> Option<usize> {
        self.position.map(|(_, column)| column)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some((line, column)) => write!(f, "{}:{line}:{column}", self.source),
            None => f.write_str(&self.source),
        }
    }
}
