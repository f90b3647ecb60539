use std::{collections::HashMap, fmt, sync::Arc};

use super::{Location, Node, Value};

/// Where the values that were read had been written, for checks that come after reading: whether an id is defined or a
/// plugin is linked is known only when everything has been read and code has had its say.
#[derive(Clone, Default)]
pub struct Places {
    written: HashMap<String, Vec<(Arc<str>, Location)>>,
}

impl Places {
    /// Where `value` was written at `path`: as the text itself or as a part of it, such as one item of a list.
    ///
    /// `None` if something else was written there or nothing at all, so the value comes from code. The path is spelled
    /// as its readers spell it; for a section, `value` is empty.
    pub fn find(&self, path: &str, value: &str) -> Option<&Location> {
        let written = self.written.get(path)?;
        let exact = written.iter().find(|(text, _)| &**text == value);
        let part = || written.iter().find(|(text, _)| text.contains(value));
        exact.or_else(part).map(|(_, at)| at)
    }

    pub(super) fn note_section(&mut self, path: String, at: &Location) {
        self.written.insert(path, vec![(Arc::from(""), at.clone())]);
    }

    pub(super) fn note_value(&mut self, path: String, node: &Node) {
        let items = match &node.value {
            Value::Seq(items) => items.as_slice(),
            Value::Map(_) | Value::Scalar(_) => std::slice::from_ref(node),
        };
        let texts = items.iter().filter_map(|item| match &item.value {
            Value::Scalar(scalar) => Some((scalar.text.clone(), item.at.clone())),
            Value::Map(_) | Value::Seq(_) => None,
        });
        self.written.insert(path, texts.collect());
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
