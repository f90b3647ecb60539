//! Our own programs under test of the Connect conformance suite. `conformance-server` serves the suite's service as its
//! runner asks for, `conformance-client` makes the calls that it is told to; both are told on standard input and tell on
//! standard output. `cargo xtask conformance` runs the suite against them.

pub mod any;
pub mod client;
mod delimited;
mod files;
mod metadata;
mod rpc_error;
pub mod server;
mod service;

pub use delimited::{read, write};

/// The suite's messages, its service and its client.
pub mod suite {
    #![allow(missing_docs, reason = "generated")]

    dubbo::include_proto!("connectrpc.conformance.v1");
}
