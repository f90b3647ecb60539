//! Booleans, numbers and nothing.

use std::{borrow::Cow, str::FromStr};

use crate::{
    DecodeError, Decoder, EncodeError, Encoder, FromHessian, JavaType, Kind, ToHessian, Types,
    java::InvalidValue,
};

macro_rules! scalars {
    ($($type:ty: $name:literal, $boxed:literal, $method:ident, $zero:expr;)*) => {
        $(
            impl ToHessian for $type {
                fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
                    encoder.$method(*self);
                    Ok(())
                }
            }

            impl FromHessian for $type {
                #[inline]
                fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                    if decoder.null()? { Ok($zero) } else { decoder.$method() }
                }

                fn from_null() -> Option<Self> {
                    Some($zero)
                }

                fn decode_key(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                    key(decoder, $name)
                }
            }

            impl JavaType for $type {
                fn java_name() -> Cow<'static, str> {
                    $name.into()
                }

                fn boxed_name() -> Cow<'static, str> {
                    $boxed.into()
                }
            }
        )*
    };
}

scalars! {
    bool: "boolean", "java.lang.Boolean", bool, false;
    i32: "int", "java.lang.Integer", int, 0;
    i64: "long", "java.lang.Long", long, 0;
    f64: "double", "java.lang.Double", double, 0.0;
}

impl ToHessian for f32 {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.float(*self);
        Ok(())
    }

    /// Bit for bit, unlike a single one.
    fn encode_array(items: &[Self], encoder: &mut Encoder) -> Result<(), EncodeError> {
        let wide: Vec<f64> = items.iter().map(|item| f64::from(*item)).collect();
        encoder.items(Some("[float"), &wide)
    }
}

impl FromHessian for f32 {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        if decoder.null()? {
            Ok(0.0)
        } else {
            decoder.float()
        }
    }

    fn from_null() -> Option<Self> {
        Some(0.0)
    }

    fn decode_key(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        key(decoder, "float")
    }
}

impl JavaType for f32 {
    fn java_name() -> Cow<'static, str> {
        "float".into()
    }

    fn boxed_name() -> Cow<'static, str> {
        "java.lang.Float".into()
    }
}

impl ToHessian for i16 {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.int((*self).into());
        Ok(())
    }
}

impl FromHessian for i16 {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let value = i32::decode(decoder)?;
        value.try_into().map_err(|_| out_of_range(value, "short"))
    }

    fn from_null() -> Option<Self> {
        Some(0)
    }

    fn decode_key(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        key(decoder, "short")
    }
}

impl JavaType for i16 {
    fn java_name() -> Cow<'static, str> {
        "short".into()
    }

    fn boxed_name() -> Cow<'static, str> {
        "java.lang.Short".into()
    }
}

impl ToHessian for i8 {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.int((*self).into());
        Ok(())
    }

    fn encode_array(items: &[Self], encoder: &mut Encoder) -> Result<(), EncodeError> {
        let bytes: Vec<u8> = items.iter().map(|item| item.cast_unsigned()).collect();
        encoder.bytes(&bytes);
        Ok(())
    }
}

impl FromHessian for i8 {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let value = i32::decode(decoder)?;
        value.try_into().map_err(|_| out_of_range(value, "byte"))
    }

    fn from_null() -> Option<Self> {
        Some(0)
    }

    fn decode_key(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        key(decoder, "byte")
    }

    fn decode_list(decoder: &mut Decoder<'_>) -> Result<Vec<Self>, DecodeError> {
        let bytes = u8::decode_list(decoder)?;
        Ok(bytes.into_iter().map(u8::cast_signed).collect())
    }
}

impl JavaType for i8 {
    fn java_name() -> Cow<'static, str> {
        "byte".into()
    }

    fn boxed_name() -> Cow<'static, str> {
        "java.lang.Byte".into()
    }
}

/// The bits of Java's signed `byte`: 200 is written as the int -56, and is read from either.
impl ToHessian for u8 {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.int(self.cast_signed().into());
        Ok(())
    }

    fn encode_list(items: &[Self], encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.bytes(items);
        Ok(())
    }

    fn encode_array(items: &[Self], encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.bytes(items);
        Ok(())
    }
}

impl FromHessian for u8 {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        byte(i32::decode(decoder)?)
    }

    fn from_null() -> Option<Self> {
        Some(0)
    }

    fn decode_key(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        byte(i32::decode_key(decoder)?)
    }

    fn decode_list(decoder: &mut Decoder<'_>) -> Result<Vec<Self>, DecodeError> {
        if decoder.peek()? == Kind::List {
            return decoder.read_list(Vec::with_capacity, |items, decoder| {
                items.push(Self::decode(decoder)?);
                Ok(())
            });
        }
        decoder.bytes().map(Cow::into_owned)
    }
}

impl JavaType for u8 {
    fn java_name() -> Cow<'static, str> {
        "byte".into()
    }

    fn boxed_name() -> Cow<'static, str> {
        "java.lang.Byte".into()
    }

    fn list_name() -> Cow<'static, str> {
        "[B".into()
    }

    fn describe_list(types: &mut Types) -> Cow<'static, str> {
        types.named(Self::list_name())
    }
}

/// Null, and as a result `void`. Whatever is read is dropped.
impl ToHessian for () {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.null();
        Ok(())
    }
}

impl FromHessian for () {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        decoder.skip()
    }

    fn from_null() -> Option<Self> {
        Some(())
    }
}

impl JavaType for () {
    fn java_name() -> Cow<'static, str> {
        "void".into()
    }

    fn boxed_name() -> Cow<'static, str> {
        "java.lang.Void".into()
    }
}

/// Of a byte with or without a sign.
fn byte(value: i32) -> Result<u8, DecodeError> {
    let signed = i8::try_from(value).map(i8::cast_unsigned);
    signed
        .or_else(|_| value.try_into())
        .map_err(|_| out_of_range(value, "byte"))
}

/// The key of a map: itself, or its text.
fn key<T: FromHessian + FromStr>(
    decoder: &mut Decoder<'_>,
    name: &'static str,
) -> Result<T, DecodeError> {
    if decoder.peek()? != Kind::String {
        return T::decode(decoder);
    }
    let start = decoder.position();
    let text = decoder.str()?;
    text.parse().map_err(|_| {
        let error = InvalidValue::new(name, text, "one, or its text, as a key");
        DecodeError::custom(error.to_string()).or_at(start)
    })
}

#[cold]
fn out_of_range(value: i32, target: &str) -> DecodeError {
    DecodeError::custom(format!("{value} does not fit into {target}"))
}
