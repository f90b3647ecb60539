//! The Dubbo-compatible RPC framework for Rust.
//!
//! A program depends on this crate, and on `dubbo-build` to generate code from its `.proto` files. It loads a
//! `dubbo.yaml` with dubbo-go's own keys, provides its handlers, and asks for clients:
//!
//! ```no_run
//! # async fn run() -> Result<(), dubbo::Error> {
//! let instance = dubbo::Instance::load("dubbo.yaml")?.build()?;
//! instance.start().await?;
//! instance.serve().await
//! # }
//! ```
//!
//! The examples of the repository are one screen each. `docs/architecture.md` says how the crates fit together.

#[doc(hidden)]
pub use dubbo_core::codegen;

pub mod config;
mod error;
mod instance;
mod link;
mod logging;

pub use dubbo_core::{
    attachments::{AttachmentValue, Attachments},
    call::{Call, Client, Stub},
    context::CallContext,
    extension,
    filter::{Filter, Next},
    invocation::{Invocation, Reply, RpcResult},
    provider::Service,
    request::{Request, Response},
    service::{CallKind, ServiceDescriptor, ServiceKey},
    status::{Code, Origin, Retry, Status},
    stream,
    streaming::{Sender, Streaming},
    url::Url,
};
pub use error::Error;
/// What streams of messages are: the trait that the whole ecosystem shares.
pub use futures_core::Stream;
pub use instance::{Instance, InstanceBuilder};

/// The plugin traits, for those who write one. A plugin crate of its own depends on `dubbo-core` alone.
pub mod spi {
    pub use dubbo_core::{
        cluster, config_center, discovery, extension, filter, invocation, invoker, metadata,
        payload, protocol, registry, subscription,
    };
}

/// Includes the code that `dubbo-build` generated for a proto package.
///
/// ```ignore
/// mod greet {
///     dubbo::include_proto!("greet");
/// }
/// ```
#[macro_export]
macro_rules! include_proto {
    ($package:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $package, ".rs"));
    };
}
