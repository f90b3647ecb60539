//! What dubbo-build made of `proto/`, committed so that building takes no generator.

/// `grpc.health.v1`.
pub(crate) mod health {
    include!("grpc.health.v1.rs");
}
