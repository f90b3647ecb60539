//! What generated code does: `tests/generated`, which `tests/golden.rs` keeps up to date, is compiled into this test.

mod calls;
mod descriptors;
mod hygiene;
mod json;
mod mapping;
mod messages;

#[path = "../generated/mod.rs"]
mod generated;
