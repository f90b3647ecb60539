//! One client for each server, shared by the plugins of an instance.

use std::{collections::BTreeMap, fmt, sync::Arc};

use parking_lot::Mutex;

use crate::{backend::Backend, reconcile::Reconciler};

/// The clients of one kind that an instance has, by what tells them apart: addresses, namespace, credentials, options.
///
/// Plugins ask for it with `cx.shared::<Clients<MyClient>>()`.
pub(crate) struct Clients<C: Backend>(Mutex<BTreeMap<String, Arc<Reconciler<C>>>>);

impl<C: Backend> Clients<C> {
    /// The client under `key`, made by `make` if there is none that is still of use.
    pub(crate) fn get<E>(
        &self,
        key: impl Into<String>,
        make: impl FnOnce() -> Result<C, E>,
    ) -> Result<Arc<Reconciler<C>>, E> {
        let key = key.into();
        let mut clients = self.0.lock();
        if let Some(found) = clients.get(&key)
            && !found.backend().users().are_gone()
        {
            return Ok(Arc::clone(found));
        }
        let new = Reconciler::new(Arc::new(make()?));
        clients.insert(key, Arc::clone(&new));
        Ok(new)
    }
}

impl<C: Backend> Default for Clients<C> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<C: Backend> fmt::Debug for Clients<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The keys have passwords in them.
        write!(f, "{} clients", self.0.lock().len())
    }
}
