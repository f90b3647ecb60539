//! What rules want to know of a call.

use std::borrow::Cow;

use dubbo_core::invocation::{Body, Invocation};

/// The method that is called; of a generic call the one that it asks for.
pub(super) fn method(invocation: &Invocation) -> &str {
    invocation.method.name()
}

/// The argument at `position` as text, if there is one and it has a text.
pub(super) fn argument(invocation: &Invocation, position: usize) -> Option<Cow<'_, str>> {
    match &invocation.body {
        Body::Unary(payload) => payload.text(position),
        Body::Stream(_) => None,
    }
}

/// What the types of the parameters are called; in Java, where the method is Java's.
pub(super) fn types(invocation: &Invocation) -> Vec<&str> {
    let descriptor = invocation.method.descriptor();
    match &descriptor.java {
        Some(signature) => signature.parameters().iter().map(|name| &**name).collect(),
        None => vec![&descriptor.input],
    }
}
