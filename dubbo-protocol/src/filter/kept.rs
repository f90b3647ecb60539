//! What the filters of one instance keep when their chain is made anew.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;

/// Values by name, each for as long as anybody has it: a chain that takes the place of another goes on with its counters.
#[derive(Debug)]
pub(super) struct Kept<T>(Mutex<HashMap<String, Weak<T>>>);

impl<T> Kept<T> {
    /// The value called `name`, made if nobody has it.
    pub(super) fn get(&self, name: String, make: impl FnOnce() -> T) -> Arc<T> {
        let mut kept = self.0.lock();
        if let Some(known) = kept.get(&name).and_then(Weak::upgrade) {
            return known;
        }
        kept.retain(|_, value| value.strong_count() > 0);
        let new = Arc::new(make());
        kept.insert(name, Arc::downgrade(&new));
        new
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_the_same_until_nobody_has_it() {
        let kept = Kept::default();
        let one = kept.get("a".to_owned(), || 1);
        assert_eq!(*kept.get("a".to_owned(), || 2), 1);
        assert_eq!(*kept.get("b".to_owned(), || 2), 2);
        drop(one);
        assert_eq!(*kept.get("a".to_owned(), || 3), 3);
        assert_eq!(kept.0.lock().len(), 1, "what nobody has is forgotten");
    }
}
