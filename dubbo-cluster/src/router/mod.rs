//! Which providers a call may go to: routers, the rules they go by, and the chain that runs them.
//!
//! ```text
//! mesh -> affinity -> tag -> script -> condition-service -> condition-provider-app -> condition-app -> the user's own
//! ```
//!
//! `docs/spec/cluster.md` §1.5 and §4. A router without a rule costs a call one wait-free look. What a rule says about a list
//! is reckoned out once for the list and not for each call.

mod affinity;
mod call;
mod chain;
mod condition;
mod configured;
mod document;
mod dry_run;
mod listen;
mod mesh;
mod names;
mod per_list;
mod rules;
mod script;
mod snapshots;
mod tag;
#[cfg(test)]
mod tests;

pub(crate) use self::snapshots::Trail;
pub use self::{
    chain::{Emptied, RouterChain},
    configured::ConfiguredRule,
    dry_run::{DryRun, Outcome, Request, RuleKind, dry_run, dry_run_as},
    names::defaults,
    snapshots::{Providers, RouterSnapshot, RouterSnapshots, RouterStep, TooManyServices},
};
