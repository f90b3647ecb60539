//! Who of many gets a call, and what to do when it fails.
//!
//! | `cluster` | calls | when that fails |
//! |---|---|---|
//! | `failover`, the default | one provider | another one |
//! | `retrySame` | one provider | the same one, after a growing pause |
//! | `failfast` | one provider | an error |
//! | `failsafe` | one provider | an empty answer |
//! | `failback` | one provider | an empty answer, and the call is made again later |
//! | `available` | the first of the list that is available | an error |
//! | `forking` | several at once; the first answer counts | an error when all have failed |
//! | `broadcast` | all, one after the other | an error |
//! | `mergeable` | one of each group, as `failover`; their results become one | an error |
//! | `adaptiveService` | the one with more room, of which it is asked | an error |
//! | `zone-aware` | one of the registry that is preferred or near ([`ZoneAware`]), as `failover` | another one |
//!
//! Each is one for a reference, or for one of its methods. What the parameter `mock` says is around all of them.

mod adaptive;
mod attempt;
mod attempts;
mod available;
mod broadcast;
mod failback;
mod failed;
mod failfast;
mod failover;
mod failsafe;
mod forking;
mod ignored;
mod joined;
mod live;
mod mergeable;
mod mock;
mod retry_same;
#[cfg(test)]
mod tests;
mod zone_aware;

pub use adaptive::AdaptiveService;
pub use available::Available;
pub use broadcast::Broadcast;
pub use failback::Failback;
pub use failed::{Attempt, End, FailedCall};
pub use failfast::Failfast;
pub use failover::Failover;
pub use failsafe::Failsafe;
pub use forking::Forking;
pub use ignored::IGNORED;
pub use live::{LiveCluster, Settings, SettingsMaker};
pub use mergeable::Mergeable;
pub use retry_same::RetrySame;
pub use zone_aware::{InZone, ZoneAware, Zoned};

/// The target of what logs say of attempts that failed.
const RETRY: &str = "dubbo::retry";
