//! What adds nothing on the wire, and `Option`.

use std::{borrow::Cow, sync::Arc};

use crate::{DecodeError, Decoder, EncodeError, Encoder, FromHessian, JavaType, ToHessian, Types};

impl<T: ToHessian + ?Sized> ToHessian for &T {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        T::encode(self, encoder)
    }
}

impl<T: JavaType + ?Sized> JavaType for &T {
    fn java_name() -> Cow<'static, str> {
        T::java_name()
    }

    fn boxed_name() -> Cow<'static, str> {
        T::boxed_name()
    }

    fn array_type() -> Cow<'static, str> {
        T::array_type()
    }

    fn describe(types: &mut Types) -> Cow<'static, str> {
        T::describe(types)
    }
}

macro_rules! owners {
    ($($owner:ident),*) => {
        $(
            impl<T: ToHessian> ToHessian for $owner<T> {
                fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
                    // A type contains itself by way of these.
                    encoder.enter_frame()?;
                    T::encode(self, encoder)?;
                    encoder.leave_frame();
                    Ok(())
                }
            }

            impl<T: FromHessian> FromHessian for $owner<T> {
                fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                    let start = decoder.position();
                    let value = T::decode(decoder)?;
                    decoder.count_memory(size_of::<T>() + COUNTERS, start)?;
                    Ok(Self::new(value))
                }

                fn decode_key(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                    T::decode_key(decoder).map(Self::new)
                }

                fn from_null() -> Option<Self> {
                    T::from_null().map(Self::new)
                }
            }

            impl<T: JavaType> JavaType for $owner<T> {
                fn java_name() -> Cow<'static, str> {
                    T::java_name()
                }

                fn boxed_name() -> Cow<'static, str> {
                    T::boxed_name()
                }

                fn array_type() -> Cow<'static, str> {
                    T::array_type()
                }

                fn describe(types: &mut Types) -> Cow<'static, str> {
                    T::describe(types)
                }
            }
        )*
    };
}

owners!(Box, Arc);

impl<T: ToHessian> ToHessian for Option<T> {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        if let Some(value) = self {
            return value.encode(encoder);
        }
        encoder.null();
        Ok(())
    }
}

impl<T: FromHessian> FromHessian for Option<T> {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        if decoder.null()? {
            return Ok(None);
        }
        T::decode(decoder).map(Some)
    }

    fn decode_key(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        if decoder.null()? {
            return Ok(None);
        }
        T::decode_key(decoder).map(Some)
    }

    fn from_null() -> Option<Self> {
        Some(None)
    }
}

impl<T: JavaType> JavaType for Option<T> {
    fn java_name() -> Cow<'static, str> {
        T::boxed_name()
    }

    fn array_type() -> Cow<'static, str> {
        // Boxed scalars have arrays of their own: `[java.lang.Integer`.
        if T::boxed_name() == T::java_name() {
            T::array_type()
        } else {
            format!("[{}", T::boxed_name()).into()
        }
    }

    fn describe(types: &mut Types) -> Cow<'static, str> {
        T::describe_boxed(types)
    }
}

/// What an allocation takes on top: the counters of an `Arc`, or what the allocator keeps.
const COUNTERS: usize = 16;
