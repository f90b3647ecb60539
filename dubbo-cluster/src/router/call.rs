//! What rules want to know of a call.

use std::borrow::Cow;

use dubbo_core::invocation::{Body, Invocation};

/// The method that is called; of a generic call the one that it asks for.
pub(super) fn method(invocation: &Invocation) -> &str {
    asked(invocation).map_or_else(|| invocation.method.name(), |(method, _)| method)
}

/// How many arguments the call has.
pub(super) fn count(invocation: &Invocation) -> usize {
    asked(invocation).map_or_else(|| types(invocation).len(), |(_, count)| count)
}

/// The argument at `position` as text, if there is one and it has a text.
pub(super) fn argument(invocation: &Invocation, position: usize) -> Option<Cow<'_, str>> {
    match &invocation.body {
        Body::Unary(payload) => payload.text(position),
        Body::Stream(_) => None,
    }
}

/// What the types of the parameters of the method are called; in Java, where it is Java's. Those of a generic call are not
/// known.
pub(super) fn types(invocation: &Invocation) -> Vec<&str> {
    if asked(invocation).is_some() {
        return Vec::new();
    }
    let descriptor = invocation.method.descriptor();
    match &descriptor.java {
        Some(signature) => signature.parameters().iter().map(|name| &**name).collect(),
        None => vec![&descriptor.input],
    }
}

/// The method that a generic call asks for, and with how many arguments.
fn asked(invocation: &Invocation) -> Option<(&str, usize)> {
    match &invocation.body {
        Body::Unary(payload) => payload.asked(),
        Body::Stream(_) => None,
    }
}
