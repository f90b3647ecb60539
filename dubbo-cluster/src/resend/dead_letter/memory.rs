//! `memory`: dead letters for as long as the program runs.

use std::sync::Arc;

use async_trait::async_trait;
use dubbo_core::url::Key;
use parking_lot::Mutex;

use super::{
    letter::{DeadLetter, LetterId},
    ring::Ring,
    store::{DeadLetterStore, StoreError},
};

/// Keeps letters in memory that is made with it; the default. A full one refuses further letters, so that the oldest, which
/// tell how it began, stay.
#[derive(Debug)]
pub struct MemoryStore {
    letters: Mutex<Ring<Arc<DeadLetter>>>,
    capacity: usize,
}

impl MemoryStore {
    /// Room for `capacity` letters; 0 counts as 1.
    pub fn new(capacity: usize) -> Self {
        Self {
            letters: Mutex::new(Ring::new(capacity)),
            capacity,
        }
    }
}

#[async_trait]
impl DeadLetterStore for MemoryStore {
    async fn put(&self, letter: Arc<DeadLetter>) -> Result<(), StoreError> {
        let mut letters = self.letters.lock();
        if let Some(old) = letters.find_mut(|old| old.id == letter.id) {
            *old = letter;
            return Ok(());
        }
        letters.push(letter).map_err(|_| StoreError::Full {
            store: NAME.to_owned(),
            capacity: self.capacity,
        })
    }

    async fn page(
        &self,
        after: Option<LetterId>,
        limit: usize,
    ) -> Result<Vec<Arc<DeadLetter>>, StoreError> {
        let mut page: Vec<_> = {
            let letters = self.letters.lock();
            let further = letters.iter().filter(|letter| Some(letter.id) > after);
            further.cloned().collect()
        };
        page.sort_unstable_by_key(|letter| letter.id);
        page.truncate(limit);
        Ok(page)
    }

    async fn get(&self, id: LetterId) -> Result<Option<Arc<DeadLetter>>, StoreError> {
        let letters = self.letters.lock();
        let found = letters.iter().find(|letter| letter.id == id).cloned();
        Ok(found)
    }

    async fn remove(&self, id: LetterId) -> Result<bool, StoreError> {
        Ok(self
            .letters
            .lock()
            .remove(|letter| letter.id == id)
            .is_some())
    }

    /// Its letters go with the program; until then they can be read.
    async fn close(&self) {}
}

const NAME: &str = "memory";

const CAPACITY: Key<usize> = Key {
    name: "capacity",
    default: || 100,
};

/// Its slots are made at once.
const MOST: usize = 1_000_000;

dubbo_core::extension!(dyn super::DeadLetterStore, "memory", |cx| {
    let capacity = cx.url.get(&CAPACITY)?;
    if capacity > MOST {
        return Err(format!("`capacity` is {capacity}, and memory is for at most {MOST}").into());
    }
    Ok(Arc::new(MemoryStore::new(capacity)))
});
