//! What generated code and macros call. Not a public interface: it changes with `dubbo-build` and `dubbo-macros`, and no
//! other code should use it.

pub use dubbo_core::codegen::*;

/// For services without an IDL.
pub mod java {
    pub use dubbo_protocol::java::{Args, Declared, MethodSpec, Ret, descriptor};
}
