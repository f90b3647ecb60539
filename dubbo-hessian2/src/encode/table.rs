//! Tables of what was written, from a key to its number.

use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::{Hash, Hasher},
};

use crate::{Class, Shape};

/// Keys and their numbers: scanned while they are few, as in most messages, and hashed once they are many.
#[derive(Debug)]
pub(super) struct Table<K> {
    few: Vec<(K, u32)>,
    many: HashMap<K, u32>,
}

impl<K: Eq + Hash> Table<K> {
    pub(super) fn find<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<u32>
    where
        K: Borrow<Q>,
    {
        if let Some((_, number)) = self.few.iter().find(|(known, _)| known.borrow() == key) {
            return Some(*number);
        }
        if self.many.is_empty() {
            None
        } else {
            self.many.get(key).copied()
        }
    }

    pub(super) fn insert(&mut self, key: K, number: u32) {
        if self.few.len() < FEW {
            self.few.push((key, number));
        } else {
            self.many.insert(key, number);
        }
    }

    /// The number that the next key gets, where keys are numbered in order.
    pub(super) fn next(&self) -> u32 {
        u32::try_from(self.few.len() + self.many.len()).unwrap_or(u32::MAX)
    }
}

impl<K> Default for Table<K> {
    fn default() -> Self {
        Self {
            few: Vec::new(),
            many: HashMap::new(),
        }
    }
}

/// A class of either kind: equal when name and fields are.
#[derive(Debug, Clone)]
pub(super) enum ClassKey {
    Runtime(Class),
    Static(&'static Shape),
}

impl ClassKey {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Runtime(class) => class.name(),
            Self::Static(shape) => shape.class,
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Runtime(class) => class.fields().len(),
            Self::Static(shape) => shape.fields.len(),
        }
    }

    pub(super) fn field(&self, index: usize) -> &str {
        match self {
            Self::Runtime(class) => &class.fields()[index],
            Self::Static(shape) => shape.fields[index],
        }
    }

    /// Tells apart what is not the same object in memory.
    pub(super) fn address(&self) -> usize {
        match self {
            Self::Runtime(class) => class.address(),
            Self::Static(shape) => std::ptr::from_ref::<Shape>(shape).addr(),
        }
    }

    fn fields(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|index| self.field(index))
    }
}

impl PartialEq for ClassKey {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.len() == other.len() && self.fields().eq(other.fields())
    }
}

impl Eq for ClassKey {}

impl Hash for ClassKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
        self.fields().for_each(|field| field.hash(state));
    }
}

/// Up to here a scan is faster than a hash.
const FEW: usize = 8;
