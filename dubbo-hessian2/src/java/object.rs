//! What the small classes share: an object of known fields that may also arrive as text.

use std::{fmt::Display, str::FromStr};

use crate::{DecodeError, Decoder, FromHessian, Value};

/// Implements `ToHessian`, `FromHessian` and `JavaType` for a type that hessian-lite writes as an object.
///
/// `java` is the name in signatures, `class` the one on the wire; fields are in Java's order. `parts` takes the value
/// apart into a tuple of these fields, `build` puts it together or says what is wrong (any `Display` error). Whatever
/// is no object is left to `other`. `described` are the properties of the class, where Java tells them.
macro_rules! java_object {
    (
        $type:ty, java $java:literal, class $class:literal { $($field:ident: $kind:ty = $wire:literal),+ $(,)? }
        parts $parts:expr,
        build $build:expr,
        other $other:expr
        $(, described { $($property:literal: $described:ty),+ $(,)? })? $(,)?
    ) => {
        const _: () = {
            static SHAPE: $crate::Shape = $crate::Shape {
                class: $class,
                fields: &[$($wire),+],
            };

            impl $crate::ToHessian for $type {
                fn encode(&self, encoder: &mut $crate::Encoder) -> Result<(), $crate::EncodeError> {
                    let parts: fn(&Self) -> ($($kind,)+) = $parts;
                    let ($($field,)+) = parts(self);
                    encoder.enter()?;
                    encoder.begin_object(&SHAPE);
                    $($crate::ToHessian::encode(&$field, encoder)?;)+
                    encoder.leave();
                    Ok(())
                }
            }

            impl $crate::FromHessian for $type {
                fn decode(decoder: &mut $crate::Decoder<'_>) -> Result<Self, $crate::DecodeError> {
                    match decoder.peek()? {
                        $crate::Kind::Object | $crate::Kind::Map => {}
                        $crate::Kind::Null => return Err($crate::DecodeError::null_for($java)),
                        _ => {
                            let other: fn(&mut $crate::Decoder<'_>) -> Result<Self, $crate::DecodeError> = $other;
                            return other(decoder);
                        }
                    }
                    $(let mut $field = None;)+
                    decoder.read_struct(&SHAPE, |decoder, field| {
                        match SHAPE.fields[field] {
                            $($wire => $field = Some(<$kind as $crate::FromHessian>::decode(decoder)?),)+
                            _ => decoder.skip()?,
                        }
                        Ok(())
                    })?;
                    $(let $field = $crate::java::object::present::<$kind>($field, $java, $wire)?;)+
                    let build = $build;
                    build($($field),+).map_err($crate::java::object::refused)
                }
            }

            $crate::java::object::java_name!($type, $java $(, { $($property: $described),+ })?);
        };
    };
}

/// Implements `JavaType` by a name, and by those properties which Java describes the class with.
macro_rules! java_name {
    ($type:ty, $java:literal $(, { $($property:literal: $described:ty),+ })?) => {
        impl $crate::JavaType for $type {
            fn java_name() -> std::borrow::Cow<'static, str> {
                $java.into()
            }

            $(fn describe(types: &mut $crate::Types) -> std::borrow::Cow<'static, str> {
                types.class($java, |fields| {
                    $(fields.add::<$described>($property);)+
                })
            })?
        }
    };
}

pub(crate) use {java_name, java_object};

/// The value of a field, or what null means for its type when the peer left it out.
pub(crate) fn present<T: FromHessian>(
    value: Option<T>,
    class: &'static str,
    field: &str,
) -> Result<T, DecodeError> {
    value
        .or_else(T::from_null)
        .ok_or_else(|| DecodeError::null_for(class).in_field(class, field))
}

/// A value that came as text, as the ones of generic calls do.
pub(crate) fn from_text<T>(decoder: &mut Decoder<'_>) -> Result<T, DecodeError>
where
    T: FromStr<Err: Display>,
{
    decoder.str()?.parse().map_err(refused)
}

/// What the class itself has against the value.
pub(crate) fn refused(error: impl Display) -> DecodeError {
    DecodeError::custom(error.to_string())
}

/// A field of an object, or of the map that stands for one in a generic call.
pub(crate) fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Object(object) => object.get(name),
        Value::Map(map) => map.get(name),
        _ => None,
    }
}
