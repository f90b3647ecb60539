//! A list that thousands look at while single elements of it change.

use std::{fmt, hash::Hash, ops::Index, slice, sync::Arc};

/// An immutable list. A list that is made from another by changing a few elements has the rest in common with it, so that
/// neither the change nor finding it again costs as much as the list is long.
pub struct List<T> {
    len: usize,
    /// All but the last have [`CHUNK`] elements.
    chunks: Arc<[Arc<[T]>]>,
}

impl<T> List<T> {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The element at `position`.
    pub fn get(&self, position: usize) -> Option<&T> {
        self.chunks.get(position / CHUNK)?.get(position % CHUNK)
    }

    /// The first element.
    pub fn first(&self) -> Option<&T> {
        self.get(0)
    }

    /// The elements.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter {
            left: self.len,
            chunks: self.chunks.iter(),
            chunk: [].iter(),
        }
    }

    /// The positions at which the elements of `self` and `other` may differ: all where they were not made from each other.
    /// `None` if one of them is longer.
    pub fn differing(&self, other: &Self) -> Option<Vec<usize>> {
        if self.len != other.len {
            return None;
        }
        let pairs = self.chunks.iter().zip(&*other.chunks).enumerate();
        let pairs = pairs.filter(|(_, (one, other))| !Arc::ptr_eq(one, other));
        let positions = pairs.flat_map(|(at, (chunk, _))| at * CHUNK..at * CHUNK + chunk.len());
        Some(positions.collect())
    }

    /// Whether it is the same list in memory.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.chunks, &other.chunks)
    }
}

impl<T: PartialEq> List<T> {
    /// Whether `element` is among them.
    pub fn contains(&self, element: &T) -> bool {
        self.iter().any(|one| one == element)
    }
}

impl<T: Clone> List<T> {
    /// The same list with other elements at some positions, which are in order.
    ///
    /// # Panics
    ///
    /// When there is no such position.
    pub fn with(&self, others: impl IntoIterator<Item = (usize, T)>) -> Self {
        let mut chunks: Vec<Arc<[T]>> = self.chunks.to_vec();
        for (position, element) in others {
            // The chunk is copied for the first of its elements, and is nobody else's for the others.
            Arc::make_mut(&mut chunks[position / CHUNK])[position % CHUNK] = element;
        }
        Self {
            len: self.len,
            chunks: chunks.into(),
        }
    }

    /// A copy in one piece.
    pub fn to_vec(&self) -> Vec<T> {
        self.iter().cloned().collect()
    }
}

/// How many elements are copied when one changes.
const CHUNK: usize = 32;

impl<T> Clone for List<T> {
    /// Copies a pointer.
    fn clone(&self) -> Self {
        Self {
            len: self.len,
            chunks: Arc::clone(&self.chunks),
        }
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self {
            len: 0,
            chunks: Arc::default(),
        }
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut elements = elements.into_iter();
        let mut chunks: Vec<Arc<[T]>> = Vec::new();
        loop {
            let chunk: Vec<T> = elements.by_ref().take(CHUNK).collect();
            if chunk.is_empty() {
                break;
            }
            chunks.push(chunk.into());
        }
        Self {
            len: chunks.iter().map(|chunk| chunk.len()).sum(),
            chunks: chunks.into(),
        }
    }
}

impl<T> From<Vec<T>> for List<T> {
    fn from(elements: Vec<T>) -> Self {
        elements.into_iter().collect()
    }
}

impl<T, const N: usize> From<[T; N]> for List<T> {
    fn from(elements: [T; N]) -> Self {
        elements.into_iter().collect()
    }
}

impl<T: Clone> From<&[T]> for List<T> {
    fn from(elements: &[T]) -> Self {
        elements.iter().cloned().collect()
    }
}

impl<T: PartialEq> PartialEq for List<T> {
    fn eq(&self, other: &Self) -> bool {
        let is_alike =
            |(one, other): (&Arc<[T]>, &Arc<[T]>)| Arc::ptr_eq(one, other) || one == other;
        self.len == other.len && self.chunks.iter().zip(&*other.chunks).all(is_alike)
    }
}

impl<T: Eq> Eq for List<T> {}

impl<T: PartialEq> PartialEq<[T]> for List<T> {
    fn eq(&self, other: &[T]) -> bool {
        self.iter().eq(other)
    }
}

impl<T: PartialEq, const N: usize> PartialEq<[T; N]> for List<T> {
    fn eq(&self, other: &[T; N]) -> bool {
        self.iter().eq(other)
    }
}

impl<T: Hash> Hash for List<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_usize(self.len);
        for element in self {
            element.hash(state);
        }
    }
}

impl<T> Index<usize> for List<T> {
    type Output = T;

    /// # Panics
    ///
    /// When there is no such position.
    fn index(&self, position: usize) -> &T {
        &self.chunks[position / CHUNK][position % CHUNK]
    }
}

impl<T: fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<'l, T> IntoIterator for &'l List<T> {
    type Item = &'l T;
    type IntoIter = Iter<'l, T>;

    fn into_iter(self) -> Iter<'l, T> {
        self.iter()
    }
}

/// The elements of a [`List`].
pub struct Iter<'l, T> {
    left: usize,
    chunks: slice::Iter<'l, Arc<[T]>>,
    chunk: slice::Iter<'l, T>,
}

impl<'l, T> Iterator for Iter<'l, T> {
    type Item = &'l T;

    fn next(&mut self) -> Option<&'l T> {
        let next = self.chunk.next().or_else(|| {
            self.chunk = self.chunks.next()?.iter();
            self.chunk.next()
        })?;
        self.left -= 1;
        Some(next)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for Iter<'_, T> {}

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Self {
            left: self.left,
            chunks: self.chunks.clone(),
            chunk: self.chunk.clone(),
        }
    }
}

impl<T> fmt::Debug for Iter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Iter({} left)", self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_as_any_list_of_whatever_length() {
        for len in [0, 1, 31, 32, 33, 64, 500] {
            let list: List<usize> = (0..len).collect();
            assert_eq!(list.len(), len);
            assert_eq!(list.iter().len(), len);
            assert_eq!(list.to_vec(), (0..len).collect::<Vec<_>>());
            assert_eq!(list.get(len), None);
            assert_eq!(list.iter().last().copied(), len.checked_sub(1));
            assert_eq!(list, (0..len).collect::<List<_>>());
        }
    }

    #[test]
    fn what_changes_is_found_without_a_look_at_the_rest() {
        let old: List<usize> = (0..500).collect();
        let new = old.with([(40, 1), (41, 2), (499, 3)]);
        assert_eq!((old[40], new[40], new[41], new[499]), (40, 1, 2, 3));
        let differing = new.differing(&old).expect("as long");
        let want: Vec<_> = (32..64).chain(480..500).collect();
        assert_eq!(differing, want);
        assert_ne!(old, new);
        assert_eq!(new.with([(40, 40), (41, 41), (499, 499)]), old);
        assert_eq!(old.differing(&(0..499).collect()), None);
        assert_eq!(old.clone().differing(&old), Some(Vec::new()));
    }
}
