//! `java.util.BitSet`.

use super::{InvalidValue, object::java_object};

/// A set of bit numbers, packed 64 to a word.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct BitSet {
    /// Bit `n` is bit `n % 64` of word `n / 64`; the last word is not zero.
    words: Vec<u64>,
}

impl BitSet {
    /// Whether this bit is in the set.
    pub fn contains(&self, bit: u32) -> bool {
        let (word, mask) = place(bit);
        self.words.get(word).is_some_and(|bits| bits & mask != 0)
    }

    /// Adds a bit; says whether it is new. Takes memory for all bits up to this one.
    pub fn insert(&mut self, bit: u32) -> bool {
        let (word, mask) = place(bit);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & mask == 0;
        self.words[word] |= mask;
        new
    }

    /// The bits in the set, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..)
            .step_by(64)
            .zip(&self.words)
            .flat_map(|(first, word)| {
                (0..64)
                    .filter(move |bit| word >> bit & 1 == 1)
                    .map(move |bit| first + bit)
            })
    }

    fn from_words(mut words: Vec<u64>) -> Self {
        while words.last() == Some(&0) {
            words.pop();
        }
        Self { words }
    }
}

impl FromIterator<u32> for BitSet {
    fn from_iter<I: IntoIterator<Item = u32>>(bits: I) -> Self {
        let mut set = Self::default();
        for bit in bits {
            set.insert(bit);
        }
        set
    }
}

java_object! {
    BitSet,
    java "java.util.BitSet",
    class "com.alibaba.com.caucho.hessian.io.BitSetHandle" { words: Box<[i64]> = "words" }
    parts |set| (set.words.iter().map(|word| word.cast_signed()).collect(),),
    build |words: Box<[i64]>| {
        Ok::<_, InvalidValue>(Self::from_words(words.iter().map(|word| word.cast_unsigned()).collect()))
    },
    // Nothing else is known to be sent for it: the error of reading a list says what came.
    other |decoder| {
        Vec::<i64>::decode(decoder)
            .map(|words| Self::from_words(words.into_iter().map(i64::cast_unsigned).collect()))
    },
}

fn place(bit: u32) -> (usize, u64) {
    ((bit / 64) as usize, 1 << (bit % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_kept_in_order() {
        let set: BitSet = [200, 3, 63, 64, 3].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 63, 64, 200]);
        assert!(set.contains(64) && !set.contains(65) && !set.contains(u32::MAX));
        assert_eq!(BitSet::from_words(vec![8, 0, 0]), [3].into_iter().collect());
    }
}
