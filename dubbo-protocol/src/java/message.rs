//! What the messages of services without an IDL share.

use std::{
    any::{Any, type_name},
    sync::Arc,
};

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    extension::ExtensionContext,
    payload::{Codec, CodecError, FromPayload, Message, Rules},
};
use dubbo_hessian2::{DecodeError, DecodeOptions, EncodeError, Encoder, FromHessian, java::json};

/// Appends to `dst` what `write` writes. The buffer moves into the encoder and back; nothing is copied.
///
/// When it fails, `dst` is what it was.
pub(super) fn append<T>(
    codec: Codec,
    dst: &mut BytesMut,
    write: impl FnOnce(&mut Encoder) -> Result<(), EncodeError>,
) -> Result<(), CodecError> {
    only_hessian::<T>(codec)?;
    let start = dst.len();
    let mut buffer = Vec::from(std::mem::take(dst));
    buffer.reserve(ROOM);
    let mut encoder = Encoder::with_buffer(buffer);
    let written = write(&mut encoder);
    let mut bytes = encoder.into_bytes();
    if written.is_err() {
        bytes.truncate(start);
    }
    *dst = Bytes::from(bytes).into();
    written.map_err(|error| CodecError::encode::<T>(codec, error))
}

/// Takes over a message of this process: as it is when it is a `T`, and else as if it had come over a wire, because the
/// other side may use another Rust type for the same Java type, or values of no fixed type.
pub(super) fn from_typed<T: FromPayload>(message: Arc<dyn Message>) -> Result<T, CodecError> {
    let any: Arc<dyn Any + Send + Sync> = Arc::clone(&message) as _;
    let message = match any.downcast::<T>() {
        Ok(typed) => {
            drop(message);
            match Arc::try_unwrap(typed) {
                Ok(own) => return Ok(own),
                // The caller keeps it, to send it again.
                Err(shared) => shared as Arc<dyn Message>,
            }
        }
        Err(_) => message,
    };
    T::decode(Codec::Hessian2, reencoded::<T>(&*message)?, &Rules::NONE)
}

/// The bytes of a message of this process, for one who wants a `T` of it.
pub(super) fn reencoded<T>(message: &dyn Message) -> Result<Bytes, CodecError> {
    let mut bytes = BytesMut::new();
    match message.encode(Codec::Hessian2, &mut bytes) {
        Ok(()) => Ok(bytes.freeze()),
        Err(CodecError::Unsupported { .. }) => Err(CodecError::Type {
            got: format!("{message:?}"),
            want: type_name::<T>(),
        }),
        Err(other) => Err(other),
    }
}

/// Reads JSON as a `T`, as generic calls do.
pub(super) fn from_json<T: FromHessian>(json: &[u8]) -> Result<T, CodecError> {
    let unusable = |error: DecodeError| CodecError::decode::<T>(Codec::Json, error);
    let text = str::from_utf8(json).map_err(|error| CodecError::decode::<T>(Codec::Json, error))?;
    json::from_json(text)
        .map_err(unusable)?
        .to()
        .map_err(unusable)
}

/// The rules of the instance that `cx` is of.
pub(crate) fn shared_rules(cx: &ExtensionContext<'_>) -> Rules {
    Rules::new(DecodeOptions::clone(&cx.shared()))
}

/// How bytes that came with `rules` are read.
pub(crate) fn options(rules: &Rules) -> &DecodeOptions {
    static DEFAULT: DecodeOptions = DecodeOptions::DEFAULT;
    rules.get().unwrap_or(&DEFAULT)
}

/// Refuses the codecs of services with an IDL.
pub(super) fn only_hessian<T>(codec: Codec) -> Result<(), CodecError> {
    if codec == Codec::Hessian2 {
        return Ok(());
    }
    Err(CodecError::Unsupported {
        type_name: type_name::<T>(),
        codec,
    })
}

/// For a small object with its class.
const ROOM: usize = 256;
