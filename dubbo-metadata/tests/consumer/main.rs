//! Consumers that find providers by way of applications: `docs/spec/metadata.md` §9, tests 9 to 16, 20, 21, 23 and 24, on
//! a paused clock with registries, reports and instances that do what they are told.

mod cache;
mod cases;
mod chain;
mod fakes;
mod filters;
mod mapping;
mod metrics;
mod outages;
mod random;
mod sources;
