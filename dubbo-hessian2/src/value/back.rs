//! References to a container that encloses them.

use std::sync::{Arc, OnceLock};

use super::{
    Value,
    nodes::{Container, WeakContainer},
};

/// A reference to a container that encloses it: what closes a cycle, without keeping it alive.
#[derive(Clone)]
pub struct Back(Arc<BackCell>);

/// Where a container is, once it was read to its end.
#[derive(Default)]
pub(crate) struct BackCell(OnceLock<WeakContainer>);

impl Back {
    pub(crate) fn new(cell: Arc<BackCell>) -> Self {
        Self(cell)
    }

    /// The container, unless it was dropped: a part of a cyclic value does not keep the whole.
    pub fn target(&self) -> Option<Value> {
        self.0
            .0
            .get()
            .and_then(WeakContainer::upgrade)
            .map(Value::from)
    }
}

impl BackCell {
    pub(crate) fn fill(&self, container: &Container) {
        // Each container is completed once, and fills its own cell then.
        let _ = self.0.set(container.downgrade());
    }
}
