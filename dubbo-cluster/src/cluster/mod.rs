//! What to do about a call that fails: try others, or say so at once.

mod attempt;
mod failed;
mod failfast;
mod failover;
mod live;
#[cfg(test)]
mod tests;
mod zone_aware;

pub use failed::{Attempt, FailedCall};
pub use failfast::Failfast;
pub use failover::Failover;
pub use live::{LiveCluster, Settings, SettingsMaker};
pub use zone_aware::{ZoneAware, Zoned};
