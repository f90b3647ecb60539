//! Rules that override what URLs say (`docs/spec/cluster.md` §5).
//!
//! ```text
//! amendment -> registry's override:// -> the application's rule -> the service's rule      later ones win
//!                                    |
//!       consumer's URL -> options of calls     merged URL of a provider -> its node     URL of an exported service
//! ```

mod amendment;
mod item;
mod live;
mod matching;
mod raw;
mod reads;
mod rule;
#[cfg(test)]
mod tests;

pub(crate) use self::reads::{are_made_alike, is_of_reference};
pub use self::{
    amendment::Amendment,
    live::{LiveOverrides, OverrideRules, Overrides},
    rule::Configurators,
};
