//! One value: the result of a call, or an item of a stream.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use dubbo_core::payload::{Adapter, Codec, CodecError, FromPayload, Message, Rules};
use dubbo_hessian2::Decoder;

use super::{
    args::JavaValue,
    message::{append, from_json, from_typed, only_hessian, options},
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
    /// Bytes behind the value are nobody's: dubbo-go puts a null there. JSON is what a configuration says in place of a
    /// provider's answer (`docs/spec/cluster.md` §1.8).
    fn decode(codec: Codec, src: Bytes, rules: &Rules) -> Result<Self, CodecError> {
        if codec == Codec::Json {
            return from_json(&src).map(Self);
        }
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

#[cfg(test)]
mod tests {
    use dubbo_core::payload::Payload;

    use super::*;

    #[test]
    fn json_becomes_the_type_that_is_declared() {
        fn read<R: JavaValue>(json: &'static str) -> Result<R, String> {
            let payload = Payload::encoded(Codec::Json, json.into());
            let read = payload.decode::<Ret<R>>().map(Ret::unwrap);
            read.map_err(|error| error.to_string())
        }
        assert_eq!(read::<i64>("7"), Ok(7));
        assert_eq!(read::<Option<String>>("null"), Ok(None));
        assert_eq!(read::<Vec<i32>>("[1, 2]"), Ok(vec![1, 2]));
        assert_eq!(read::<Vec<String>>("null"), Ok(Vec::new()));
        let error = read::<i64>("\"x\"").expect_err("no number");
        assert!(error.starts_with("cannot read i64 from json: "), "{error}");
        assert!(read::<i64>("{").is_err());
    }
}
