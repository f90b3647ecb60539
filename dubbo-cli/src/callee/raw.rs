//! A message whose type is known at run time alone: its bytes.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use dubbo::spi::payload::{Adapter, Codec, CodecError, FromPayload, Message, Rules};

/// A message in protobuf's binary form.
#[derive(Debug, Clone)]
pub(super) struct Raw(Bytes);

impl Message for Raw {
    fn encode(&self, codec: Codec, dst: &mut BytesMut) -> Result<(), CodecError> {
        protobuf(codec)?;
        dst.extend_from_slice(&self.0);
        Ok(())
    }

    fn encoded_len(&self, codec: Codec) -> Option<usize> {
        (codec == Codec::Protobuf).then_some(self.0.len())
    }
}

impl FromPayload for Raw {
    fn decode(codec: Codec, src: Bytes, _rules: &Rules) -> Result<Self, CodecError> {
        protobuf(codec)?;
        Ok(Self(src))
    }

    /// A mock or a merger may give one within the process.
    fn from_typed(message: Arc<dyn Message>) -> Result<Self, CodecError> {
        let mut bytes = BytesMut::new();
        message.encode(Codec::Protobuf, &mut bytes)?;
        Ok(Self(bytes.freeze()))
    }
}

impl Adapter for Raw {
    type Message = Bytes;

    fn wrap(message: Bytes) -> Self {
        Self(message)
    }

    fn unwrap(self) -> Bytes {
        self.0
    }
}

fn protobuf(codec: Codec) -> Result<(), CodecError> {
    match codec {
        Codec::Protobuf => Ok(()),
        codec => Err(CodecError::Unsupported {
            type_name: "a message of protobuf",
            codec,
        }),
    }
}
