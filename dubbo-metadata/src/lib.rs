//! Application-level discovery: the registry knows which instances of an application are alive, metadata knows what they
//! serve.
//!
//! `docs/spec/metadata.md`. A provider describes all that it exports in one [`MetadataInfo`](model::MetadataInfo), names
//! it by a revision and registers one instance with that revision. A consumer finds the applications of an interface by
//! the mapping, watches their instances, and fetches the metadata of each revision once.

pub mod consumer;
pub mod error;
pub mod instance;
mod jitter;
pub mod mapping;
pub mod model;
pub mod provider;
pub mod published;
mod reports;
pub mod revision;
