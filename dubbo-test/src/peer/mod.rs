//! Peers that do what a test tells them to.

pub mod dubbo;
pub mod h2;
