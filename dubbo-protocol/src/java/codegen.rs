//! What the code of `#[dubbo::service]` calls. Not a public interface: it changes with `dubbo-macros`, and no other code
//! should use it.

pub use dubbo_hessian2::JavaType;

pub use super::{
    args::Args,
    describe::{MethodSpec, descriptor},
    ret::Ret,
};
