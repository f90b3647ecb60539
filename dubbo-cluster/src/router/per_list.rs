//! What is reckoned out once for a list and not for each call.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, Weak},
};

use arc_swap::{ArcSwapOption, Guard};
use dubbo_core::cluster::{Node, NodeList};

/// A value that depends on a list of providers and on a `K`: the last one that was asked for is kept. Reading it takes no
/// lock.
pub(super) struct PerList<K, V> {
    last: ArcSwapOption<Kept<K, V>>,
}

struct Kept<K, V> {
    /// Keeps the place of the list, so that no other list can be taken for it.
    list: Weak<NodeList>,
    key: K,
    value: V,
}

impl<K, V> PerList<K, V> {
    /// The value for `list` and a key that `is_current` says is still the right one; made by `make` if it is not there.
    pub(super) fn get(
        &self,
        list: &Arc<NodeList>,
        is_current: impl FnOnce(&K) -> bool,
        make: impl FnOnce() -> (K, V),
    ) -> Ready<K, V> {
        let kept = self.last.load();
        let is_right = kept.as_ref().is_some_and(|kept| {
            std::ptr::eq(kept.list.as_ptr(), Arc::as_ptr(list)) && is_current(&kept.key)
        });
        if is_right {
            return Ready(kept);
        }
        let (key, value) = make();
        let kept = Arc::new(Kept {
            list: Arc::downgrade(list),
            key,
            value,
        });
        // Several callers may do this at a time; they come to the same.
        self.last.store(Some(Arc::clone(&kept)));
        Ready(Guard::from_inner(Some(kept)))
    }
}

impl<K, V> Default for PerList<K, V> {
    fn default() -> Self {
        Self {
            last: ArcSwapOption::empty(),
        }
    }
}

impl<K, V> fmt::Debug for PerList<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerList").finish_non_exhaustive()
    }
}

/// A value that is there.
pub(super) struct Ready<K, V>(Guard<Option<Arc<Kept<K, V>>>>);

impl<K, V> Deref for Ready<K, V> {
    type Target = V;

    fn deref(&self) -> &V {
        let kept = self.0.as_ref();
        &kept.expect("invariant: it is made with a value").value
    }
}

/// The places in `list` of the nodes for which `is_wanted` says so, rising.
pub(super) fn places(list: &NodeList, mut is_wanted: impl FnMut(&Node) -> bool) -> Box<[u32]> {
    let places = (0..).zip(list.iter());
    let wanted = places.filter(|(_, node)| is_wanted(node));
    wanted.map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{candidates, weighted};

    #[test]
    fn a_value_is_made_once_for_a_list_and_a_key() {
        let (one, other) = (candidates(&weighted(&[1])), candidates(&weighted(&[1])));
        let kept = PerList::default();
        let mut count = 0;
        for (candidates, key, want) in [
            (&one, "a", 1),
            (&one, "a", 1),
            (&one, "b", 2),
            (&other, "b", 3),
            (&other, "b", 3),
            (&one, "b", 4),
        ] {
            let make = || {
                count += 1;
                (key, count)
            };
            let value = kept.get(candidates.list(), |&last| last == key, make);
            assert_eq!(*value, want);
        }
    }
}
