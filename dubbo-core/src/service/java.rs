//! Methods as Java knows them, for services without an IDL.

use std::{borrow::Cow, fmt};

/// The parameters of a method, as Java knows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JavaSignature {
    parameters: Vec<Cow<'static, str>>,
    names: Vec<Cow<'static, str>>,
    descriptor: String,
    declaration: Option<Declaration>,
}

impl JavaSignature {
    /// From the names that `Class.getName()` gives: `int`, `java.lang.String`, `[I`, `[Ljava.lang.String;`, `com.x.User`.
    pub fn new(parameters: impl IntoIterator<Item = impl Into<Cow<'static, str>>>) -> Self {
        let parameters: Vec<_> = parameters.into_iter().map(Into::into).collect();
        let mut descriptor = String::new();
        for parameter in &parameters {
            write_descriptor(parameter, &mut descriptor);
        }
        Self {
            parameters,
            names: Vec::new(),
            descriptor,
            declaration: None,
        }
    }

    /// Adds what the parameters are called: callers who write JSON may give them by name.
    ///
    /// # Panics
    ///
    /// When there is another number of names than of parameters.
    pub fn named(mut self, names: impl IntoIterator<Item = impl Into<Cow<'static, str>>>) -> Self {
        self.names = names.into_iter().map(Into::into).collect();
        assert_eq!(
            self.names.len(),
            self.parameters.len(),
            "each parameter has a name: {:?} of {:?}",
            self.names,
            self.parameters
        );
        self
    }

    /// Adds how Java's source declares the method.
    pub fn declared(mut self, declaration: Declaration) -> Self {
        self.declaration = Some(declaration);
        self
    }

    /// The types, as `Class.getName()` gives them.
    pub fn parameters(&self) -> &[Cow<'static, str>] {
        &self.parameters
    }

    /// What they are called, if that is known: else there are none.
    pub fn names(&self) -> &[Cow<'static, str>] {
        &self.names
    }

    /// The JVM's descriptor of them all: `Ljava/lang/String;[I` (`docs/spec/dubbo-protocol.md` §12).
    pub fn descriptor(&self) -> &str {
        &self.descriptor
    }

    /// How Java's source declares the method, where that is known. No call depends on it.
    pub fn declaration(&self) -> Option<&Declaration> {
        self.declaration.as_ref()
    }
}

/// The types of a method as Java's source has them, with the type arguments of collections:
/// `java.util.List<java.lang.String>`, `byte[]`. What they are made of is in
/// [`ServiceDescriptor::types`](super::ServiceDescriptor::types).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// Those of the parameters, without the observer of an answer that is a stream.
    pub parameters: Vec<Cow<'static, str>>,
    /// That of the result; for a stream, of the items.
    pub result: Cow<'static, str>,
}

impl fmt::Display for JavaSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parameters.join(", "))
    }
}

fn write_descriptor(name: &str, descriptor: &mut String) {
    let primitive = PRIMITIVES.iter().find(|(primitive, _)| *primitive == name);
    if let Some((_, letter)) = primitive {
        descriptor.push(*letter);
    } else if name.starts_with('[') {
        descriptor.push_str(&name.replace('.', "/"));
    } else {
        descriptor.push('L');
        descriptor.push_str(&name.replace('.', "/"));
        descriptor.push(';');
    }
}

/// The JVM's letters.
const PRIMITIVES: [(&str, char); 9] = [
    ("boolean", 'Z'),
    ("byte", 'B'),
    ("char", 'C'),
    ("double", 'D'),
    ("float", 'F'),
    ("int", 'I'),
    ("long", 'J'),
    ("short", 'S'),
    ("void", 'V'),
];
