//! Why a value could not be written.

use std::borrow::Cow;

/// Why a value could not be written: always the caller's value, never the peer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct EncodeError(Problem);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Problem {
    #[error("{0}")]
    Custom(Cow<'static, str>),
    #[error(
        "values nest deeper than {0} lists, maps and objects (`EncodeOptions::depth`); is this a cycle or a long chain?"
    )]
    Depth(usize),
    #[error("values nest deeper than half of a small stack allows; is this a long chain?")]
    Stack,
    #[error("a list of {0} elements is longer than Java's longest, {max}", max = i32::MAX)]
    Length(usize),
    #[error("a reference points to a container that no longer exists")]
    Dangling,
}

impl EncodeError {
    /// An error with a text of its own.
    pub fn custom(message: impl Into<Cow<'static, str>>) -> Self {
        Self(Problem::Custom(message.into()))
    }

    pub(crate) fn depth(limit: usize) -> Self {
        Self(Problem::Depth(limit))
    }

    pub(crate) fn stack() -> Self {
        Self(Problem::Stack)
    }

    pub(crate) fn length(length: usize) -> Self {
        Self(Problem::Length(length))
    }

    pub(crate) fn dangling() -> Self {
        Self(Problem::Dangling)
    }
}
