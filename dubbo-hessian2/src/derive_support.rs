//! What `#[derive(Hessian)]` calls. Not a public interface: it changes with `dubbo-macros`, and no other code should use it.

use std::borrow::Cow;

use crate::{DecodeError, Decoder, EncodeError, Encoder, Fields, FromHessian, Shape};

/// A class with fields: what a subclass can take them from.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no fields to inherit",
    label = "a struct that derives `Hessian` can be flattened"
)]
pub trait Object {
    /// Its name and its fields, the inherited ones first.
    const SHAPE: &'static Shape;

    /// Adds the same fields with what their types are.
    fn describe_fields(fields: &mut Fields<'_>);
}

/// A class that writes its fields as part of an object.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no fields to inherit",
    label = "a struct that derives `Hessian` can be flattened"
)]
pub trait WriteObject: Object {
    /// Writes the fields of [`Object::SHAPE`].
    fn write_fields(&self, encoder: &mut Encoder) -> Result<(), EncodeError>;
}

/// A class that reads its fields as part of an object.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no fields to inherit",
    label = "a struct that derives `Hessian` can be flattened"
)]
pub trait ReadObject: Object + Sized {
    /// Reads an object of `shape`. The fields from `first` on are those of [`Object::SHAPE`]; `others` reads the rest.
    fn read<'a>(
        decoder: &mut Decoder<'a>,
        shape: &'static Shape,
        first: usize,
        others: impl FnMut(&mut Decoder<'a>, usize) -> Result<(), DecodeError>,
    ) -> Result<Self, DecodeError>;
}

/// Writes `object` as a whole.
#[inline]
pub fn write<T: WriteObject + ?Sized>(
    object: &T,
    encoder: &mut Encoder,
) -> Result<(), EncodeError> {
    encoder.enter()?;
    encoder.begin_object(T::SHAPE);
    object.write_fields(encoder)?;
    encoder.leave();
    Ok(())
}

/// Begins an object that has the fields of `shape` in their order, if one is next: [`field`] or [`nullable_field_of`]
/// follow for each of them, and [`end`] with what this gives.
#[inline]
pub fn begin(
    decoder: &mut Decoder<'_>,
    shape: &'static Shape,
) -> Result<Option<usize>, DecodeError> {
    decoder.begin_in_order(shape)
}

/// Ends an object that [`begin`] has begun.
#[inline]
pub fn end(decoder: &mut Decoder<'_>, object: usize) {
    decoder.end_in_order(object);
}

/// Reads the value of the field of `shape` at `position`.
#[inline]
pub fn field<T: FromHessian>(
    decoder: &mut Decoder<'_>,
    shape: &'static Shape,
    position: usize,
) -> Result<T, DecodeError> {
    T::decode(decoder).map_err(|error| decoder.in_field(error, shape, position))
}

/// The same for a field for which null means that it is missing.
#[inline]
pub fn nullable_field_of<T: FromHessian>(
    decoder: &mut Decoder<'_>,
    shape: &'static Shape,
    position: usize,
) -> Result<Option<T>, DecodeError> {
    nullable_field(decoder).map_err(|error| decoder.in_field(error, shape, position))
}

/// Reads an object as a whole, whatever fields it has.
pub fn read<T: ReadObject>(decoder: &mut Decoder<'_>) -> Result<T, DecodeError> {
    if decoder.null()? {
        return Err(DecodeError::null_for(T::SHAPE.class));
    }
    T::read(decoder, T::SHAPE, 0, |decoder, _| decoder.skip())
}

/// Reads the value of a field for which null means that it is missing.
#[inline]
pub fn nullable_field<T: FromHessian>(decoder: &mut Decoder<'_>) -> Result<Option<T>, DecodeError> {
    if decoder.null()? {
        return Ok(None);
    }
    T::decode(decoder).map(Some)
}

/// The value of a field that is missing.
#[inline]
pub fn absent<T: FromHessian>(class: &'static str, field: &'static str) -> Result<T, DecodeError> {
    T::from_null().ok_or_else(|| missing(class, field))
}

/// Reads the name of a constant of the enum `class`.
#[inline]
pub fn constant<'a>(
    decoder: &mut Decoder<'a>,
    class: &'static str,
) -> Result<Cow<'a, str>, DecodeError> {
    if decoder.null()? {
        return Err(DecodeError::null_for(class));
    }
    decoder.read_enum()
}

/// The error for a constant that an enum does not have.
#[cold]
pub fn unknown_constant(class: &str, found: &str, known: &[&str]) -> DecodeError {
    let known = known.join(", ");
    DecodeError::custom(format!(
        "`{found}` is no constant of {class}, which has {known}"
    ))
}

#[cold]
fn missing(class: &str, field: &str) -> DecodeError {
    let text = "the object has no such field, and the type has no value for null; use `Option` or \
                `#[hessian(default)]` if it may be missing";
    DecodeError::custom(text).in_field(class, field)
}

/// The names of inherited fields and then of a class's own, joined by the compiler.
#[derive(Debug)]
pub struct Names {
    names: [&'static str; MAX_INHERITING],
    len: usize,
}

impl Names {
    /// Joins them; the compiler says `twice` if two are the same.
    ///
    /// # Panics
    ///
    /// When two are the same, or they are too many.
    pub const fn join(
        inherited: &[&'static str],
        own: &[&'static str],
        twice: &'static str,
    ) -> Self {
        let mut joined = Self {
            names: [""; MAX_INHERITING],
            len: inherited.len() + own.len(),
        };
        assert!(
            joined.len <= MAX_INHERITING,
            "a class that inherits has 256 fields at most, with those of its superclasses"
        );
        let mut index = 0;
        while index < joined.len {
            let name = if index < inherited.len() {
                inherited[index]
            } else {
                own[index - inherited.len()]
            };
            let mut before = 0;
            while before < index {
                assert!(!same(joined.names[before], name), "{}", twice);
                before += 1;
            }
            joined.names[index] = name;
            index += 1;
        }
        joined
    }

    /// The names.
    pub const fn as_slice(&self) -> &[&'static str] {
        self.names.split_at(self.len).0
    }
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// The length of a slice of joined names is not known where they are joined, so there is room for this many.
const MAX_INHERITING: usize = 256;
