//! The acceptance tests of `docs/spec/metadata.md` §9 about the provider chain, and what else it promises, on a paused clock.

mod changes;
mod fakes;
mod instances;
mod logs;
mod losses;
mod publishing;
mod registering;
mod renewal;
