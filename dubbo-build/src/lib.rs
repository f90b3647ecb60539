//! Generates Rust services and clients from .proto files, without protoc.

mod builder;
mod docs;
mod error;
mod extern_paths;
mod generate;
mod include;
mod json;
mod names;
mod proto;
mod service;

pub use self::{builder::Builder, error::Error};

/// Starts with the default settings.
pub fn configure() -> Builder {
    Builder::new()
}
