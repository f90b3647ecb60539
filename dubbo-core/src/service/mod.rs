//! What a service is called and what it can do: its key and its methods.

mod descriptor;
mod find;
mod java;
mod key;
mod pattern;
mod types;

pub use descriptor::{CallKind, MethodDescriptor, MethodRef, ServiceDescriptor};
pub use find::{NoMethod, Types};
pub use java::{Declaration, JavaSignature};
pub use key::{ServiceKey, ServiceKeyError};
pub use pattern::lists;
pub use types::TypeDescription;
