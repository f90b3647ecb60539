//! What generated code calls. Not a public interface: it changes with `dubbo-build`, and no other code should use it.

#![allow(missing_docs)]

pub mod json;

use std::{fmt, sync::Arc};

use bytes::{Bytes, BytesMut};
use serde::{Serialize, de::DeserializeOwned};

pub use ::{bytes, futures_core::Stream, pbjson, pbjson_types, prost, serde};

pub use crate::{
    call::{Call, Client, Stub},
    provider::{Service, ServiceBuilder},
    request::{Request, Response},
    service::{CallKind, MethodDescriptor, ServiceDescriptor},
    status::Status,
    streaming::Streaming,
};
pub use std::{borrow::Cow, future::Future, sync::LazyLock};

use crate::payload::{Adapter, Codec, CodecError, FromPayload, Message, Rules, downcast};

/// A protobuf message generated without JSON.
#[derive(Debug, Clone)]
pub struct Proto<T>(T);

/// A protobuf message with its JSON mapping.
#[derive(Debug, Clone)]
pub struct ProtoJson<T>(T);

/// What every generated message is.
pub trait ProtoMessage: prost::Message + Default + Clone + fmt::Debug + 'static {}

impl<T: prost::Message + Default + Clone + fmt::Debug + 'static> ProtoMessage for T {}

impl<T: ProtoMessage> Message for Proto<T> {
    fn encode(&self, codec: Codec, dst: &mut BytesMut) -> Result<(), CodecError> {
        match codec {
            Codec::Protobuf => encode_proto(&self.0, dst),
            Codec::Hessian2 | Codec::Json => Err(unsupported::<T>(codec)),
        }
    }

    fn encoded_len(&self, codec: Codec) -> Option<usize> {
        (codec == Codec::Protobuf).then(|| self.0.encoded_len())
    }
}

impl<T: ProtoMessage> FromPayload for Proto<T> {
    fn decode(codec: Codec, src: Bytes, _rules: &Rules) -> Result<Self, CodecError> {
        match codec {
            Codec::Protobuf => decode_proto(src).map(Self),
            Codec::Hessian2 | Codec::Json => Err(unsupported::<T>(codec)),
        }
    }

    fn from_typed(message: Arc<dyn Message>) -> Result<Self, CodecError> {
        downcast(message)
    }
}

impl<T: ProtoMessage> Adapter for Proto<T> {
    type Message = T;

    fn wrap(message: T) -> Self {
        Self(message)
    }

    fn unwrap(self) -> T {
        self.0
    }
}

impl<T: ProtoMessage + Serialize> Message for ProtoJson<T> {
    fn encode(&self, codec: Codec, dst: &mut BytesMut) -> Result<(), CodecError> {
        match codec {
            Codec::Protobuf => encode_proto(&self.0, dst),
            Codec::Json => serde_json::to_writer(bytes::BufMut::writer(dst), &self.0)
                .map_err(|error| CodecError::encode::<T>(codec, error)),
            Codec::Hessian2 => Err(unsupported::<T>(codec)),
        }
    }

    fn encoded_len(&self, codec: Codec) -> Option<usize> {
        (codec == Codec::Protobuf).then(|| self.0.encoded_len())
    }
}

impl<T: ProtoMessage + Serialize + DeserializeOwned> FromPayload for ProtoJson<T> {
    fn decode(codec: Codec, src: Bytes, _rules: &Rules) -> Result<Self, CodecError> {
        match codec {
            Codec::Protobuf => decode_proto(src).map(Self),
            Codec::Json => serde_json::from_slice(&src)
                .map(Self)
                .map_err(|error| CodecError::decode::<T>(codec, error)),
            Codec::Hessian2 => Err(unsupported::<T>(codec)),
        }
    }

    fn from_typed(message: Arc<dyn Message>) -> Result<Self, CodecError> {
        downcast(message)
    }
}

impl<T: ProtoMessage + Serialize + DeserializeOwned> Adapter for ProtoJson<T> {
    type Message = T;

    fn wrap(message: T) -> Self {
        Self(message)
    }

    fn unwrap(self) -> T {
        self.0
    }
}

fn encode_proto<T: ProtoMessage>(message: &T, dst: &mut BytesMut) -> Result<(), CodecError> {
    message
        .encode(dst)
        .map_err(|error| CodecError::encode::<T>(Codec::Protobuf, error))
}

fn decode_proto<T: ProtoMessage>(src: Bytes) -> Result<T, CodecError> {
    T::decode(src).map_err(|error| CodecError::decode::<T>(Codec::Protobuf, error))
}

fn unsupported<T>(codec: Codec) -> CodecError {
    CodecError::Unsupported {
        type_name: std::any::type_name::<T>(),
        codec,
    }
}
