//! Our own peer of the interop matrix: it serves and calls the contract in `proto/dubbo/interop/v1/interop.proto`, and
//! the one without protobuf, [`user`].
//!
//! `cargo xtask interop` runs its two programs against the peers of other implementations and judges what they print;
//! `interop/README.md` describes the lines.

#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "peers speak to the runner on their standard output"
)]

mod arguments;
pub mod consumer;
mod headers;
mod held;
pub mod provider;
pub mod registries;
pub mod traces;
pub mod user;

/// The contract's messages, its server and its client.
pub mod contract {
    #![allow(missing_docs, reason = "generated")]

    dubbo::include_proto!("dubbo.interop.v1");
}

/// The health protocol's messages and client.
pub mod health {
    #![allow(missing_docs, reason = "generated")]

    dubbo::include_proto!("grpc.health.v1");
}

/// The messages and the client of what older gRPC clients ask a server about itself.
pub mod reflection {
    #![allow(missing_docs, reason = "generated")]

    dubbo::include_proto!("grpc.reflection.v1alpha");
}

pub use arguments::Arguments;
pub use held::Notice;

/// The attachment that names the case a call belongs to.
pub const CASE_KEY: &str = "interop-case";

/// The body of big answers.
pub fn pattern(len: usize) -> Vec<u8> {
    (0..=250).cycle().take(len).collect()
}
