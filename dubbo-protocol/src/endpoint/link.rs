//! One connection, as those see it who choose among several and keep them up.

use std::{pin::Pin, sync::Arc};

/// A connection that calls share.
pub(crate) trait Link: Send + Sync + 'static {
    /// Whether new calls may be sent on it.
    fn is_usable(&self) -> bool;

    /// Why it takes no calls for the time being, although it lives and may take calls again.
    fn pause(&self) -> Option<String> {
        None
    }

    /// How many calls it carries.
    fn in_flight(&self) -> usize;

    /// Takes no more calls from now on, for this reason; those under way go on.
    fn retire(&self, reason: String);

    /// Waits until it takes no more calls, and never will.
    fn retired(&self) -> impl Future<Output = ()> + Send;

    /// Why it takes no more calls, once that is known.
    fn reason(&self) -> Option<&str>;

    /// Whether it was worth having: it answered a call, or lasted.
    fn was_useful(&self) -> bool;
}

/// Opens connections to one address.
pub(crate) trait Opener: Send + Sync + 'static {
    /// What it opens.
    type Link: Link;

    /// The address, for messages.
    fn address(&self) -> &Arc<str>;

    /// Opens one connection, within the time that it has for that.
    ///
    /// # Errors
    ///
    /// The text says why there is none.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what it has opened.
    fn open(&self) -> impl Future<Output = Result<Opened<Self::Link>, String>> + Send;
}

/// A connection and what moves its bytes.
pub(crate) struct Opened<L> {
    pub(crate) link: Arc<L>,
    /// Runs until the connection has ended.
    pub(crate) driver: Pin<Box<dyn Future<Output = ()> + Send>>,
}
