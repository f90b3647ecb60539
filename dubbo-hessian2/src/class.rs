//! Names of classes and their fields, known when compiling and when running.

use std::{collections::HashSet, fmt, sync::Arc};

/// A class that is known when compiling: `#[derive(Hessian)]` makes one static for each struct.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Java's binary name: `com.x.User`, with `$` before a nested class.
    pub class: &'static str,
    /// The names of the fields, in the order in which they are written.
    pub fields: &'static [&'static str],
}

/// A class that is known when running. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Class(Arc<Inner>);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Inner {
    name: Box<str>,
    fields: Vec<Box<str>>,
    /// The positions of fields whose names come again behind them, in their order.
    hidden: Vec<usize>,
}

impl Class {
    /// A class of that name with these fields, in the order in which they are written.
    ///
    /// A name that occurs twice is kept: Java writes a field that hides an inherited one so (`docs/spec/hessian2.md`
    /// §10).
    pub fn new<F: Into<Box<str>>>(
        name: impl Into<Box<str>>,
        fields: impl IntoIterator<Item = F>,
    ) -> Self {
        let fields: Vec<Box<str>> = fields.into_iter().map(Into::into).collect();
        let mut seen = HashSet::with_capacity(fields.len());
        let names = fields.iter().enumerate().rev();
        let hidden = names.filter(|(_, name)| !seen.insert(&***name));
        let mut hidden: Vec<usize> = hidden.map(|(position, _)| position).collect();
        hidden.reverse();
        Self(Arc::new(Inner {
            name: name.into(),
            fields,
            hidden,
        }))
    }

    /// Adds a field, which it does not have yet, behind the others.
    pub(crate) fn push(&mut self, field: &str) {
        debug_assert_eq!(self.position(field), None);
        Arc::make_mut(&mut self.0).fields.push(field.into());
    }

    /// Java's binary name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The names of the fields.
    pub fn fields(&self) -> &[Box<str>] {
        &self.0.fields
    }

    /// Where `field` is; of several, the last, which is the one that Java keeps.
    pub fn position(&self, field: &str) -> Option<usize> {
        self.0.fields.iter().rposition(|name| **name == *field)
    }

    /// The positions of the fields that Java keeps: of several with one name, the last.
    pub(crate) fn kept(&self) -> impl Iterator<Item = usize> {
        let hidden = &self.0.hidden;
        (0..self.0.fields.len()).filter(|position| hidden.binary_search(position).is_err())
    }

    /// Equal for clones of one class only.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

impl fmt::Debug for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(self.name())
            .field("fields", &self.fields())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Class;

    #[test]
    fn of_fields_with_one_name_the_last_is_kept() {
        for (fields, kept) in [
            (&[][..], &[][..]),
            (&["a", "b"], &[0, 1]),
            (&["a", "b", "a"], &[1, 2]),
            (&["a", "a", "b", "a", "b"], &[3, 4]),
        ] {
            let class = Class::new("A", fields.iter().copied());
            assert_eq!(class.kept().collect::<Vec<_>>(), kept, "{fields:?}");
            for position in class.kept() {
                assert_eq!(class.position(fields[position]), Some(position));
            }
        }
    }
}
