//! A reference to one provider, as those see it who choose among several.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use arc_swap::ArcSwapOption;
use dubbo_core::{service::MethodRef, status::Status, url::Url};

use super::{
    call::{Counted, Place},
    link::Opener,
    slots::Endpoint,
};

/// What an invoker has beside its protocol: an address, the connections to it, and the calls under way.
pub(crate) struct Reference<O: Opener> {
    url: Url,
    address: Arc<str>,
    /// `None` once it is closed.
    endpoint: ArcSwapOption<Endpoint<O>>,
    calls: Arc<AtomicUsize>,
}

impl<O: Opener> Reference<O> {
    /// A reference to what `url` names, at `endpoint`.
    pub(crate) fn new(url: &Url, endpoint: Arc<Endpoint<O>>) -> Self {
        Self {
            url: url.clone(),
            address: Arc::clone(endpoint.address()),
            endpoint: ArcSwapOption::new(Some(endpoint)),
            calls: Arc::default(),
        }
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Whether a call has a chance.
    pub(crate) fn is_available(&self) -> bool {
        let endpoint = self.endpoint.load();
        endpoint
            .as_ref()
            .is_some_and(|endpoint| endpoint.is_available())
    }

    /// Whether its first attempts to connect are under way.
    pub(crate) fn is_connecting(&self) -> bool {
        let endpoint = self.endpoint.load();
        endpoint
            .as_ref()
            .is_some_and(|endpoint| endpoint.is_connecting())
    }

    /// Why a call has none, unless it has one.
    pub(crate) fn why_unavailable(&self) -> Option<String> {
        match &*self.endpoint.load() {
            Some(endpoint) => endpoint.why_unavailable(),
            None => Some(format!("the reference to {} has been closed", self.address)),
        }
    }

    /// Why a call should go elsewhere, when the provider has said so.
    pub(crate) fn closing(&self) -> String {
        format!("{} says that it is closing", self.address)
    }

    /// How many calls are under way.
    pub(crate) fn in_flight(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Counts a call, as long as what is returned lives.
    pub(crate) fn count_call(&self) -> Counted {
        Counted::one_more(&self.calls)
    }

    /// Where calls of `method` go.
    pub(crate) fn place(&self, method: &MethodRef) -> Place {
        Place {
            method: method.clone(),
            address: Arc::clone(&self.address),
        }
    }

    /// The connections.
    ///
    /// # Errors
    ///
    /// It has been closed.
    pub(crate) fn endpoint(&self) -> Result<Arc<Endpoint<O>>, Status> {
        self.endpoint
            .load_full()
            .ok_or_else(|| Status::unavailable("the reference has been closed").not_processed())
    }

    /// Takes no more calls. Those that are under way go on.
    pub(crate) fn close(&self) {
        self.endpoint.store(None);
    }
}

impl<O: Opener> fmt::Debug for Reference<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reference")
            .field("url", &self.url)
            .field("calls", &self.in_flight())
            .finish_non_exhaustive()
    }
}

/// Where `url` leads: to `default_port` unless it has one.
pub(crate) fn address(url: &Url, default_port: u16) -> String {
    match url.port() {
        Some(_) => url.address(),
        None => url.with_port(default_port).address(),
    }
}
