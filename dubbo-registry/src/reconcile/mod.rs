//! Keeping what was wished for fulfilled and what is followed up to date, for all backends alike.

use std::sync::Arc;

use crate::backend::Backend;

/// What the plugins of one client wish for and follow.
pub(crate) struct Reconciler<B: Backend> {
    backend: Arc<B>,
}

impl<B: Backend> Reconciler<B> {
    pub(crate) fn new(backend: Arc<B>) -> Arc<Self> {
        Arc::new(Self { backend })
    }

    pub(crate) fn backend(&self) -> &Arc<B> {
        &self.backend
    }
}
