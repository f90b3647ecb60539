//! Exceptions in the place of results (`docs/spec/triple.md` §7.6).

use dubbo_core::{
    payload::Rules,
    status::{Origin, Status},
};
use dubbo_hessian2::{
    Decoder, EncodeError, Encoder, FromHessian as _, ToHessian as _, java::Throwable,
};

use crate::java::{from_throwable, options, thrown, to_throwable};

/// Whether a handler failed with `status` on purpose: then its caller gets it as an exception.
pub(crate) fn is_thrown(status: &Status) -> bool {
    status.origin() == Origin::Business || thrown(status).is_some()
}

/// `status` as the exception that its caller gets.
///
/// # Errors
///
/// The exception has a value that cannot be written.
pub(crate) fn encode(status: &Status) -> Result<Vec<u8>, EncodeError> {
    let mut encoder = Encoder::new();
    to_throwable(status).encode(&mut encoder)?;
    Ok(encoder.into_bytes())
}

/// What the exception in `value`, which is read by `rules`, means to a caller.
pub(crate) fn decode(value: &[u8], rules: &Rules) -> Status {
    match Throwable::decode(&mut Decoder::with_options(value, options(rules))) {
        Ok(throwable) => from_throwable(throwable),
        Err(error) => Status::unknown(format!(
            "the provider threw an exception, which cannot be read: {error}"
        ))
        .with_origin(Origin::Business)
        .with_source(error),
    }
}
