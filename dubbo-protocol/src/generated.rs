//! What dubbo-build made of `proto/`, committed so that building takes no generator. The folder belongs to
//! `cargo xtask codegen`: it holds what is generated and nothing else.

/// `grpc.health.v1`.
pub(crate) mod health {
    include!("generated/grpc.health.v1.rs");
}
