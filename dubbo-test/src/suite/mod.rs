//! What every plugin of a kind does, as tests that each of them passes.

pub mod protocol;
pub mod registry;
