//! Where dead letters are kept.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dubbo_core::extension::ExtensionPoint;

use super::letter::{DeadLetter, LetterId};

/// Keeps dead letters, as a plugin: `dubbo_core::extension!(dyn DeadLetterStore, "mine", …)`, and in YAML
/// `dubbo.retry.dead-letter.store: mine`. Built in are `memory` and, with the feature `durable`, `disk`.
///
/// It is given the URL `dead-letter://localhost` with the parameters `path`, `capacity` and `sync`, as far as they are set.
/// No call waits for it. Its methods may be called at the same time.
#[async_trait]
pub trait DeadLetterStore: Send + Sync + 'static {
    /// Keeps `letter`, instead of the one with its id if there is one. Once this is done, the letter is kept as safely as
    /// the store can.
    ///
    /// # Errors
    ///
    /// It is not kept: there is no room, or the store cannot write.
    ///
    /// # Cancel safety
    ///
    /// Whether a letter is kept whose future was dropped is not known.
    async fn put(&self, letter: Arc<DeadLetter>) -> Result<(), StoreError>;

    /// At most `limit` letters in the order of their ids, from the first one after `after`, or from the first of all. Fewer
    /// than `limit` are the last ones.
    ///
    /// # Errors
    ///
    /// The store cannot read.
    async fn page(
        &self,
        after: Option<LetterId>,
        limit: usize,
    ) -> Result<Vec<Arc<DeadLetter>>, StoreError>;

    /// The letter of this id.
    ///
    /// # Errors
    ///
    /// The store cannot read.
    async fn get(&self, id: LetterId) -> Result<Option<Arc<DeadLetter>>, StoreError>;

    /// Removes the letter of this id; whether it was there.
    ///
    /// # Errors
    ///
    /// The store cannot write.
    async fn remove(&self, id: LetterId) -> Result<bool, StoreError>;

    /// How many records it has that it cannot read; they stay where they are. No letter is lost by them.
    fn unreadable(&self) -> u64 {
        0
    }

    /// Ends it: what was promised is kept by now, and nothing is taken any more.
    async fn close(&self);
}

impl ExtensionPoint for dyn DeadLetterStore {
    const KIND: &'static str = "dead letter store";
}

/// Why a store of dead letters did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It was closed.
    #[error("the store of dead letters `{store}` is closed")]
    Closed {
        /// Which.
        store: String,
    },
    /// It has no more room.
    #[error(
        "the store of dead letters `{store}` is full ({capacity}): replay or purge some, or give it more `capacity`"
    )]
    Full {
        /// Which.
        store: String,
        /// How many it takes.
        capacity: usize,
    },
    /// Reading or writing failed.
    #[error("the store of dead letters `{store}` failed: {reason}")]
    Io {
        /// Which.
        store: String,
        /// What failed.
        reason: String,
    },
    /// No store has this name.
    #[error("there is no store of dead letters `{store}`: {reason}")]
    Unknown {
        /// The name.
        store: String,
        /// What there is.
        reason: String,
    },
}

impl fmt::Debug for dyn DeadLetterStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeadLetterStore")
    }
}
