//! What to do about a call that fails: try others, or say so at once.

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
