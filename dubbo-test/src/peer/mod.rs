//! Peers that do what a test tells them to.

pub mod h2;
