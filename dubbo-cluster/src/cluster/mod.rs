//! What to do about a call that fails: try others, or say so at once.

mod attempt;
mod failed;
mod failfast;
mod failover;
#[cfg(test)]
mod tests;

pub use failed::{Attempt, FailedCall};
pub use failfast::Failfast;
pub use failover::Failover;
