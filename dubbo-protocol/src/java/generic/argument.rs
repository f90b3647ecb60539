//! An argument of a generic call on the side of the consumer.

use std::borrow::Cow;

use dubbo_hessian2::{
    DecodeError, Decoder, EncodeError, Encoder, FromHessian, JavaType, ToHessian, Value,
    java::{bean, json::to_json},
};

use super::GenericMode;

/// An argument as the caller gives it, written as its mode has it.
#[derive(Debug)]
pub(in crate::java) struct Argument {
    pub(super) value: Value,
    pub(super) mode: GenericMode,
}

impl Argument {
    /// As the caller gave it.
    pub(in crate::java) fn value(&self) -> &Value {
        &self.value
    }
}

impl ToHessian for Argument {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        let Self { value, mode } = self;
        match mode {
            GenericMode::Map | GenericMode::RawReturn => value.encode(encoder),
            GenericMode::Bean => bean::describe(value)?.encode(encoder),
            GenericMode::Gson | GenericMode::ProtobufJson => to_json(value)?.encode(encoder),
        }
    }
}

impl FromHessian for Argument {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let value = decoder.value()?;
        let mode = GenericMode::Map;
        Ok(Self { value, mode })
    }
}

impl JavaType for Argument {
    fn java_name() -> Cow<'static, str> {
        Value::java_name()
    }

    fn array_type() -> Cow<'static, str> {
        Value::array_type()
    }
}
