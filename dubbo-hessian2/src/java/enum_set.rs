//! `java.util.EnumSet`.

use std::collections::BTreeSet;

use super::{ClassName, object::present};
use crate::{
    DecodeError, Decoder, EncodeError, Encoder, FromHessian, JavaType, Kind, Shape, ToHessian,
    Types,
};

/// A set of constants of one enum, in the order of `T`, which should be the one of declaration, as in Java.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct EnumSet<T>(pub BTreeSet<T>);

impl<T> Default for EnumSet<T> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

impl<T: Ord> FromIterator<T> for EnumSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(constants: I) -> Self {
        Self(constants.into_iter().collect())
    }
}

impl<T: ToHessian + JavaType> ToHessian for EnumSet<T> {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.enter()?;
        encoder.begin_object(&SHAPE);
        encoder.collection(Some("[object"), self.0.len(), &self.0)?;
        ClassName::of::<T>().encode(encoder)?;
        encoder.leave();
        Ok(())
    }
}

impl<T: FromHessian + Ord> FromHessian for EnumSet<T> {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        match decoder.peek()? {
            Kind::Object | Kind::Map => {
                let mut set = None;
                decoder.read_struct(&SHAPE, |decoder, field| {
                    match SHAPE.fields[field] {
                        "objects" => set = Some(read(decoder)?),
                        _ => decoder.skip()?,
                    }
                    Ok(())
                })?;
                present(set, SHAPE.class, "objects")
            }
            Kind::Null if decoder.null()? => Ok(Self::default()),
            _ => read(decoder),
        }
    }

    fn from_null() -> Option<Self> {
        Some(Self::default())
    }
}

impl<T: JavaType> JavaType for EnumSet<T> {
    fn java_name() -> std::borrow::Cow<'static, str> {
        "java.util.EnumSet".into()
    }

    fn describe(types: &mut Types) -> std::borrow::Cow<'static, str> {
        let item = T::describe_boxed(types);
        types.collection("java.util.EnumSet", vec![item])
    }
}

/// Generic calls send the constants as a plain list of names.
fn read<T: FromHessian + Ord>(decoder: &mut Decoder<'_>) -> Result<EnumSet<T>, DecodeError> {
    decoder.read_list(
        |_| EnumSet::default(),
        |set, decoder| {
            set.0.insert(decoder.element::<T>()?);
            Ok(())
        },
    )
}

static SHAPE: Shape = Shape {
    class: "com.alibaba.com.caucho.hessian.io.EnumSetHandler",
    fields: &["objects", "type"],
};
