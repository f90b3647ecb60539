//! What answers the requests of one connection.

use std::sync::Arc;

use dubbo_core::invocation::Peer;

use super::{budget::Budget, routes::Routes, settings::ServerSettings};
use crate::catalog::Catalog;

/// What answers the requests of one connection: what is served there, how, to whom, and what its requests may hold.
pub(super) struct Site {
    pub(super) catalog: Arc<Catalog<Routes>>,
    pub(super) settings: Arc<ServerSettings>,
    pub(super) peer: Arc<Peer>,
    pub(super) budget: Arc<Budget>,
}
