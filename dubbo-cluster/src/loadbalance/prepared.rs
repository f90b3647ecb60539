//! What is made of candidates once and used for many picks.

use std::sync::Arc;

use dubbo_core::cluster::{Candidates, CandidatesKey};
use parking_lot::RwLock;

/// The newest of what was made, by the candidates it was made of. Routers send calls to a few parts of one list, and a
/// migration has two lists, so several are kept.
#[derive(Debug)]
pub(super) struct Prepared<T>(RwLock<Vec<Entry<T>>>);

#[derive(Debug)]
struct Entry<T> {
    of: CandidatesKey,
    value: Arc<T>,
}

impl<T> Prepared<T> {
    /// What `make` makes of `candidates`, unless it was made and still `holds`. `make` gets the newest that there is, of
    /// whatever candidates, in case it helps.
    pub(super) fn of(
        &self,
        candidates: &Candidates,
        holds: impl Fn(&T) -> bool,
        make: impl FnOnce(Option<&T>) -> T,
    ) -> Arc<T> {
        let find = |entries: &[Entry<T>]| {
            let mut newest_first = entries.iter().rev();
            let entry = newest_first.find(|entry| entry.of.is_of(candidates))?;
            holds(&entry.value).then(|| Arc::clone(&entry.value))
        };
        if let Some(value) = find(&self.0.read()) {
            return value;
        }
        let mut entries = self.0.write();
        // Another caller may have made it meanwhile.
        if let Some(value) = find(&entries) {
            return value;
        }
        let newest = entries.last().map(|entry| &*entry.value);
        let value = Arc::new(make(newest));
        entries.retain(|entry| !entry.of.is_gone() && !entry.of.is_of(candidates));
        if entries.len() == MOST {
            entries.remove(0);
        }
        entries.push(Entry {
            of: candidates.key(),
            value: Arc::clone(&value),
        });
        value
    }
}

impl<T> Default for Prepared<T> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

const MOST: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{candidates, weighted};

    #[test]
    fn it_is_made_once_for_each_of_eight_and_again_when_it_does_not_hold() {
        let all = candidates(&weighted(&[1; 20]));
        let part = |most: u16| all.narrowed(|node| node.url.port() <= Some(most));
        let prepared = Prepared::default();
        let of = |candidates: &Candidates, least: usize| {
            let before = std::cell::Cell::new(None);
            let made = prepared.of(
                candidates,
                |&count: &usize| count >= least,
                |newest| {
                    before.set(newest.copied());
                    candidates.len().max(least)
                },
            );
            (*made, before.get())
        };
        assert_eq!(of(&all, 0), (20, None));
        assert_eq!(
            of(&part(3), 0),
            (3, Some(20)),
            "made with a look at the newest"
        );
        assert_eq!(of(&all, 21), (21, Some(3)), "it does not hold");
        assert_eq!(of(&all, 0), (21, None), "it is there");
        for most in 4..=10 {
            of(&part(most), 0);
        }
        assert_eq!(of(&part(10), 11), (11, Some(10)));
        assert_eq!(of(&part(3), 0), (3, Some(11)), "seven came after it");
        assert_eq!(prepared.0.read().len(), MOST);

        let other = candidates(&weighted(&[1; 5]));
        drop(all);
        of(&other, 0);
        assert_eq!(prepared.0.read().len(), 1, "the others' list is gone");
    }
}
