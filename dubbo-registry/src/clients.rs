//! One client for each server, shared by the plugins of an instance.

use std::{collections::BTreeMap, fmt, sync::Arc};

use dubbo_core::{extension::BoxError, url::Url};
use parking_lot::Mutex;

use crate::{backend::Backend, keys, reconcile::Reconciler};

/// The clients of one kind that an instance has, by what tells them apart: addresses, namespace, credentials, options.
///
/// Plugins ask for it with `cx.shared::<Clients<MyClient>>()`.
pub(crate) struct Clients<C: Backend>(Mutex<BTreeMap<String, Arc<Reconciler<C>>>>);

impl<C: Backend> Clients<C> {
    /// The client under `key` for the plugin of `url`, made by `make` if there is none that is still of use.
    ///
    /// # Errors
    ///
    /// That of `make`, or a parameter that all kinds of registries have makes no sense.
    pub(crate) fn get(
        &self,
        url: &Url,
        key: impl Into<String>,
        make: impl FnOnce() -> Result<C, BoxError>,
    ) -> Result<Arc<Reconciler<C>>, BoxError> {
        let (ttl, grace) = (keys::ttl(url)?, keys::outage_grace(url)?);
        let found = self.find(key.into(), make)?;
        let users = found.backend().users();
        if let Some(ttl) = ttl {
            users.want_poll(ttl);
        }
        if let Some(grace) = grace {
            users.want_grace(grace);
        }
        Ok(found)
    }

    fn find(
        &self,
        key: String,
        make: impl FnOnce() -> Result<C, BoxError>,
    ) -> Result<Arc<Reconciler<C>>, BoxError> {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{backend::Client as _, memory::MemoryClient};

    #[test]
    fn the_longest_grace_of_those_who_share_a_client_counts() {
        let clients: Clients<MemoryClient> = Clients::default();
        for (url, want) in [
            ("memory://a", None),
            ("memory://a?outage-grace=20s", Some(20)),
            ("memory://a?outage-grace=40s", Some(40)),
            ("memory://a?outage-grace=0", Some(40)),
            ("memory://b?outage-grace=0", Some(0)),
        ] {
            let url: Url = url.parse().expect("valid");
            let make = || Ok(MemoryClient::new(&url, Arc::default()));
            let found = clients.get(&url, url.address(), make).expect("makes sense");
            let grace = found.backend().users().grace();
            assert_eq!(grace, want.map(Duration::from_secs), "{url}");
        }
    }

    #[test]
    fn the_shortest_ttl_of_those_who_share_a_client_counts() {
        let clients: Clients<MemoryClient> = Clients::default();
        let get = |text: &str| {
            let url: Url = text.parse().expect("valid");
            let make = || Ok(MemoryClient::new(&url, Arc::default()));
            let found = clients.get(&url, url.address(), make)?;
            Ok::<_, BoxError>(found.backend().users().poll())
        };
        for (url, want) in [
            ("memory://a", None),
            ("memory://a?ttl=900000", Some(900)),
            ("memory://a?ttl=20000", Some(20)),
            ("memory://a?ttl=30000", Some(20)),
            ("memory://a", Some(20)),
            ("memory://b", None),
        ] {
            let poll = get(url).expect("makes sense");
            assert_eq!(poll, want.map(Duration::from_secs), "{url}");
        }
        let error = get("memory://a?outage-grace=25h").expect_err("is refused");
        assert!(error.to_string().contains("`outage-grace`"), "{error}");
        let error = get("memory://a?ttl=0").expect_err("is refused");
        assert!(error.to_string().contains("`ttl` is 0ns"), "{error}");
    }
}
