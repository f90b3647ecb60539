//! The addresses that a client is connected to.

use std::{
    collections::HashMap,
    fmt,
    hash::Hash,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{drivers::Drivers, link::Opener, slots::Endpoint};

/// The connections of one client, by address and by options of the kind `T`.
pub(crate) struct Pool<T, O: Opener> {
    endpoints: Mutex<HashMap<Shared<T>, Weak<Endpoint<O>>>>,
    drivers: Drivers,
}

/// What references have to agree on to share connections.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Shared<T> {
    address: Arc<str>,
    options: T,
}

impl<T: Eq + Hash, O: Opener> Pool<T, O> {
    /// Without connections.
    pub(crate) fn new() -> Self {
        Self {
            endpoints: Mutex::default(),
            drivers: Drivers::default(),
        }
    }

    /// Whether [`shut_down`](Self::shut_down) has been called.
    pub(crate) fn is_shut_down(&self) -> bool {
        self.drivers.is_shut_down()
    }

    /// The endpoint at `address`: one that somebody refers to already, or a new one of `size` connections, which starts to
    /// connect in the background on the runtime that this is called on.
    pub(crate) fn endpoint(
        &self,
        address: Arc<str>,
        options: T,
        size: usize,
        opener: impl FnOnce(Arc<str>) -> O,
    ) -> Arc<Endpoint<O>> {
        let place = Shared { address, options };
        let mut endpoints = self.endpoints.lock();
        endpoints.retain(|_, endpoint| endpoint.strong_count() > 0);
        if let Some(endpoint) = endpoints.get(&place).and_then(Weak::upgrade) {
            return endpoint;
        }
        let endpoint = Arc::new(Endpoint::start(
            size,
            opener(Arc::clone(&place.address)),
            self.drivers.clone(),
        ));
        endpoints.insert(place, Arc::downgrade(&endpoint));
        endpoint
    }

    /// Connects no more, waits until `deadline` for the calls under way, and ends those that are left: how many
    /// connections were cut with calls on them.
    pub(crate) async fn shut_down(&self, deadline: Instant) -> usize {
        for endpoint in self.endpoints.lock().values().filter_map(Weak::upgrade) {
            endpoint.close();
        }
        self.drivers.shut_down(deadline).await
    }
}

impl<T: fmt::Debug, O: Opener> fmt::Debug for Pool<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.endpoints.lock().keys())
            .finish()
    }
}
