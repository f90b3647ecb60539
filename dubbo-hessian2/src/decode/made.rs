//! The shared things that were made of containers, so that references to them give the same thing.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::Arc,
};

use crate::value::{BackCell, Container};

/// By the number of a container: the [`Value`](crate::Value) and the [`Shared`](crate::Shared) that it became.
#[derive(Default)]
pub(super) struct Made {
    values: Vec<Option<MadeValue>>,
    handles: HashMap<(usize, TypeId), Box<dyn Any + Send + Sync>>,
}

/// A [`Value`](crate::Value) of a container.
#[derive(Clone)]
pub(super) enum MadeValue {
    Done(Container),
    /// Being read; the cell is there once something inside refers to it.
    Open(Option<Arc<BackCell>>),
}

impl Made {
    pub(super) fn value(&self, index: usize) -> Option<&MadeValue> {
        self.values.get(index)?.as_ref()
    }

    pub(super) fn begin(&mut self, index: usize) {
        if self.values.len() <= index {
            self.values.resize(index + 1, None);
        }
        self.values[index] = Some(MadeValue::Open(None));
    }

    pub(super) fn end(&mut self, index: usize, container: &Container) {
        let made = Some(MadeValue::Done(container.clone()));
        if let Some(MadeValue::Open(Some(cell))) = std::mem::replace(&mut self.values[index], made)
        {
            cell.fill(container);
        }
    }

    /// The cell for references to a container that is being read.
    pub(super) fn back(&mut self, index: usize) -> Option<Arc<BackCell>> {
        match self.values.get_mut(index)?.as_mut()? {
            MadeValue::Open(cell) => Some(Arc::clone(cell.get_or_insert_default())),
            MadeValue::Done(_) => None,
        }
    }

    pub(super) fn handle<T: Any + Clone>(&self, index: usize) -> Option<T> {
        self.handles
            .get(&(index, TypeId::of::<T>()))?
            .downcast_ref()
            .cloned()
    }

    pub(super) fn set_handle<T: Any + Send + Sync>(&mut self, index: usize, handle: T) {
        self.handles
            .insert((index, TypeId::of::<T>()), Box::new(handle));
    }
}

impl fmt::Debug for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Made")
            .field("values", &self.values.len())
            .field("handles", &self.handles.len())
            .finish()
    }
}
