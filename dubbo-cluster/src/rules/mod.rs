//! The rules of one instance, by key, from wherever they are said (`docs/spec/cluster.md` §4.1).
//!
//! ```text
//! code, config centers, a folder -> RuleBook -> one Followed<R> for each who goes by the rule
//! ```
//!
//! Whoever goes by a rule [follows](RuleBook::follow) its [key] and is given what its own parser makes of the newest
//! text that counts. A text that is no rule changes nothing: the last good one stays.

mod address;
mod book;
mod error;
mod folder;
mod follow;
pub mod key;
mod sources;
mod string_match;
#[cfg(test)]
mod tests;

pub use self::{
    address::AddressPattern,
    book::{GROUP, RuleBook},
    error::{RuleError, read},
    follow::Followed,
    string_match::{StringMatch, WholeText, glob},
};
pub(crate) use self::{
    error::{listed, read_document},
    sources::{Current, Place, Sources},
};
