//! Values of any shape.

mod access;
mod back;
mod convert;
mod debug;
mod drop;
mod encode;
mod equal;
mod nodes;

use std::sync::Arc;

use bytes::Bytes;

pub use self::{
    back::Back,
    nodes::{List, Map, Object},
};
pub(crate) use self::{back::BackCell, nodes::Container};
use crate::{
    Class, DecodeError, DecodeOptions, Decoder, EncodeError, EncodeOptions, Encoder, FromHessian,
    Kind, MAX_DEPTH, ToHessian, limits::OWN_OPTIONS, traits::read_all,
};

/// A value of any shape.
///
/// Lists, maps and objects are shared: a clone is cheap, and one `Arc` that occurs twice is written once and then
/// referred to. What a decoder made is written again as Java wrote it, byte for byte.
///
/// Comparing takes a sharing value for what it unfolds to, doubles bit by bit as Java's `Double.equals`. It, printing,
/// writing and dropping take a time that is linear in the number of nodes, for shared and cyclic values too.
///
/// ```
/// use dubbo_hessian2::Value;
///
/// let car = Value::object("com.x.Car", [("color", "red".into()), ("wheels", 4.into())]);
/// let car = car.as_object().expect("an object");
/// assert_eq!(car.class(), "com.x.Car");
/// assert_eq!(car.get("wheels").and_then(Value::as_i64), Some(4));
/// ```
#[derive(Clone, Default)]
pub enum Value {
    /// Java's null.
    #[default]
    Null,
    /// `boolean`.
    Bool(bool),
    /// `int`, `short` or `byte`.
    Int(i32),
    /// `long`.
    Long(i64),
    /// `double` or `float`.
    Double(f64),
    /// `java.util.Date`: milliseconds since 1970.
    Date(i64),
    /// `String`, `char` or `char[]`.
    String(Arc<str>),
    /// `byte[]`.
    Bytes(Bytes),
    /// An array or a collection.
    List(Arc<List>),
    /// A map, in the order of its entries.
    Map(Arc<Map>),
    /// An object of a class, an enum's constant too.
    Object(Arc<Object>),
    /// A container that encloses this place.
    Back(Back),
}

impl Value {
    /// A list without a type, as Java's `ArrayList` is written.
    pub fn list(items: impl IntoIterator<Item = Self>) -> Self {
        List::new(None, items.into_iter().collect(), false).into()
    }

    /// A list with a type: `[int`, `[com.x.User`, `java.util.HashSet`.
    pub fn typed_list(
        type_name: impl Into<Arc<str>>,
        items: impl IntoIterator<Item = Self>,
    ) -> Self {
        List::new(Some(type_name.into()), items.into_iter().collect(), false).into()
    }

    /// A map without a type, as Java's `HashMap` is written.
    pub fn map(entries: impl IntoIterator<Item = (Self, Self)>) -> Self {
        Map::new(None, entries.into_iter().collect()).into()
    }

    /// A map with a type: `java.util.TreeMap`.
    pub fn typed_map(
        type_name: impl Into<Arc<str>>,
        entries: impl IntoIterator<Item = (Self, Self)>,
    ) -> Self {
        Map::new(Some(type_name.into()), entries.into_iter().collect()).into()
    }

    /// An object of a class with these fields. For many of one class, [`Class`] and [`Object::new`] are cheaper.
    pub fn object<F: Into<Box<str>>>(
        class: impl Into<Box<str>>,
        fields: impl IntoIterator<Item = (F, Self)>,
    ) -> Self {
        let (names, values): (Vec<Box<str>>, Vec<Self>) = fields
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .unzip();
        Object::new(Class::new(class, names), values).into()
    }

    /// What `value` looks like to a reader.
    pub fn of<T: ToHessian + ?Sized>(value: &T) -> Result<Self, EncodeError> {
        let bytes = own_bytes(value)?;
        read_all(Decoder::with_options(&bytes, &OWN_OPTIONS))
            .map_err(|error| EncodeError::custom(error.to_string()))
    }

    /// This value as a `T`, by writing and reading it. No class is refused, and of the
    /// [limits](crate::Limits) only `expansion` applies.
    pub fn to<T: FromHessian>(&self) -> Result<T, DecodeError> {
        self.to_with(&OWN_OPTIONS)
    }

    /// The same for a value that a peer made, and these options.
    pub fn to_with<T: FromHessian>(&self, options: &DecodeOptions) -> Result<T, DecodeError> {
        let bytes = own_bytes(self).map_err(|error| DecodeError::custom(error.to_string()))?;
        read_all(Decoder::with_options(&bytes, options))
    }
}

/// What only this process reads: as deep as may be.
pub(crate) fn own_bytes<T: ToHessian + ?Sized>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut encoder = Encoder::with_options(EncodeOptions {
        depth: MAX_DEPTH,
        ..EncodeOptions::default()
    });
    value.encode(&mut encoder)?;
    Ok(encoder.into_bytes())
}

impl FromHessian for Value {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        decoder.value()
    }

    fn from_null() -> Option<Self> {
        Some(Self::Null)
    }
}

impl Value {
    /// What this is; of a reference back, what it refers to, and null when that is gone.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Null => Kind::Null,
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) => Kind::Int,
            Self::Long(_) => Kind::Long,
            Self::Double(_) => Kind::Double,
            Self::Date(_) => Kind::Date,
            Self::String(_) => Kind::String,
            Self::Bytes(_) => Kind::Bytes,
            Self::List(_) => Kind::List,
            Self::Map(_) => Kind::Map,
            Self::Object(_) => Kind::Object,
            Self::Back(back) => back.target().map_or(Kind::Null, |target| target.kind()),
        }
    }
}
