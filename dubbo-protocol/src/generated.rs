//! What dubbo-build made of `proto/`, committed so that building takes no generator. The folder belongs to
//! `cargo xtask codegen`: it holds what is generated and nothing else.

/// `grpc.health.v1`.
pub(crate) mod health {
    include!("generated/grpc.health.v1.rs");
}

/// `grpc.reflection.v1`.
pub(crate) mod reflection {
    include!("generated/grpc.reflection.v1.rs");

    /// `grpc.reflection.v1alpha`: the same messages under another name.
    pub(crate) mod v1alpha {
        include!("generated/grpc.reflection.v1alpha.rs");
    }
}
