use std::{collections::HashMap, fmt, sync::Arc};

use super::{Location, Node, Value};

/// What was read, path by path, and where it had been written: for checks that come after reading (whether an id is defined
/// or a plugin is linked is known only when everything has been read and code has had its say), and to tell what a later
/// version of a document changes.
#[derive(Clone, Default)]
pub struct Places {
    written: HashMap<String, Written>,
}

#[derive(Clone)]
struct Written {
    at: Location,
    /// The text, or the texts of a list. Of a section one empty text.
    texts: Vec<(Arc<str>, Location)>,
    is_section: bool,
}

impl Places {
    /// Where `value` was written at `path`: as the text itself or as a part of it, such as one item of a list.
    ///
    /// `None` if something else was written there or nothing at all, so the value comes from code. The path is spelled
    /// as its readers spell it; for a section, `value` is empty.
    pub fn find(&self, path: &str, value: &str) -> Option<&Location> {
        let texts = &self.written.get(path)?.texts;
        let exact = texts.iter().find(|(text, _)| &**text == value);
        let part = || texts.iter().find(|(text, _)| text.contains(value));
        exact.or_else(part).map(|(_, at)| at)
    }

    /// Every value that was read, in no order: its path as its readers spell it, the text (of a list its items, with `, `
    /// between them), and where it was written. What nobody reads is not among them.
    pub fn values(&self) -> impl Iterator<Item = (&str, String, &Location)> {
        let values = self.written.iter().filter(|(_, it)| !it.is_section);
        values.map(|(path, written)| {
            let texts: Vec<_> = written.texts.iter().map(|(text, _)| &**text).collect();
            (path.as_str(), texts.join(", "), &written.at)
        })
    }

    pub(super) fn note_section(&mut self, path: String, at: &Location) {
        let section = Written {
            at: at.clone(),
            texts: vec![(Arc::from(""), at.clone())],
            is_section: true,
        };
        self.written.insert(path, section);
    }

    /// Notes a text or a list of texts; of what has an inside, all that stands there.
    pub(super) fn note_value(&mut self, path: String, node: &Node) {
        let items = match &node.value {
            Value::Map(map) => {
                for entry in map.into_iter().filter(|entry| !entry.value.is_null()) {
                    self.note_value(format!("{path}.{}", entry.key), &entry.value);
                }
                return;
            }
            Value::Seq(items) => items.as_slice(),
            Value::Scalar(_) => std::slice::from_ref(node),
        };
        let mut texts = Vec::new();
        for (index, item) in items.iter().enumerate() {
            match &item.value {
                Value::Scalar(scalar) => texts.push((scalar.text.clone(), item.at.clone())),
                Value::Map(_) | Value::Seq(_) => self.note_value(format!("{path}[{index}]"), item),
            }
        }
        if items.is_empty() || !texts.is_empty() {
            let value = Written {
                at: node.at.clone(),
                texts,
                is_section: false,
            };
            self.written.insert(path, value);
        }
    }
}

/// Without the texts: passwords are among them.
impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Places")
            .field("paths", &self.written.len())
            .finish_non_exhaustive()
    }
}
