//! What carries calls: one connection of HTTP/2, or several of HTTP/1.1 that are kept as one.

use std::sync::{Arc, atomic::AtomicBool};

use dubbo_core::invocation::Reply;

use super::{
    exchange::{Outgoing, Terms},
    failure::Failure,
    life::Life,
    replies::Keep,
};
use crate::endpoint::Link;

/// A link over which Triple's calls go.
pub(super) trait Carrier: Link + Sized {
    /// What is known about it.
    fn life(&self) -> &Life;

    /// Sends `call` and reads the answer: all of it, or its beginning when it is a stream. `sent` is set before a handler
    /// can have seen the call; `keep` lives on with the stream.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future cancels the call at the peer.
    fn carry(
        self: &Arc<Self>,
        call: &mut Outgoing,
        terms: &Terms,
        sent: &AtomicBool,
        keep: impl FnOnce() -> Keep + Send,
    ) -> impl Future<Output = Result<Reply, Failure>> + Send;
}
