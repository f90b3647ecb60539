//! The Dubbo-compatible RPC framework for Rust.
//!
//! A program depends on this crate, and on `dubbo-build` to generate code from its `.proto` files. For this service
//!
//! ```proto
//! service Greeter {
//!   rpc Greet(GreetRequest) returns (GreetResponse);
//! }
//! ```
//!
//! there is a trait to implement, a server to provide and a client to ask for:
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use dubbo::{Instance, Request, Response, Status, Streaming};
//! # use examples::greet;
//! // mod greet { dubbo::include_proto!("greet"); }
//! use greet::{GreetRequest, GreetResponse, Greeter, GreeterClient, GreeterServer};
//!
//! struct Polite;
//!
//! impl Greeter for Polite {
//!     async fn greet(&self, request: Request<GreetRequest>) -> Result<Response<GreetResponse>, Status> {
//!         let name = &request.message().name;
//!         if name.is_empty() {
//!             return Err(Status::invalid_argument("a name is needed"));
//!         }
//!         Ok(Response::new(GreetResponse { greeting: format!("Hello, {name}!") }))
//!     }
//! #   async fn greet_many(&self, _: Request<GreetRequest>) -> Result<Response<Streaming<GreetResponse>>, Status> { unreachable!() }
//! #   async fn greet_all(&self, _: Request<Streaming<GreetRequest>>) -> Result<Response<GreetResponse>, Status> { unreachable!() }
//! #   async fn greet_each(&self, _: Request<Streaming<GreetRequest>>) -> Result<Response<Streaming<GreetResponse>>, Status> { unreachable!() }
//! }
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let instance = Instance::load("dubbo.yaml")?.provide(GreeterServer::new(Polite)).build()?;
//! instance.start().await?;
//!
//! let greeter: GreeterClient = instance.refer().await?;
//! let request = GreetRequest { name: "Dubbo".to_owned() };
//! let response = greeter.greet(request).timeout(Duration::from_millis(200)).attach("tenant", "a").await?;
//! println!("{}", response.message().greeting);
//!
//! instance.serve().await?; // until SIGTERM or SIGINT, then without losing a call
//! # Ok(())
//! # }
//! ```
//!
//! - [`Instance`] is one application; [`config`] has every key of its file, and the same in code.
//! - A handler takes a [`Request`] and gives a [`Response`] or a [`Status`]; [`Streaming`] stands for either when there
//!   are many. [`Request::context`] is the call being served.
//! - A client's method gives a [`Call`]: it takes options and starts when it is awaited. **Calls that fail are tried
//!   again**, twice by default, as in every Dubbo: set `retries: 0` for what must not be done twice. [`Status::retry`]
//!   says what is repeated.
//! - A Java interface is a trait with [`service`](macro@service), which says [what Java's types are in
//!   Rust](macro@service#types); exceptions are those of [`java`]: [`java::exception_with`] throws, and
//!   [`java::thrown_as`] tells which it was.
//! - Providers and consumers find each other by the [registries](config::RegistryConfig): `memory` and `file` are always
//!   there, and Nacos, ZooKeeper and etcd come with the features `nacos`, `zookeeper` and `etcd`; `full` is all of them.
//!   [`Instance::explain`] says step by step why a service has providers or none.
//! - What an instance says about itself there can be added to by `dubbo.labels` and by an
//!   [`InstanceCustomizer`](spi::discovery::InstanceCustomizer); an
//!   [`InstanceListFilter`](spi::discovery::InstanceListFilter) is the first to see what others say.
//! - [`config::TlsConfig`] is TLS and mutual TLS, for all that a program serves and calls.
//! - A [`Filter`] sees every call of a service or a reference that names it:
//!
//! ```
//! use std::sync::Arc;
//!
//! use dubbo::{Filter, Invocation, Next, RpcResult};
//!
//! struct Stamp;
//!
//! #[dubbo::async_trait]
//! impl Filter for Stamp {
//!     async fn invoke(&self, mut invocation: Invocation, next: Next<'_>) -> RpcResult {
//!         invocation.attachments.insert("stamp", "1");
//!         next.run(invocation).await
//!     }
//! }
//!
//! // From now on a configuration may say `filter: stamp`.
//! dubbo::extension!(dyn Filter, "stamp", |_context| Ok(Arc::new(Stamp)));
//! ```
//!
//! The examples of the repository are one screen each. `docs/architecture.md` says how the crates fit together.

mod admin;
#[doc(hidden)]
pub mod codegen;
pub mod config;
mod error;
pub mod http;
mod instance;
mod link;
pub mod logging;
pub mod metadata;
mod metadata_service;
mod observe;
pub mod route;

/// What the traits of plugins are written with: `#[dubbo::async_trait]`.
pub use async_trait::async_trait;
/// The well-known types of protobuf, `google.protobuf.Timestamp` and the like, as generated code uses them.
#[doc(no_inline)]
pub use dubbo_core::codegen::pbjson_types as types;
pub use dubbo_core::{
    attachments::{AttachmentError, AttachmentValue, Attachments},
    call::{Call, CallFuture, Client, Stub},
    context::{CallContext, HeadersSent, ReplyContext},
    extension,
    filter::{Filter, Next},
    invocation::{Invocation, Reply, RpcResult},
    provider::{Service, ServiceBuilder},
    request::{Request, Response},
    service::{CallKind, MethodDescriptor, MethodRef, ServiceDescriptor, ServiceKey},
    status::{Code, Detail, Origin, Retry, Status},
    stream,
    streaming::{Closed, Sender, Streaming},
    url::Url,
};
/// Values of Java and how they are written: `dubbo-hessian2`.
#[doc(no_inline)]
pub use dubbo_hessian2 as hessian2;
#[doc(inline)]
pub use dubbo_macros::{Hessian, service};
#[doc(inline)]
pub use dubbo_protocol::java;
/// What [`Instance::migration_status`] tells, and the rules of a migration.
pub mod migration {
    pub use crate::instance::{CallsSeen, ConsumerSeen};
    pub use dubbo_cluster::migration::{
        MigrationStatus, MigrationStep, Path, ReferenceStatus, Rule, RuleError, StepReport,
    };
}
/// How calls are tried again, for [`Instance::resend`] and [`Instance::dead_letters`].
pub mod resend {
    pub use dubbo_cluster::{
        cluster::{End, FailedCall},
        resend::{
            Class, PolicyDocument, Resend, Switches, backoff, budget, dead_letter, health, outcome,
            policy, pool, queue, throttle,
        },
    };
}
/// The rules of an instance, for [`Instance::rules`]: their keys, and what one that is no rule is refused for.
pub mod rules {
    pub use dubbo_cluster::rules::{Followed, GROUP, RuleBook, RuleError, key};
}
pub use error::Error;
/// What streams of messages are: the trait that the whole ecosystem shares.
pub use futures_core::Stream;
pub use instance::{
    BadPattern, ConfigChanged, Explanation, Instance, InstanceBuilder, Listed, Presence,
    RegistryTools, Road, Selection,
};

/// What [`Instance::status`] tells.
pub mod status {
    pub use crate::instance::{
        BreakerStatus, InstanceStatus, MethodStatus, ProviderStatus, ReferenceStatus, Registered,
        RegisteredInstance, RegistryStatus, RetryStatus, ServiceStatus, SourceStatus,
        StoppedMethod,
    };
}

/// The plugin traits, for those who write one. A plugin crate of its own depends on `dubbo-core` alone.
pub mod spi {
    pub use dubbo_core::extension::BoxError;
    pub use dubbo_core::{
        cluster, config_center, discovery, explain, filter, invocation, invoker, list, metadata,
        payload, protocol, registry, subscription, text_map, tls,
    };
    pub use dubbo_protocol::filter::{AccessKey, AccessKeyStorage, RejectedHandler};
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
