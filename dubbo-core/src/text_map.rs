//! A sorted map of texts, small and cheap to derive others from.

use std::{
    cmp::Ordering,
    collections::{BTreeSet, HashSet},
    fmt,
    hash::{Hash, Hasher},
    iter::Peekable,
    ops::Index,
    slice,
    sync::Arc,
};

use serde::{Serialize, Serializer};

/// A map from texts to texts, in the order of the keys: the parameters of a URL, the metadata of an instance.
///
/// Thousands of these differ in an entry or two. A map that is made from another by a clone and a few changes has what is
/// the same in common with it, and costs only what it has of its own.
#[derive(Clone, Default)]
pub struct TextMap {
    /// Sorted; never changed.
    shared: Option<Arc<[Entry]>>,
    /// Sorted; of other keys than those.
    own: Vec<Entry>,
}

type Entry = (Arc<str>, Arc<str>);

impl TextMap {
    /// A map without entries.
    pub const fn new() -> Self {
        Self {
            shared: None,
            own: Vec::new(),
        }
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.text(key).map(|value| &**value)
    }

    /// The value of `key`, to be had in common.
    pub fn text(&self, key: &str) -> Option<&Arc<str>> {
        let (shared, own) = (self.shared(), &*self.own);
        let found = |entries: &[Entry]| position(entries, key).ok();
        match found(own) {
            Some(at) => Some(&own[at].1),
            None => found(shared).map(|at| &shared[at].1),
        }
    }

    /// Whether `key` has a value.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Gives `key` a value.
    pub fn insert(&mut self, key: impl Into<Arc<str>>, value: impl Into<Arc<str>>) {
        let (key, value) = (key.into(), value.into());
        if position(self.shared(), &key).is_ok() {
            self.flatten();
        }
        match position(&self.own, &key) {
            Ok(at) => self.own[at].1 = value,
            Err(at) => {
                // Thousands of maps have one or two of their own.
                self.own.reserve_exact(1);
                self.own.insert(at, (key, value));
            }
        }
        self.settle();
    }

    /// Takes `key` out; the value that it had.
    pub fn remove(&mut self, key: &str) -> Option<Arc<str>> {
        let value = Arc::clone(self.text(key)?);
        if position(self.shared(), key).is_ok() {
            self.flatten();
        }
        self.own.retain(|(own, _)| **own != *key);
        self.settle();
        Some(value)
    }

    /// Keeps the entries that `keeps` says.
    pub fn retain(&mut self, mut keeps: impl FnMut(&str, &str) -> bool) {
        let entries = self.entries().filter(|(key, value)| keeps(key, value));
        let kept: Vec<_> = entries.cloned().collect();
        if kept.len() != self.len() {
            (self.shared, self.own) = (None, kept);
            self.settle();
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.shared().len() + self.own.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries, in the order of the keys.
    pub fn iter(&self) -> Iter<'_> {
        Iter(self.entries())
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(key, _)| key)
    }

    /// The values, in the order of the keys.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(_, value)| value)
    }

    /// The entries as they are kept, to be had in common.
    pub fn texts(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.entries().map(|(key, value)| (key, value))
    }

    fn entries(&self) -> Merged<'_> {
        Merged {
            shared: self.shared().iter().peekable(),
            own: self.own.iter().peekable(),
        }
    }

    fn shared(&self) -> &[Entry] {
        self.shared.as_deref().unwrap_or_default()
    }

    /// Has all entries for itself, so that any of them can be changed.
    fn flatten(&mut self) {
        let all = self.entries().cloned().collect();
        (self.shared, self.own) = (None, all);
    }

    /// Makes what has become much ready to be had in common.
    fn settle(&mut self) {
        if self.own.len() > OWN {
            self.shared = Some(self.entries().cloned().collect());
            self.own = Vec::new();
        }
    }
}

/// What maps have in common that were not made from each other, such as those that were read from a registry.
#[derive(Debug, Default)]
pub struct Common {
    keys: BTreeSet<Arc<str>>,
    known: HashSet<Arc<[Entry]>>,
    /// How many are known before those that no map has any more are forgotten.
    limit: usize,
}

impl Common {
    /// `map`, which has all entries but `own` in common with maps that were given here before and are the same in them.
    pub fn share(&mut self, map: &TextMap, own: impl Fn(&str) -> bool) -> TextMap {
        let (mut own, rest): (Vec<_>, Vec<_>) =
            map.entries().cloned().partition(|(key, _)| own(key));
        for (key, _) in &mut own {
            if let Some(known) = self.keys.get(key) {
                key.clone_from(known);
            } else if self.keys.len() < FEW {
                self.keys.insert(Arc::clone(key));
            }
        }
        if rest.is_empty() {
            return TextMap { shared: None, own };
        }
        let shared = if let Some(shared) = self.known.get(&*rest) {
            Arc::clone(shared)
        } else {
            if self.known.len() >= self.limit {
                self.known.retain(|known| Arc::strong_count(known) > 1);
                self.limit = (2 * self.known.len()).max(FEW);
            }
            let shared: Arc<[Entry]> = rest.into();
            self.known.insert(Arc::clone(&shared));
            shared
        };
        TextMap {
            shared: Some(shared),
            own: own.into_iter().collect::<Box<[_]>>().into(),
        }
    }
}

/// How many may be known that are of no use.
const FEW: usize = 16;

/// How many entries are no loss when each map has them of its own.
const OWN: usize = 8;

fn position(entries: &[Entry], key: &str) -> Result<usize, usize> {
    entries.binary_search_by(|(other, _)| (**other).cmp(key))
}

/// The entries of a [`TextMap`], in the order of the keys.
pub struct Iter<'m>(Merged<'m>);

impl<'m> Iterator for Iter<'m> {
    type Item = (&'m str, &'m str);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (&**key, &**value))
    }
}

impl fmt::Debug for Iter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Iter")
    }
}

struct Merged<'m> {
    shared: Peekable<slice::Iter<'m, Entry>>,
    own: Peekable<slice::Iter<'m, Entry>>,
}

impl<'m> Iterator for Merged<'m> {
    type Item = &'m Entry;

    fn next(&mut self) -> Option<Self::Item> {
        let order = match (self.shared.peek(), self.own.peek()) {
            (Some((shared, _)), Some((own, _))) => shared.cmp(own),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        match order {
            Ordering::Less => self.shared.next(),
            _ => self.own.next(),
        }
    }
}

impl<'m> IntoIterator for &'m TextMap {
    type Item = (&'m str, &'m str);
    type IntoIter = Iter<'m>;

    fn into_iter(self) -> Iter<'m> {
        self.iter()
    }
}

impl<K: Into<Arc<str>>, V: Into<Arc<str>>> FromIterator<(K, V)> for TextMap {
    /// Where a key comes twice, the last value counts.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        map.extend(entries);
        map
    }
}

impl<K: Into<Arc<str>>, V: Into<Arc<str>>> Extend<(K, V)> for TextMap {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        let more = entries.into_iter().map(|(k, v)| (k.into(), v.into()));
        let mut more: Vec<Entry> = more.collect();
        if more.len() <= OWN {
            for (key, value) in more {
                self.insert(key, value);
            }
            return;
        }
        // The last of several with one key comes first.
        more.reverse();
        more.extend(self.entries().cloned());
        more.sort_by(|(one, _), (other, _)| one.cmp(other));
        more.dedup_by(|(later, _), (first, _)| later == first);
        (self.shared, self.own) = (None, more);
        self.settle();
    }
}

impl<K: Into<Arc<str>>, V: Into<Arc<str>>, const N: usize> From<[(K, V); N]> for TextMap {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl Serialize for TextMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl Index<&str> for TextMap {
    type Output = str;

    /// # Panics
    ///
    /// When `key` has no value.
    fn index(&self, key: &str) -> &str {
        self.get(key)
            .unwrap_or_else(|| panic!("there is no `{key}`"))
    }
}

impl PartialEq for TextMap {
    fn eq(&self, other: &Self) -> bool {
        let is_common = match (&self.shared, &other.shared) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        };
        if is_common {
            return self.own == other.own;
        }
        self.len() == other.len() && self.entries().eq(other.entries())
    }
}

impl Eq for TextMap {}

impl Hash for TextMap {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.len());
        for entry in self.entries() {
            entry.hash(state);
        }
    }
}

impl fmt::Debug for TextMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, hash::BuildHasher as _};

    use super::*;

    /// Does the same to both, and compares them after each step.
    struct Twins {
        map: TextMap,
        model: BTreeMap<String, String>,
    }

    impl Twins {
        fn compare(&self) {
            let entries: Vec<_> = self.map.iter().collect();
            let want: Vec<_> = self.model.iter().map(|(k, v)| (&**k, &**v)).collect();
            assert_eq!(entries, want);
            assert_eq!(self.map.len(), want.len());
            assert_eq!(self.map.is_empty(), want.is_empty());
            let again: TextMap = want.into_iter().collect();
            assert_eq!(self.map, again);
            let hasher = std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default();
            assert_eq!(hasher.hash_one(&self.map), hasher.hash_one(&again));
        }
    }

    #[test]
    fn it_is_as_any_map_whatever_it_was_made_from() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..200 {
            let mut twins = Twins {
                map: TextMap::new(),
                model: BTreeMap::new(),
            };
            for _ in 0..40 {
                let key = random.u8(..12).to_string();
                let value = random.u8(..3).to_string();
                match random.u8(..10) {
                    0..=4 => {
                        twins.map.insert(key.as_str(), value.as_str());
                        twins.model.insert(key, value);
                    }
                    5 | 6 => {
                        let removed = twins.map.remove(&key).map(|value| value.to_string());
                        assert_eq!(removed, twins.model.remove(&key));
                    }
                    7 => {
                        let more: Vec<_> = (0..random.usize(..8))
                            .map(|n| (random.u8(..12).to_string(), n.to_string()))
                            .collect();
                        twins.map.extend(more.clone());
                        twins.model.extend(more);
                    }
                    8 => {
                        twins.map.retain(|_, of| of != value);
                        twins.model.retain(|_, of| *of != value);
                    }
                    _ => assert_eq!(twins.map.get(&key), twins.model.get(&key).map(|v| &**v)),
                }
                twins.compare();
            }
        }
    }

    #[test]
    fn what_is_made_from_another_has_what_is_the_same_in_common() {
        let many = (0..20).map(|n| (format!("key{n:02}"), "value"));
        let first: TextMap = many.collect();
        let mut second = first.clone();
        second.insert("timestamp", "1");
        let same = |key: &str| {
            let texts = [&first, &second].map(|map| map.text(key).expect("is there"));
            Arc::ptr_eq(texts[0], texts[1])
        };
        assert!(same("key00") && same("key19"));
        assert_eq!(second.own.len(), 1);
        assert_ne!(first, second);
        second.remove("timestamp");
        assert_eq!(first, second);
    }

    #[test]
    fn the_last_value_of_a_key_counts() {
        let few = TextMap::from([("a", "1"), ("a", "2")]);
        assert_eq!(&few["a"], "2");
        let many = TextMap::from_iter(["1", "2", "3", "4", "5", "6"].map(|n| ("a", n)));
        assert_eq!(many.iter().collect::<Vec<_>>(), [("a", "6")]);
    }
}
