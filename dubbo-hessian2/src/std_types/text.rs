//! Strings and characters.

use std::{borrow::Cow, sync::Arc};

use crate::{DecodeError, Decoder, EncodeError, Encoder, FromHessian, JavaType, Kind, ToHessian};

macro_rules! strings {
    ($($type:ty),*) => {
        $(
            impl ToHessian for $type {
                fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
                    encoder.str(self);
                    Ok(())
                }
            }

            impl JavaType for $type {
                fn java_name() -> Cow<'static, str> {
                    "java.lang.String".into()
                }

                fn array_type() -> Cow<'static, str> {
                    "[string".into()
                }
            }
        )*
    };
}

macro_rules! owned_strings {
    ($($type:ty),*) => {
        $(impl FromHessian for $type {
            #[inline]
            fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                if let Some(text) = decoder.short_str() {
                    return Ok(text.to_owned().into());
                }
                if decoder.null()? {
                    return Ok(Self::default());
                }
                Ok(decoder.str()?.into_owned().into())
            }

            fn from_null() -> Option<Self> {
                Some(Self::default())
            }
        })*
    };
}

strings!(str, String, Box<str>, Arc<str>, Cow<'_, str>);
owned_strings!(String, Box<str>, Cow<'static, str>);

impl FromHessian for Arc<str> {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        if decoder.null()? {
            Ok(Self::default())
        } else {
            Ok(decoder.str()?.into())
        }
    }

    fn from_null() -> Option<Self> {
        Some(Self::default())
    }
}

/// A string of one UTF-16 unit. Characters beyond U+FFFF, which have two, cannot be written.
impl ToHessian for char {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        if self.len_utf16() > 1 {
            return Err(EncodeError::custom(format!(
                "{self:?} is beyond U+FFFF, which a Java `char` cannot hold; use a string"
            )));
        }
        encoder.str(self.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    /// One string: Java writes a `char[]` so.
    fn encode_array(items: &[Self], encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.str(&items.iter().collect::<String>());
        Ok(())
    }
}

impl FromHessian for char {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        if decoder.null()? {
            return Ok('\0');
        }
        let text = decoder.str()?;
        let mut characters = text.chars();
        match (characters.next(), characters.next()) {
            (Some(character), None) => Ok(character),
            _ => Err(DecodeError::custom(format!(
                "expected a string of one character, found one of {}",
                text.chars().count()
            ))),
        }
    }

    fn from_null() -> Option<Self> {
        Some('\0')
    }

    fn decode_list(decoder: &mut Decoder<'_>) -> Result<Vec<Self>, DecodeError> {
        if decoder.peek()? == Kind::String {
            return Ok(decoder.str()?.chars().collect());
        }
        decoder.read_list(Vec::with_capacity, |items, decoder| {
            items.push(Self::decode(decoder)?);
            Ok(())
        })
    }
}

impl JavaType for char {
    fn java_name() -> Cow<'static, str> {
        "char".into()
    }

    fn boxed_name() -> Cow<'static, str> {
        "java.lang.Character".into()
    }
}
