//! Calls that nobody tries again by themselves: kept, listed, replayed, held and purged (`docs/spec/cluster.md` §7.12).
//!
//! [`DeadLetters`] is where all meet: clusters give up calls there, stores keep them, and whoever runs the program decides
//! what becomes of them.

mod clock;
#[cfg(feature = "durable")]
mod disk;
mod encoding;
mod filter;
mod letter;
mod letters;
mod lost;
mod memory;
mod options;
mod replay;
mod ring;
mod store;
#[cfg(test)]
mod tests;

#[cfg(feature = "durable")]
pub use self::disk::{DiskOptions, DiskStore};
pub use self::{
    encoding::EncodingError,
    filter::{Filter, Listing, Page},
    letter::{Arguments, Attempt, DeadLetter, LetterId, NoLetterId, Reason, Unwritable},
    letters::DeadLetters,
    lost::{Lost, LostCalls, LostOptions, Replaying},
    memory::MemoryStore,
    options::{DeadLetterOptions, Reasons, SyncMode, UnknownReason},
    replay::{Precondition, Replay, Replayed},
    store::{DeadLetterStore, StoreError},
};
pub(crate) use self::{letter::strip, letters::Drains};
