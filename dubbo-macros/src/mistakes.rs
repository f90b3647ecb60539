//! Mistakes of whoever wrote the item: all of them are told at once, each where it is.

use std::fmt::Display;

use proc_macro2::Span;
use syn::Error;

/// The mistakes found so far.
#[derive(Debug, Default)]
pub(crate) struct Mistakes(Option<Error>);

impl Mistakes {
    /// Says `text` about what is at `span`.
    pub(crate) fn tell(&mut self, span: Span, text: impl Display) {
        self.add(Error::new(span, text));
    }

    /// Keeps the mistake of `result`, or gives its value.
    pub(crate) fn take<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.add(error)).ok()
    }

    /// All of them, or `value` if there were none.
    pub(crate) fn or<T>(self, value: T) -> syn::Result<T> {
        match self.0 {
            Some(error) => Err(error),
            None => Ok(value),
        }
    }

    fn add(&mut self, error: Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }
}

/// Fails unless there is exactly one mistake for each of `messages`, which are parts of what is told.
#[cfg(test)]
pub(crate) fn assert_told<T>(source: &str, result: syn::Result<T>, messages: &[&str]) {
    let mistakes = result.err().into_iter().flatten();
    let told: Vec<_> = mistakes.map(|mistake| mistake.to_string()).collect();
    assert_eq!(told.len(), messages.len(), "{source}: {told:?}");
    for (told, message) in told.iter().zip(messages) {
        assert!(told.contains(message), "{source}: {told}");
    }
}
