//! The arguments of a call.

use std::{any::type_name, borrow::Cow, fmt, sync::Arc};

use bytes::{Bytes, BytesMut};
use dubbo_core::payload::{Adapter, Codec, CodecError, FromPayload, Message};
use dubbo_hessian2::{Decoder, EncodeError, Encoder, FromHessian, JavaType, ToHessian};

use super::message::{append, from_typed, only_hessian};

/// The arguments of a call: a tuple of up to sixteen values.
///
/// Encoded they stand one after the other in one stream, so that a value that occurs in several of them is written once.
pub struct Args<T>(T);

impl<T: Arguments> Message for Args<T> {
    fn encode(&self, codec: Codec, dst: &mut BytesMut) -> Result<(), CodecError> {
        append::<T>(codec, dst, |encoder| {
            (0..T::COUNT).try_for_each(|index| self.0.write(index, encoder))
        })
    }

    fn values(&self) -> usize {
        T::COUNT
    }

    fn encode_value(
        &self,
        index: usize,
        codec: Codec,
        dst: &mut BytesMut,
    ) -> Result<(), CodecError> {
        append::<T>(codec, dst, |encoder| self.0.write(index, encoder))
    }
}

impl<T: Arguments> FromPayload for Args<T> {
    /// Bytes behind the last argument are nobody's.
    fn decode(codec: Codec, src: Bytes) -> Result<Self, CodecError> {
        only_hessian::<T>(codec)?;
        T::read(&mut Reader::Together(Decoder::new(&src)))
            .map(Self)
            .map_err(|error| CodecError::decode::<T>(codec, error))
    }

    fn decode_values(codec: Codec, values: &[Bytes]) -> Result<Self, CodecError> {
        only_hessian::<T>(codec)?;
        if values.len() != T::COUNT {
            let (wanted, got) = (T::COUNT, values.len());
            let text = format!("the number of arguments is {wanted}, and {got} came");
            return Err(CodecError::decode::<T>(codec, text));
        }
        T::read(&mut Reader::Apart(values))
            .map(Self)
            .map_err(|error| CodecError::decode::<T>(codec, error))
    }

    fn from_typed(message: Arc<dyn Message>) -> Result<Self, CodecError> {
        from_typed(message)
    }
}

impl<T: Arguments> Adapter for Args<T> {
    type Message = T;

    fn wrap(message: T) -> Self {
        Self(message)
    }

    fn unwrap(self) -> T {
        self.0
    }
}

impl<T: Arguments> fmt::Debug for Args<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug(f)
    }
}

/// What an argument or a result of a Java interface can be. Every type with these properties is one.
pub trait JavaValue:
    ToHessian + FromHessian + JavaType + fmt::Debug + Send + Sync + 'static
{
}

impl<T> JavaValue for T where
    T: ToHessian + FromHessian + JavaType + fmt::Debug + Send + Sync + 'static
{
}

/// A tuple of up to sixteen [values](JavaValue): the arguments of a call.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a call",
    note = "the arguments are a tuple, such as `(String,)`, of up to 16 values that implement `ToHessian`, `FromHessian`, `JavaType`, `Debug`, `Send` and `Sync`"
)]
pub trait Arguments: Send + Sync + Sized + 'static {
    /// How many there are.
    const COUNT: usize;

    /// Their Java types, as `Class.getName()` gives them.
    fn types() -> Vec<Cow<'static, str>>;

    /// Tuples of more than twelve have no `Debug` of their own.
    #[doc(hidden)]
    fn debug(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    #[doc(hidden)]
    fn read(reader: &mut Reader<'_>) -> Result<Self, String>;

    #[doc(hidden)]
    fn write(&self, index: usize, encoder: &mut Encoder) -> Result<(), EncodeError>;
}

/// Where arguments are read from.
#[doc(hidden)]
#[derive(Debug)]
pub enum Reader<'a> {
    Apart(&'a [Bytes]),
    Together(Decoder<'a>),
}

impl Reader<'_> {
    fn next<T: JavaValue>(&mut self, place: &Place) -> Result<T, String> {
        let read = match self {
            Self::Apart(values) => T::decode(&mut Decoder::new(&values[place.index])),
            Self::Together(decoder) if decoder.is_at_end() => {
                return Err(format!("{} is missing", place.of::<T>()));
            }
            Self::Together(decoder) => T::decode(decoder),
        };
        read.map_err(|error| format!("{}: {error}", place.of::<T>()))
    }
}

/// Which of the arguments.
struct Place {
    index: usize,
    count: usize,
}

impl Place {
    fn of<T: JavaType>(&self) -> String {
        let Self { index, count } = self;
        format!("argument {} of {count} (`{}`)", index + 1, T::java_name())
    }
}

macro_rules! tuples {
    ($($count:literal: ($($name:ident $index:tt),*);)*) => {$(
        impl<$($name: JavaValue),*> Arguments for ($($name,)*) {
            const COUNT: usize = $count;

            fn types() -> Vec<Cow<'static, str>> {
                vec![$($name::java_name()),*]
            }

            fn debug(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple("")$(.field(&self.$index))*.finish()
            }

            #[allow(unused_variables, reason = "the empty tuple reads nothing")]
            #[allow(clippy::unused_unit, reason = "the empty tuple is one")]
            fn read(reader: &mut Reader<'_>) -> Result<Self, String> {
                Ok(($(reader.next::<$name>(&Place { index: $index, count: $count })?,)*))
            }

            #[allow(unused_variables, reason = "the empty tuple writes nothing")]
            fn write(&self, index: usize, encoder: &mut Encoder) -> Result<(), EncodeError> {
                match index {
                    $($index => self.$index.encode(encoder).map_err(|error| {
                        let place = Place { index, count: $count };
                        EncodeError::custom(format!("{}: {error}", place.of::<$name>()))
                    }),)*
                    _ => Err(EncodeError::custom(format!(
                        "there is no argument {} in {}",
                        index + 1,
                        type_name::<Self>()
                    ))),
                }
            }
        }
    )*};
}

tuples! {
    0: ();
    1: (A 0);
    2: (A 0, B 1);
    3: (A 0, B 1, C 2);
    4: (A 0, B 1, C 2, D 3);
    5: (A 0, B 1, C 2, D 3, E 4);
    6: (A 0, B 1, C 2, D 3, E 4, F 5);
    7: (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    8: (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
    9: (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
    10: (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
    11: (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
    12: (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
    13: (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12);
    14: (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13);
    15: (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14);
    16: (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15);
}
