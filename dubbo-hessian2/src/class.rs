//! Names of classes and their fields, known when compiling and when running.

use std::{fmt, sync::Arc};

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

#[derive(PartialEq, Eq, Hash)]
struct Inner {
    name: Box<str>,
    fields: Box<[Box<str>]>,
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
        Self(Arc::new(Inner {
            name: name.into(),
            fields: fields.into_iter().map(Into::into).collect(),
        }))
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
