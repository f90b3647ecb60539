//! Why a value cannot be of a Java class.

use std::borrow::Cow;

use thiserror::Error;

/// A text or number that the Java class would refuse too.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{value:?} is no {class}: want {want}")]
pub struct InvalidValue {
    class: &'static str,
    value: String,
    want: Cow<'static, str>,
}

impl InvalidValue {
    /// `want` says what would have been right, as in "a day from 1 to 29".
    pub(crate) fn new(
        class: &'static str,
        value: impl Into<String>,
        want: impl Into<Cow<'static, str>>,
    ) -> Self {
        let mut value = value.into();
        if let Some((end, _)) = value.char_indices().nth(MAX_SHOWN) {
            value.truncate(end);
            value.push('…');
        }
        Self {
            class,
            value,
            want: want.into(),
        }
    }

    /// The Java class, such as `java.time.LocalDate`.
    pub fn class(&self) -> &'static str {
        self.class
    }
}

/// How much of a text from the wire an error repeats, in characters.
const MAX_SHOWN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_the_start_of_a_long_text() {
        let error = InvalidValue::new("java.util.UUID", "é".repeat(100), "a UUID");
        assert_eq!(
            error.to_string(),
            format!("\"{}…\" is no java.util.UUID: want a UUID", "é".repeat(64))
        );
    }
}
