//! Whatever can take a call: a connection to a provider, a cluster of them, a chain of filters, a handler.

use async_trait::async_trait;

use crate::{
    invocation::{Invocation, RpcResult},
    url::Url,
};

/// Takes calls.
///
/// One method serves all four call kinds: the body of an [`Invocation`] and of its reply says which sides are streams.
#[async_trait]
pub trait Invoker: Send + Sync + 'static {
    /// What it stands for: a provider, or the consumer of a reference.
    fn url(&self) -> &Url;

    /// Whether a call has a chance now.
    fn is_available(&self) -> bool {
        true
    }

    /// Whether it is not available yet only because its first attempt to connect is under way: a call waits for the end of
    /// it.
    fn is_connecting(&self) -> bool {
        false
    }

    /// Why a call has no chance now, for messages: which address or service it is, and what is wrong with it. `None` when
    /// a call has one, or when the invoker cannot tell.
    fn why_unavailable(&self) -> Option<String> {
        None
    }

    /// How many calls it is carrying.
    fn in_flight(&self) -> usize {
        0
    }

    /// Carries one call.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future cancels the call, on the wire too. A stream in the reply carries the call on: dropping it
    /// cancels.
    async fn invoke(&self, invocation: Invocation) -> RpcResult;

    /// Gives back what it holds: connections, subscriptions, tasks. Calls after this fail.
    ///
    /// Dropping it must do so, too: an application that drops its last client of a service closes nothing.
    async fn close(&self) {}
}
