//! Lists, arrays and sets.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
    hash::{BuildHasher, Hash},
};

use bytes::Bytes;

use crate::{DecodeError, Decoder, EncodeError, Encoder, FromHessian, JavaType, ToHessian, Types};

impl<T: ToHessian> ToHessian for [T] {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        T::encode_list(self, encoder)
    }
}

impl<T: ToHessian, const N: usize> ToHessian for [T; N] {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        T::encode_list(self, encoder)
    }
}

impl<T: ToHessian> ToHessian for Vec<T> {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        T::encode_list(self, encoder)
    }
}

impl<T: FromHessian> FromHessian for Vec<T> {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        if decoder.null()? {
            Ok(Self::new())
        } else {
            T::decode_list(decoder)
        }
    }

    fn from_null() -> Option<Self> {
        Some(Self::new())
    }
}

/// Java's array.
impl<T: ToHessian + JavaType> ToHessian for Box<[T]> {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        T::encode_array(self, encoder)
    }
}

impl<T: FromHessian> FromHessian for Box<[T]> {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Vec::decode(decoder).map(Vec::into_boxed_slice)
    }

    fn from_null() -> Option<Self> {
        Some(Self::default())
    }
}

impl ToHessian for Bytes {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.bytes(self);
        Ok(())
    }
}

impl FromHessian for Bytes {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Vec::decode(decoder).map(Self::from)
    }

    fn from_null() -> Option<Self> {
        Some(Self::new())
    }
}

macro_rules! list_names {
    ($([$($generics:tt)*] $type:ty,)*) => {
        $(impl<T: JavaType, $($generics)*> JavaType for $type {
            fn java_name() -> Cow<'static, str> {
                T::list_name()
            }

            fn array_type() -> Cow<'static, str> {
                array_of(&T::list_name())
            }

            fn describe(types: &mut Types) -> Cow<'static, str> {
                T::describe_list(types)
            }
        })*
    };
}

list_names! {
    [] [T],
    [] Vec<T>,
    [const N: usize] [T; N],
}

impl<T: JavaType> JavaType for Box<[T]> {
    fn java_name() -> Cow<'static, str> {
        array_name(&T::java_name()).into()
    }

    fn array_type() -> Cow<'static, str> {
        format!("[{}", T::array_type()).into()
    }

    fn describe(types: &mut Types) -> Cow<'static, str> {
        let element = T::describe(types);
        types.array(element)
    }
}

impl JavaType for Bytes {
    fn java_name() -> Cow<'static, str> {
        "[B".into()
    }

    fn array_type() -> Cow<'static, str> {
        array_of("[B")
    }
}

macro_rules! sets {
    ($([$($generics:tt)*] $type:ty;)*) => {
        $(
            impl<$($generics)*> ToHessian for $type
            where
                T: ToHessian,
            {
                fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
                    encoder.collection(Some("java.util.HashSet"), self.len(), self)
                }
            }

            impl<$($generics)*> JavaType for $type
            where
                T: JavaType,
            {
                fn java_name() -> Cow<'static, str> {
                    "java.util.Set".into()
                }

                fn describe(types: &mut Types) -> Cow<'static, str> {
                    let item = T::describe_boxed(types);
                    types.collection("java.util.Set", vec![item])
                }
            }
        )*
    };
}

sets! {
    [T, S] HashSet<T, S>;
    [T] BTreeSet<T>;
}

impl<T: FromHessian + Eq + Hash, S: BuildHasher + Default> FromHessian for HashSet<T, S> {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        if decoder.null()? {
            return Ok(Self::default());
        }
        decoder.read_list(
            |length| Self::with_capacity_and_hasher(length, S::default()),
            |set, decoder| {
                set.insert(decoder.element()?);
                Ok(())
            },
        )
    }

    fn from_null() -> Option<Self> {
        Some(Self::default())
    }
}

impl<T: FromHessian + Ord> FromHessian for BTreeSet<T> {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        if decoder.null()? {
            return Ok(Self::new());
        }
        decoder.read_list(
            |_| Self::new(),
            |set, decoder| {
                set.insert(decoder.element()?);
                Ok(())
            },
        )
    }

    fn from_null() -> Option<Self> {
        Some(Self::new())
    }
}

/// As `Class.getName()` names an array of the type called `name`.
fn array_name(name: &str) -> String {
    let element = match name {
        "boolean" => "Z",
        "byte" => "B",
        "char" => "C",
        "double" => "D",
        "float" => "F",
        "int" => "I",
        "long" => "J",
        "short" => "S",
        array if array.starts_with('[') => array,
        class => return format!("[L{class};"),
    };
    format!("[{element}")
}

/// Hessian's list type of an array of what is called `name`, which is a list or `[B`.
fn array_of(name: &str) -> Cow<'static, str> {
    if name == "[B" {
        "[[byte".into()
    } else {
        format!("[{name}").into()
    }
}
