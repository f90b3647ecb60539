//! Maps.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    hash::{BuildHasher, Hash},
};

use crate::{DecodeError, Decoder, EncodeError, Encoder, FromHessian, JavaType, ToHessian, Types};

impl<K: ToHessian, V: ToHessian, S> ToHessian for HashMap<K, V, S> {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        encode(self, encoder)
    }
}

impl<K: ToHessian, V: ToHessian> ToHessian for BTreeMap<K, V> {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        encode(self, encoder)
    }
}

fn encode<'m, K: ToHessian + 'm, V: ToHessian + 'm>(
    entries: impl IntoIterator<Item = (&'m K, &'m V)>,
    encoder: &mut Encoder,
) -> Result<(), EncodeError> {
    encoder.enter()?;
    encoder.begin_map(None);
    for (key, value) in entries {
        key.encode(encoder)?;
        value.encode(encoder)?;
    }
    encoder.end_map();
    encoder.leave();
    Ok(())
}

impl<K, V, S> FromHessian for HashMap<K, V, S>
where
    K: FromHessian + Eq + Hash,
    V: FromHessian,
    S: BuildHasher + Default,
{
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        if decoder.null()? {
            return Ok(Self::default());
        }
        // Its length is not known before: a map that grows would hash its keys again and again.
        let entries = decoder.read_map(Vec::new, |entries, decoder| {
            entries.push(decoder.entry()?);
            Ok(())
        })?;
        Ok(entries.into_iter().collect())
    }

    fn from_null() -> Option<Self> {
        Some(Self::default())
    }
}

impl<K: FromHessian + Ord, V: FromHessian> FromHessian for BTreeMap<K, V> {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        if decoder.null()? {
            return Ok(Self::default());
        }
        decoder.read_map(Self::default, |map, decoder| {
            let (key, value) = decoder.entry()?;
            map.insert(key, value);
            Ok(())
        })
    }

    fn from_null() -> Option<Self> {
        Some(Self::default())
    }
}

macro_rules! names {
    ($([$($generics:tt)*] $type:ty;)*) => {
        $(impl<$($generics)*> JavaType for $type
        where
            K: JavaType,
            V: JavaType,
        {
            fn java_name() -> Cow<'static, str> {
                "java.util.Map".into()
            }

            fn describe(types: &mut Types) -> Cow<'static, str> {
                let items = vec![K::describe_boxed(types), V::describe_boxed(types)];
                types.collection("java.util.Map", items)
            }
        })*
    };
}

names! {
    [K, V, S] HashMap<K, V, S>;
    [K, V] BTreeMap<K, V>;
}
