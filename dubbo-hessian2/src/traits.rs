//! What makes a Rust type a Java type.

use std::borrow::Cow;

use crate::{DecodeError, Decoder, EncodeError, Encoder, Types};

/// The bytes of `value`: one Hessian value.
pub fn to_vec<T: ToHessian + ?Sized>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut encoder = Encoder::new();
    value.encode(&mut encoder)?;
    Ok(encoder.into_bytes())
}

/// Reads the one value that `bytes` hold. Bytes after it are an error; a [`Decoder`] leaves them to its caller.
pub fn from_slice<T: FromHessian>(bytes: &[u8]) -> Result<T, DecodeError> {
    read_all(Decoder::new(bytes))
}

/// The one value that `decoder` stands before.
pub(crate) fn read_all<T: FromHessian>(mut decoder: Decoder<'_>) -> Result<T, DecodeError> {
    let value = T::decode(&mut decoder).map_err(|error| error.or_at(decoder.position()))?;
    decoder.finish()?;
    Ok(value)
}

/// A value that can be written.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written as a Hessian value",
    note = "derive it with `#[derive(Hessian)]`; tuples and unsigned numbers beyond a byte have no Java type"
)]
pub trait ToHessian {
    /// Writes exactly one value.
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError>;

    /// How a `Vec<Self>` or `[Self]` is written: an untyped list, and for `u8` binary.
    fn encode_list(items: &[Self], encoder: &mut Encoder) -> Result<(), EncodeError>
    where
        Self: Sized,
    {
        encoder.items(None, items)
    }

    /// How a `Box<[Self]>`, which is Java's array, is written: a list typed with [`JavaType::array_type`]; for `u8`
    /// and `i8` binary, for `char` a string (`docs/spec/hessian2.md` §3).
    fn encode_array(items: &[Self], encoder: &mut Encoder) -> Result<(), EncodeError>
    where
        Self: Sized + JavaType,
    {
        encoder.items(Some(&Self::array_type()), items)
    }
}

/// A value that can be read.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a Hessian value",
    note = "derive it with `#[derive(Hessian)]`; tuples and unsigned numbers beyond a byte have no Java type"
)]
pub trait FromHessian: Sized {
    /// Reads exactly one value.
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError>;

    /// What null and a missing field mean.
    ///
    /// `Some(None)` for `Option`; zero or empty for scalars, strings, bytes and collections, as for Java's primitives
    /// and Go's zero values; `None`, an error that says to use `Option`, for everything else.
    fn from_null() -> Option<Self> {
        None
    }

    /// Reads a `Vec<Self>`: any form of a list, and for `u8` and `i8` binary too.
    fn decode_list(decoder: &mut Decoder<'_>) -> Result<Vec<Self>, DecodeError> {
        decoder.read_list(Vec::with_capacity, |items, decoder| {
            items.push(decoder.element()?);
            Ok(())
        })
    }

    /// Reads the key of a map. JSON has no keys but texts, so numbers and booleans are read from these too.
    #[inline]
    fn decode_key(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Self::decode(decoder)
    }
}

/// What Java calls a type, for the names of parameters and results of services.
#[diagnostic::on_unimplemented(
    message = "Java has no name for `{Self}`",
    note = "derive one with `#[derive(Hessian)]`; tuples and unsigned numbers beyond a byte have no Java type"
)]
pub trait JavaType {
    /// As `Class.getName()`: `int`, `java.lang.String`, `[I`, `[Lcom.x.User;`, `com.x.User`.
    fn java_name() -> Cow<'static, str>;

    /// What `Option<Self>` is called: `java.lang.Integer` for `i32`.
    fn boxed_name() -> Cow<'static, str> {
        Self::java_name()
    }

    /// What `Vec<Self>` is called: `java.util.List`, and `[B` for `u8`.
    fn list_name() -> Cow<'static, str> {
        "java.util.List".into()
    }

    /// Hessian's list type of an array of these: `[int`, `[string`, `[object`, `[[int`, `[com.x.User`.
    fn array_type() -> Cow<'static, str> {
        format!("[{}", Self::java_name()).into()
    }

    /// Describes the type in `types`, with those that it consists of; gives what Java's source calls it:
    /// `java.util.List<com.x.User>`, `byte[]`. Its name alone, unless told otherwise.
    fn describe(types: &mut Types) -> Cow<'static, str> {
        types.named(Self::java_name())
    }

    /// The same for `Option<Self>`, and for the elements of collections.
    fn describe_boxed(types: &mut Types) -> Cow<'static, str> {
        if Self::boxed_name() == Self::java_name() {
            Self::describe(types)
        } else {
            types.named(Self::boxed_name())
        }
    }

    /// The same for `Vec<Self>`.
    fn describe_list(types: &mut Types) -> Cow<'static, str> {
        let item = Self::describe_boxed(types);
        types.collection("java.util.List", vec![item])
    }
}

#[cfg(test)]
mod tests {
    use super::{FromHessian, ToHessian, from_slice, to_vec};
    use crate::{Decoder, Encoder, Value};

    #[test]
    fn values_of_several_types_are_written_through_their_trait() {
        let arguments: [&dyn ToHessian; 2] = [&1, &"a"];
        assert_eq!(to_vec(&arguments).expect("encodes"), b"\x7a\x91\x01a");
    }

    #[test]
    fn what_follows_a_value_is_its_callers() {
        let error = from_slice::<i32>(b"\x91\x92\x93").expect_err("three");
        assert_eq!(
            error.to_string(),
            "the value ends, and 2 bytes follow (at byte 1)"
        );
        let mut decoder = Decoder::new(b"\x91\x92");
        assert_eq!(i32::decode(&mut decoder).expect("reads"), 1);
        assert_eq!(decoder.remaining(), b"\x92");
    }

    #[test]
    fn what_is_read_and_written_may_change_threads() {
        fn check<T: Send>() {}
        check::<Decoder<'_>>();
        check::<Encoder>();
        check::<Value>();
    }
}
