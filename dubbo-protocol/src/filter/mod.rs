//! Filters by name, for both sides of a call (`docs/spec/cluster.md` §6).
//!
//! | name | side | what |
//! |---|---|---|
//! | `accesslog` | provider | who called what, and how it ended |
//! | `active`, `active-limit` | attempt | `actives`: how many calls of a method may be under way to one provider |
//! | `adaptive-load` | provider | says how busy the machine is to callers who ask |
//! | `auth`, `providerauth` | provider | checks the signatures of callers |
//! | `consumercontext` | call | ends a call whose time is over |
//! | `context` | both | what the protocols say to each other is hidden from applications; the caller's countdown `_TO` |
//! | `cshutdown`, `generic`, `generic_service`, `genericimpl` | both | what every protocol does by itself |
//! | `dedup` | provider | a call that comes again with its key is done once |
//! | `deprecated` | attempt | says once that a method is deprecated |
//! | `echo` | provider | answers `$echo` |
//! | `exception` | provider | panics and foreign errors become errors of the application |
//! | `execute`, `executelimit` | provider | how many calls may be served at once |
//! | `metrics` | all | what is counted and measured |
//! | `padasvc` | provider | a limit that finds itself |
//! | `pshutdown` | provider | the end of the program: says that it comes, and takes no more calls |
//! | `sign`, `consumersign` | attempt | signs |
//! | `timeout` | provider | counts the calls that were too late |
//! | `token` | provider | only who knows the token |
//! | `tps` | provider | how many calls may come in a time |
//! | `tracing` | all | spans |
//!
//! *Call* is once per call of a consumer ([`ClusterFilter`]), *attempt* once per attempt. Which of them stand in a chain
//! without being named is the facade's to say. A filter reads its options when it is made, and is as good as not there
//! where it has nothing to do: it hands on the future of the next one, and makes none itself.
//!
//! [`ClusterFilter`]: dubbo_core::filter::ClusterFilter

mod access_log;
mod active;
mod adaptive;
mod auth;
mod consumer_context;
mod context;
mod dedup;
mod deprecated;
mod echo;
mod exception;
mod execute;
mod gate;
mod kept;
mod load;
mod methods;
mod metrics;
mod native;
mod rejected;
mod shutdown;
#[cfg(test)]
mod tests;
mod timeout;
mod token;
mod tps;
mod tracing;
mod watch;

use std::{future::ready, pin::Pin, time::Duration};

use dubbo_core::{
    invocation::{Invocation, RpcResult},
    status::Status,
    url::Url,
};

pub use self::{
    auth::{AccessKey, AccessKeyStorage},
    metrics::Machine,
    rejected::RejectedHandler,
    shutdown::{Leaving, Stage},
    tps::Strategy,
};
use crate::reject::Reject;

/// For the facade, which knows where spans go.
#[cfg(feature = "otel")]
#[doc(hidden)]
pub mod otel {
    pub use super::tracing::otel::{Propagation, Traces};
}

/// What a filter returns.
type Calling<'c> = Pin<Box<dyn Future<Output = RpcResult> + Send + 'c>>;

/// An answer that nobody waits for.
fn at_once<'c>(result: RpcResult) -> Calling<'c> {
    Box::pin(ready(result))
}

/// The refusal of a call that meets a limit, which is free again after `wait`.
fn limit_met(text: String, wait: Duration) -> Status {
    let wait = wait.max(SHORTEST_WAIT);
    Reject::Limit.mark(Status::resource_exhausted(text).with_pushback(wait))
}

/// What is called, for messages.
fn called(invocation: &Invocation) -> String {
    format!("{}#{}", invocation.service, invocation.method.name())
}

/// Whether a chain made for `url` stands at a provider.
fn is_provider(url: &Url) -> bool {
    url.param("side") == Some("provider")
}

/// What can be waited for on the wire.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// When a limit of calls at once may be free again is not known: it depends on those that are under way.
const BUSY: Duration = Duration::from_millis(100);
