//! What becomes of a call when all attempts have failed (`docs/spec/cluster.md` §7.12).
//!
//! | name | what it does |
//! |---|---|
//! | `dead-letter` | keeps it, to be replayed; the default |
//! | `hold` | keeps it, and replays leave it alone until somebody releases it |
//! | `notify` | tells whoever listens ([`DeadLetters::listen`]) and an event, and keeps it |
//! | `compensate` | calls a method that undoes it, with the same arguments; keeps it held if that fails |
//! | `fail` | nothing: the log has told of it |

mod compensate;
mod keep;

use async_trait::async_trait;
use dubbo_core::extension::{BoxError, ExtensionPoint};

pub use self::{
    compensate::Compensate,
    keep::{Fail, Keep, Notify},
};
use super::dead_letter::{DeadLetters, Lost};

/// What becomes of a call when all attempts have failed, as a plugin:
/// `dubbo_core::extension!(dyn Outcome, "mine", …)`, and `outcome: mine` in a policy or among the parameters of a reference.
///
/// It is given the URL `outcome://localhost` with the parameters `dead-letter.store`, `compensate.service` and
/// `compensate.method`, as far as they are set.
#[async_trait]
pub trait Outcome: Send + Sync + 'static {
    /// Does what is to be done about `lost`. No caller waits for it.
    ///
    /// # Errors
    ///
    /// It cannot: the call is then told in the log as one that nothing keeps, and counted.
    async fn settle(&self, lost: Lost, letters: &DeadLetters) -> Result<(), BoxError>;
}

impl ExtensionPoint for dyn Outcome {
    const KIND: &'static str = "outcome";
}

#[cfg(test)]
mod tests;
