//! The answer to a generic call on the side of the consumer.

use std::{any::type_name, fmt, marker::PhantomData, sync::Arc};

use bytes::{Bytes, BytesMut};
use dubbo_core::payload::{Adapter, Codec, CodecError, FromPayload, Message, Rules};
use dubbo_hessian2::{
    DecodeError, Decoder, FromHessian, Value,
    java::{
        bean,
        json::{from_json, to_json},
    },
    to_vec,
};

use crate::java::message::{self, only_hessian, options, reencoded};

/// An answer in the form `F` that becomes what `W` wants.
pub(super) struct Answer<F, W: Wanted>(W::Message, PhantomData<fn() -> F>);

/// In what form a result comes.
pub(super) trait Form: Sized + 'static {
    /// Reads it as a `T`.
    fn read<T: FromHessian>(decoder: &mut Decoder<'_>) -> Result<T, DecodeError>;

    /// Reads it as JSON.
    fn json(decoder: &mut Decoder<'_>) -> Result<String, DecodeError> {
        let value: Value = Self::read(decoder)?;
        to_json(&value).map_err(|error| DecodeError::custom(error.to_string()))
    }
}

/// As a value.
pub(super) struct Plain;

impl Form for Plain {
    fn read<T: FromHessian>(decoder: &mut Decoder<'_>) -> Result<T, DecodeError> {
        T::decode(decoder)
    }
}

/// As JSON text.
pub(super) struct Text;

impl Form for Text {
    fn read<T: FromHessian>(decoder: &mut Decoder<'_>) -> Result<T, DecodeError> {
        from_json(&Self::json(decoder)?)?.to()
    }

    fn json(decoder: &mut Decoder<'_>) -> Result<String, DecodeError> {
        if decoder.null()? {
            return Ok("null".to_owned());
        }
        decoder.string()
    }
}

/// As a `JavaBeanDescriptor`.
pub(super) struct Bean;

impl Form for Bean {
    fn read<T: FromHessian>(decoder: &mut Decoder<'_>) -> Result<T, DecodeError> {
        bean::restore(&decoder.value()?)?.to_with(decoder.options())
    }
}

/// What the caller wants to have.
pub(super) trait Wanted: 'static {
    type Message: Send + Sync + 'static;

    fn read<F: Form>(decoder: &mut Decoder<'_>) -> Result<Self::Message, DecodeError>;
}

/// A `T`.
pub(super) struct Typed<T>(PhantomData<T>);

impl<T: FromHessian + Send + Sync + 'static> Wanted for Typed<T> {
    type Message = T;

    fn read<F: Form>(decoder: &mut Decoder<'_>) -> Result<T, DecodeError> {
        F::read(decoder)
    }
}

/// JSON text.
pub(super) struct Json;

impl Wanted for Json {
    type Message = String;

    fn read<F: Form>(decoder: &mut Decoder<'_>) -> Result<String, DecodeError> {
        F::json(decoder)
    }
}

impl<F: Form, W: Wanted> fmt::Debug for Answer<F, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(type_name::<W::Message>())
            .finish_non_exhaustive()
    }
}

impl<F: Form, W: Wanted> Message for Answer<F, W> {
    /// Answers to generic calls are written by the provider, which has the value.
    fn encode(&self, codec: Codec, _dst: &mut BytesMut) -> Result<(), CodecError> {
        Err(CodecError::Unsupported {
            type_name: type_name::<W::Message>(),
            codec,
        })
    }
}

impl<F: Form, W: Wanted> FromPayload for Answer<F, W> {
    /// JSON, whatever the form, is what a configuration says in place of a provider's answer.
    fn decode(codec: Codec, src: Bytes, rules: &Rules) -> Result<Self, CodecError> {
        if codec == Codec::Json {
            let unusable = |error: String| CodecError::decode::<W::Message>(codec, error);
            let value: Value = message::from_json(&src)?;
            let bytes = to_vec(&value).map_err(|error| unusable(error.to_string()))?;
            let read = W::read::<Plain>(&mut Decoder::new(&bytes));
            return read
                .map(|message| Self(message, PhantomData))
                .map_err(|error| unusable(error.to_string()));
        }
        only_hessian::<W::Message>(codec)?;
        W::read::<F>(&mut Decoder::with_options(&src, options(rules)))
            .map(|message| Self(message, PhantomData))
            .map_err(|error| CodecError::decode::<W::Message>(codec, error))
    }

    fn from_typed(message: Arc<dyn Message>) -> Result<Self, CodecError> {
        let bytes = reencoded::<W::Message>(&*message)?;
        Self::decode(Codec::Hessian2, bytes, &Rules::NONE)
    }
}

impl<F: Form, W: Wanted> Adapter for Answer<F, W> {
    type Message = W::Message;

    fn wrap(message: W::Message) -> Self {
        Self(message, PhantomData)
    }

    fn unwrap(self) -> W::Message {
        self.0
    }
}
