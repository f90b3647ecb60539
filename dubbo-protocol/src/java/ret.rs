//! One value: the result of a call, or an item of a stream.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use dubbo_core::payload::{Adapter, Codec, CodecError, FromPayload, Message, Rules};
use dubbo_hessian2::Decoder;

use super::{
    args::JavaValue,
    message::{append, from_typed, only_hessian, options},
};

/// The result of a call, or an item of a stream: one value. `()` is Java's `void`, and null.
#[derive(Debug)]
pub struct Ret<R>(R);

impl<R: JavaValue> Message for Ret<R> {
    fn encode(&self, codec: Codec, dst: &mut BytesMut) -> Result<(), CodecError> {
        append::<R>(codec, dst, |encoder| self.0.encode(encoder))
    }
}

impl<R: JavaValue> FromPayload for Ret<R> {
    /// Bytes behind the value are nobody's: dubbo-go puts a null there.
    fn decode(codec: Codec, src: Bytes, rules: &Rules) -> Result<Self, CodecError> {
        only_hessian::<R>(codec)?;
        R::decode(&mut Decoder::with_options(&src, options(rules)))
            .map(Self)
            .map_err(|error| CodecError::decode::<R>(codec, error))
    }

    fn from_typed(message: Arc<dyn Message>) -> Result<Self, CodecError> {
        from_typed(message)
    }
}

impl<R: JavaValue> Adapter for Ret<R> {
    type Message = R;

    fn wrap(message: R) -> Self {
        Self(message)
    }

    fn unwrap(self) -> R {
        self.0
    }
}
