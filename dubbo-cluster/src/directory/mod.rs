//! Who can be called: the providers of one reference, from its direct URLs or from a registry.

pub(crate) mod availability;
mod dynamic;
mod explain;
mod follow;
mod merge;
mod providers;
mod static_list;
#[cfg(test)]
mod tests;
mod weight;

pub use dynamic::DynamicDirectory;
pub use merge::merge;
pub use static_list::{ReferError, StaticDirectory};
