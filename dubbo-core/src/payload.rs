//! A message on its way: still typed, or already encoded.
//!
//! Which codec a message needs is known only once an invoker has been chosen, so a [`Payload`] stays typed until then.
//! Within the process it is never encoded at all; on a server it stays encoded until the handler asks for it.

use std::{
    any::{Any, type_name},
    borrow::Cow,
    error::Error,
    fmt,
    sync::Arc,
};

use bytes::{Bytes, BytesMut};

/// How a message becomes bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// Hessian 2: what services without an IDL send, one value for each argument.
    Hessian2,
    /// Protobuf's JSON mapping.
    Json,
    /// Protobuf's binary form.
    Protobuf,
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hessian2 => "hessian2",
            Self::Json => "json",
            Self::Protobuf => "protobuf",
        })
    }
}

/// The object-safe half of a message: what it takes to send one.
pub trait Message: Any + fmt::Debug + Send + Sync {
    /// Appends the message to `dst` in the form of `codec`.
    fn encode(&self, codec: Codec, dst: &mut BytesMut) -> Result<(), CodecError>;

    /// How many bytes [`Message::encode`] will append, when that is cheap to know: the buffer is made to measure.
    fn encoded_len(&self, _codec: Codec) -> Option<usize> {
        None
    }

    /// How many values it consists of. The arguments of a call without an IDL are several; every other message is one.
    fn values(&self) -> usize {
        1
    }

    /// Appends the value at `index` alone, which shares nothing with the others: Triple's wrapper carries each argument by
    /// itself. [`Message::encode`] appends them all, as one stream.
    fn encode_value(
        &self,
        _index: usize,
        codec: Codec,
        dst: &mut BytesMut,
    ) -> Result<(), CodecError> {
        self.encode(codec, dst)
    }

    /// The value at `index` as text, for those who compare or hash arguments: a string is itself, a number and a truth
    /// value are written as Java writes them. `None`: there is no such value, or it has no text, such as a protobuf message.
    fn text(&self, _index: usize) -> Option<Cow<'_, str>> {
        None
    }

    /// The method that a generic call asks for, and with how many arguments; `None` for every other message.
    fn asked(&self) -> Option<(&str, usize)> {
        None
    }
}

/// The sized half of a message: what it takes to receive one.
pub trait FromPayload: Message + Sized {
    /// Reads one message from all of `src`.
    fn decode(codec: Codec, src: Bytes, rules: &Rules) -> Result<Self, CodecError>;

    /// Reads one message from values that were encoded each by itself.
    fn decode_values(codec: Codec, values: &[Bytes], rules: &Rules) -> Result<Self, CodecError> {
        match values {
            [one] => Self::decode(codec, one.clone(), rules),
            _ => Err(CodecError::Count {
                type_name: type_name::<Self>(),
                got: values.len(),
            }),
        }
    }

    /// Takes over a message that never left the process.
    fn from_typed(message: Arc<dyn Message>) -> Result<Self, CodecError>;
}

/// An adapter between a user's message type and the framework, such as [`crate::codegen::Proto`].
///
/// Adapters are newtypes, because blanket implementations for one kind of message would forbid all other kinds.
pub trait Adapter: FromPayload {
    /// What the user sees.
    type Message: Send + 'static;

    /// Wraps what the user gave.
    fn wrap(message: Self::Message) -> Self;

    /// Unwraps for the user.
    fn unwrap(self) -> Self::Message;
}

/// What the bytes of a peer may be: the options of the codec that is to read them, from the protocol that got them. Which
/// type they are of is between those two.
///
/// One word, because every payload has some.
#[derive(Clone, Default)]
pub struct Rules(Option<Arc<Box<dyn Any + Send + Sync>>>);

impl Rules {
    /// None: the codec has its own.
    pub const NONE: Self = Self(None);

    /// These options.
    pub fn new(options: impl Any + Send + Sync) -> Self {
        Self(Some(Arc::new(Box::new(options))))
    }

    /// The options, if they are a `T`.
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.0.as_ref()?.downcast_ref()
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.0.is_some() { "Rules" } else { "none" };
        f.write_str(name)
    }
}

/// A message, typed or encoded. Cheap to clone.
#[derive(Clone)]
pub struct Payload {
    repr: Repr,
    rules: Rules,
}

#[derive(Clone)]
enum Repr {
    Encoded { codec: Codec, bytes: Bytes },
    Typed(Arc<dyn Message>),
    Values { codec: Codec, values: Arc<[Bytes]> },
}

impl Payload {
    /// A message of this process.
    pub fn typed(message: impl Message) -> Self {
        Repr::Typed(Arc::new(message)).into()
    }

    /// A message as it came from the wire.
    pub fn encoded(codec: Codec, bytes: Bytes) -> Self {
        Repr::Encoded { codec, bytes }.into()
    }

    /// A message as it came from the wire, in values that were encoded each by itself.
    pub fn values(codec: Codec, values: impl Into<Arc<[Bytes]>>) -> Self {
        let values = values.into();
        Repr::Values { codec, values }.into()
    }

    /// The same, to be read by these rules.
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// By which rules it is read.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Its length in the form of `codec`, when that is known without encoding.
    pub fn encoded_len(&self, codec: Codec) -> Option<usize> {
        match &self.repr {
            Repr::Encoded { codec: have, bytes } => (*have == codec).then_some(bytes.len()),
            Repr::Typed(message) => message.encoded_len(codec),
            Repr::Values { .. } => None,
        }
    }

    /// Appends it to `dst` in the form of `codec`.
    pub fn encode(&self, codec: Codec, dst: &mut BytesMut) -> Result<(), CodecError> {
        match &self.repr {
            Repr::Encoded { codec: have, bytes } if *have == codec => {
                dst.extend_from_slice(bytes);
                Ok(())
            }
            Repr::Encoded { codec: have, .. } | Repr::Values { codec: have, .. } => {
                Err(CodecError::Transcode {
                    have: *have,
                    want: codec,
                })
            }
            Repr::Typed(message) => message.encode(codec, dst),
        }
    }

    /// Each of its values alone, in the form of `codec` ([`Message::encode_value`]).
    pub fn encode_values(&self, codec: Codec) -> Result<Vec<Bytes>, CodecError> {
        match &self.repr {
            Repr::Values {
                codec: have,
                values,
            } if *have == codec => Ok(values.to_vec()),
            Repr::Encoded { codec: have, .. } | Repr::Values { codec: have, .. } => {
                Err(CodecError::Transcode {
                    have: *have,
                    want: codec,
                })
            }
            Repr::Typed(message) => {
                let encoded = (0..message.values()).map(|index| {
                    let mut dst = BytesMut::new();
                    message.encode_value(index, codec, &mut dst)?;
                    Ok(dst.freeze())
                });
                encoded.collect()
            }
        }
    }

    /// Its value at `index` as text ([`Message::text`]); `None` for what is encoded already, too.
    pub fn text(&self, index: usize) -> Option<Cow<'_, str>> {
        match &self.repr {
            Repr::Typed(message) => message.text(index),
            Repr::Encoded { .. } | Repr::Values { .. } => None,
        }
    }

    /// The method that a generic call asks for ([`Message::asked`]); `None` for what is encoded already, too.
    pub fn asked(&self) -> Option<(&str, usize)> {
        match &self.repr {
            Repr::Typed(message) => message.asked(),
            Repr::Encoded { .. } | Repr::Values { .. } => None,
        }
    }

    /// Its value at `index` alone, in the form that the message has: Protobuf's if it has that, else Hessian 2. What is
    /// encoded already is taken as it is; when that is one stream, it is the value at 0. `None`: there is no such value, or
    /// it has neither form.
    pub fn value_bytes(&self, index: usize) -> Option<Bytes> {
        match &self.repr {
            Repr::Encoded { bytes, .. } => (index == 0).then(|| bytes.clone()),
            Repr::Typed(message) => {
                if index >= message.values() {
                    return None;
                }
                [Codec::Protobuf, Codec::Hessian2]
                    .into_iter()
                    .find_map(|codec| {
                        let mut dst = BytesMut::new();
                        let encoded = message.encode_value(index, codec, &mut dst);
                        encoded.is_ok().then(|| dst.freeze())
                    })
            }
            Repr::Values { values, .. } => values.get(index).cloned(),
        }
    }

    /// Reads it as a `T`.
    pub fn decode<T: FromPayload>(self) -> Result<T, CodecError> {
        match self.repr {
            Repr::Encoded { codec, bytes } => T::decode(codec, bytes, &self.rules),
            Repr::Typed(message) => T::from_typed(message),
            Repr::Values { codec, values } => T::decode_values(codec, &values, &self.rules),
        }
    }

    /// Encodes it now, so that several branches share one encoding.
    pub fn freeze(&mut self, codec: Codec) -> Result<(), CodecError> {
        if let Repr::Typed(message) = &self.repr {
            let mut dst = BytesMut::with_capacity(message.encoded_len(codec).unwrap_or(0));
            message.encode(codec, &mut dst)?;
            *self = Self::encoded(codec, dst.freeze());
        }
        Ok(())
    }
}

impl From<Repr> for Payload {
    fn from(repr: Repr) -> Self {
        let rules = Rules::NONE;
        Self { repr, rules }
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.repr {
            Repr::Encoded { codec, bytes } => write!(f, "{} bytes of {codec}", bytes.len()),
            Repr::Typed(message) => message.fmt(f),
            Repr::Values { codec, values } => write!(f, "{} values of {codec}", values.len()),
        }
    }
}

/// Why a message could not be encoded or decoded.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The message has another number of values than came.
    #[error("{type_name} cannot be read from {got} values")]
    Count {
        /// The Rust type that was wanted.
        type_name: &'static str,
        /// How many values there are.
        got: usize,
    },
    /// The bytes are not a message of this type.
    #[error("cannot read {type_name} from {codec}: {source}")]
    Decode {
        /// The Rust type that was wanted.
        type_name: &'static str,
        /// The form the bytes are in.
        codec: Codec,
        /// What is wrong with them.
        source: Arc<dyn Error + Send + Sync>,
    },
    /// The message cannot be written in this form.
    #[error("cannot write {type_name} as {codec}: {source}")]
    Encode {
        /// The Rust type of the message.
        type_name: &'static str,
        /// The form that was wanted.
        codec: Codec,
        /// Why not.
        source: Arc<dyn Error + Send + Sync>,
    },
    /// A payload that is already encoded is wanted in another form.
    #[error("a payload encoded as {have} cannot be sent as {want}")]
    Transcode {
        /// The form it is in.
        have: Codec,
        /// The form that was wanted.
        want: Codec,
    },
    /// Within the process: the two sides use different Rust types for one message.
    #[error(
        "got {got}, expected {want}: both sides of a call within the process must use the same type"
    )]
    Type {
        /// The message that came.
        got: String,
        /// The type that was expected.
        want: &'static str,
    },
    /// The type was generated without this codec.
    #[error("{type_name} does not support {codec}; generate it with that codec switched on")]
    Unsupported {
        /// The Rust type of the message.
        type_name: &'static str,
        /// The form that was wanted.
        codec: Codec,
    },
}

impl CodecError {
    /// A [`CodecError::Decode`] of a `T`.
    pub fn decode<T>(codec: Codec, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Decode {
            type_name: type_name::<T>(),
            codec,
            source: Arc::from(source.into()),
        }
    }

    /// A [`CodecError::Encode`] of a `T`.
    pub fn encode<T>(codec: Codec, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Encode {
            type_name: type_name::<T>(),
            codec,
            source: Arc::from(source.into()),
        }
    }
}

/// Takes a typed message out of its `Arc` as a `T`, cloning only when others hold it too.
pub(crate) fn downcast<T: Message + Clone>(message: Arc<dyn Message>) -> Result<T, CodecError> {
    let any: Arc<dyn Any + Send + Sync> = Arc::clone(&message) as _;
    match any.downcast::<T>() {
        Ok(typed) => {
            drop(message);
            Ok(Arc::unwrap_or_clone(typed))
        }
        Err(_) => Err(CodecError::Type {
            got: format!("{message:?}"),
            want: type_name::<T>(),
        }),
    }
}
