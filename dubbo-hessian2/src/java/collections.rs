//! Collections that tell the peer their class: what Java writes for all but `ArrayList` and `HashMap`.
//!
//! A plain `Vec` or map does for declared fields and parameters, where Java converts; these are for `Object`, where the
//! class decides what the peer gets. Reading takes any list or map, whatever its class.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use crate::{DecodeError, Decoder, EncodeError, Encoder, FromHessian, JavaType, ToHessian, Types};

macro_rules! list {
    ($name:ident, $class:literal, $inner:ident $(where $bound:ident)?) => {
        #[doc = concat!("`", $class, "`.")]
        #[derive(Clone, Debug, Eq, Hash, PartialEq)]
        pub struct $name<T>(pub $inner<T>);

        impl<T> Default for $name<T> {
            fn default() -> Self {
                Self($inner::new())
            }
        }

        impl<T $(: $bound)?> FromIterator<T> for $name<T> {
            fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
                Self(items.into_iter().collect())
            }
        }

        impl<T: ToHessian> ToHessian for $name<T> {
            fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
                encoder.collection(Some($class), self.0.len(), &self.0)
            }
        }

        impl<T: FromHessian $(+ $bound)?> FromHessian for $name<T> {
            fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                if decoder.null()? {
                    return Ok(Self::default());
                }
                decoder.read_list(
                    |_| Self::default(),
                    |items, decoder| {
                        items.0.extend([decoder.element::<T>()?]);
                        Ok(())
                    },
                )
            }

            fn from_null() -> Option<Self> {
                Some(Self::default())
            }
        }

        impl<T: JavaType> JavaType for $name<T> {
            fn java_name() -> Cow<'static, str> {
                $class.into()
            }

            fn describe(types: &mut Types) -> Cow<'static, str> {
                let item = T::describe_boxed(types);
                types.collection($class, vec![item])
            }
        }
    };
}

list!(LinkedList, "java.util.LinkedList", Vec);
list!(LinkedHashSet, "java.util.LinkedHashSet", Vec);
list!(TreeSet, "java.util.TreeSet", BTreeSet where Ord);

macro_rules! map {
    ($name:ident, $class:literal, $inner:ident, derive($($derive:ident),*) $(, where $bound:ident $(+ $more:ident)*)?) => {
        #[doc = concat!("`", $class, "`.")]
        #[derive(Clone, Debug, $($derive),*)]
        pub struct $name<K, V>(pub $inner<K, V>);

        impl<K, V> Default for $name<K, V> {
            fn default() -> Self {
                Self($inner::default())
            }
        }

        impl<K $(: $bound $(+ $more)*)?, V> FromIterator<(K, V)> for $name<K, V> {
            fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
                Self(entries.into_iter().collect())
            }
        }

        impl<K: ToHessian, V: ToHessian> ToHessian for $name<K, V> {
            fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
                encoder.enter()?;
                encoder.begin_map(Some($class));
                for (key, value) in &self.0 {
                    key.encode(encoder)?;
                    value.encode(encoder)?;
                }
                encoder.end_map();
                encoder.leave();
                Ok(())
            }
        }

        impl<K: FromHessian $(+ $bound $(+ $more)*)?, V: FromHessian> FromHessian for $name<K, V> {
            fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                if decoder.null()? {
                    return Ok(Self::default());
                }
                decoder.read_map(Self::default, |entries, decoder| {
                    entries.0.extend([decoder.entry::<K, V>()?]);
                    Ok(())
                })
            }

            fn from_null() -> Option<Self> {
                Some(Self::default())
            }
        }

        impl<K: JavaType, V: JavaType> JavaType for $name<K, V> {
            fn java_name() -> Cow<'static, str> {
                $class.into()
            }

            fn describe(types: &mut Types) -> Cow<'static, str> {
                let items = vec![K::describe_boxed(types), V::describe_boxed(types)];
                types.collection($class, items)
            }
        }
    };
}

/// Entries in the order they are sent; a key that is sent twice stays twice.
type Entries<K, V> = Vec<(K, V)>;

map!(
    LinkedHashMap,
    "java.util.LinkedHashMap",
    Entries,
    derive(Eq, Hash, PartialEq)
);
map!(TreeMap, "java.util.TreeMap", BTreeMap, derive(Eq, Hash, PartialEq), where Ord);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{from_slice, to_vec};

    #[test]
    fn a_collection_keeps_its_class_and_reads_any_other() {
        let list: LinkedList<i32> = [2, 1].into_iter().collect();
        let bytes = to_vec(&list).expect("encodes");
        assert_eq!(bytes, b"\x72\x14java.util.LinkedList\x92\x91");
        assert_eq!(
            from_slice::<LinkedList<i32>>(&bytes).expect("decodes"),
            list
        );
        let set: TreeSet<i32> = from_slice(&bytes).expect("decodes");
        assert_eq!(set, [1, 2].into_iter().collect());
        assert_eq!(
            from_slice::<LinkedHashSet<i32>>(b"N").expect("decodes"),
            LinkedHashSet::default()
        );

        let map: LinkedHashMap<i32, bool> = [(2, true), (1, false)].into_iter().collect();
        let bytes = to_vec(&map).expect("encodes");
        assert_eq!(bytes, b"M\x17java.util.LinkedHashMap\x92T\x91FZ");
        assert_eq!(
            from_slice::<LinkedHashMap<i32, bool>>(&bytes).expect("decodes"),
            map
        );
        let sorted: TreeMap<i32, bool> = from_slice(&bytes).expect("decodes");
        assert_eq!(sorted, [(1, false), (2, true)].into_iter().collect());
        assert_eq!(
            from_slice::<TreeMap<i32, bool>>(b"N").expect("decodes"),
            TreeMap::default()
        );
    }
}
