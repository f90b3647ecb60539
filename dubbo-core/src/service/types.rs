//! What the types of a service's methods are made of, for whoever shows the service to people.

use std::borrow::Cow;

/// A Java type, by the names that Java's source has: `java.util.List<com.x.User>`, `byte[]`, `com.x.Outer.Inner`.
///
/// Scalars, texts and what is known by its name alone have nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypeDescription {
    /// What it is called.
    pub name: Cow<'static, str>,
    /// The type of an array's elements, or the type arguments of a collection.
    pub items: Vec<Cow<'static, str>>,
    /// The constants of an enum.
    pub constants: Vec<Cow<'static, str>>,
    /// The fields of a class with the names of their types.
    pub properties: Vec<(Cow<'static, str>, Cow<'static, str>)>,
}
