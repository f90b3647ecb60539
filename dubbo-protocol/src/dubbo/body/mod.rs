//! What frames carry: requests, responses and events, in hessian2 (`docs/spec/dubbo-protocol.md` §4, §5 and §7). No I/O.

pub(crate) mod event;
pub(crate) mod request;
pub(crate) mod response;

use std::borrow::Cow;

use dubbo_hessian2::{DecodeError, Decoder};

/// A body that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    /// The types of the arguments cannot be read.
    #[error(transparent)]
    Descriptor(#[from] super::descriptor::DescriptorError),
    /// Something is no hessian value, or not the one that belongs there.
    #[error("{what}: {source}")]
    Value {
        /// What should be there.
        what: &'static str,
        /// What is wrong with it.
        source: DecodeError,
    },
    /// A response of a kind that does not exist.
    #[error("the response is of type {0}; there are 0 to 5")]
    Type(i32),
}

impl BodyError {
    /// Says that `what` could not be read.
    fn at(what: &'static str) -> impl FnOnce(DecodeError) -> Self {
        move |source| Self::Value { what, source }
    }
}

/// Reads a string, or null.
fn string<'a>(
    what: &'static str,
    decoder: &mut Decoder<'a>,
) -> Result<Option<Cow<'a, str>>, BodyError> {
    let null = decoder.null().map_err(BodyError::at(what))?;
    if null {
        return Ok(None);
    }
    decoder.str().map(Some).map_err(BodyError::at(what))
}
