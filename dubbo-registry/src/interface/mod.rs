//! Interface-level registration on any backend.

mod merge;
mod snapshot;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dubbo_core::{
    registry::{Registry, RegistryError, RegistrySnapshot},
    subscription::Subscription,
    url::{Url, UrlError},
};

use self::merge::Listing;
use crate::{
    backend::{Backend, Entry, Place},
    errors, keys,
    layout::InterfaceLayout,
    matching::Category,
    reconcile::{Handle, Reconciler},
};

/// A [`Registry`] that writes and reads `L` on `B`.
pub(crate) struct InterfaceRegistry<B: Backend, L> {
    url: Url,
    handle: Handle<B>,
    layout: Arc<L>,
    /// Whether the last providers stay when the registry lists none any more.
    keeps_last: bool,
}

impl<B: Backend, L: InterfaceLayout<B::Value>> InterfaceRegistry<B, L> {
    /// The registry of `url` on the client of `reconciler`.
    ///
    /// # Errors
    ///
    /// A parameter of `url` cannot be read.
    pub(crate) fn new(
        url: Url,
        reconciler: Arc<Reconciler<B>>,
        layout: L,
    ) -> Result<Self, UrlError> {
        let keeps_last = url.get(&keys::EMPTY_PROTECTION)?;
        Ok(Self {
            keeps_last,
            ..Self::plain(url, reconciler, layout)
        })
    }

    /// As [`new`](Self::new), without a look at the parameters of `url`.
    pub(crate) fn plain(url: Url, reconciler: Arc<Reconciler<B>>, layout: L) -> Self {
        Self {
            url,
            handle: Handle::new(reconciler),
            layout: Arc::new(layout),
            keeps_last: false,
        }
    }

    /// Whether `operation` on `url` makes sense at all.
    fn check(&self, operation: &str, url: &Url) -> Result<(), RegistryError> {
        self.handle.open(|| format!("{operation} {url:?}"))?;
        if url.service_key().interface().is_empty() {
            return Err(self.refuse(operation, url, "it names no interface"));
        }
        Ok(())
    }

    /// Where `url` stands and how, for `operation` on it.
    fn write(&self, operation: &str, url: &Url) -> Result<Written<B::Value>, RegistryError> {
        self.check(operation, url)?;
        let ends_early = |(key, value): &(&str, &str)| key.contains(';') || value.contains(';');
        if let Some((key, _)) = url.params().find(ends_early) {
            let reason = format!(
                "its parameter `{key}` has a `;` in it, at which other frameworks end a parameter; leave it out"
            );
            return Err(self.refuse(operation, url, reason));
        }
        let category = Category::of(url);
        let category = category.map_err(|error| self.refuse(operation, url, error.to_string()))?;
        let written = self.layout.write(url, category);
        written.map_err(|error| errors::during(format!("{operation} {url:?}"), error))
    }

    fn refuse(&self, operation: &str, url: &Url, reason: impl Into<String>) -> RegistryError {
        let operation = format!("{operation} {url:?}");
        RegistryError::new(operation, self.handle.address(), reason).refused()
    }
}

/// Where something stands and how, in each of its spellings.
type Written<V> = Vec<(Place, Entry<V>)>;

#[async_trait]
impl<B: Backend, L: InterfaceLayout<B::Value>> Registry for InterfaceRegistry<B, L> {
    fn url(&self) -> &Url {
        &self.url
    }

    fn trouble(&self) -> Option<Arc<RegistryError>> {
        self.handle.trouble()
    }

    async fn register(&self, url: &Url) -> Result<(), RegistryError> {
        let written = self.write("register", url)?;
        // All wishes are made before any is waited for: a dropped future leaves them all.
        let waiting: Vec<_> = written
            .iter()
            .map(|(place, entry)| self.handle.show(place, entry.clone()))
            .collect();
        let operation = || format!("register {url:?}");
        for waiting in waiting {
            if let Err(error) = errors::fulfilled(&self.handle, operation, waiting).await {
                // Not in one spelling and missing in the other.
                for (place, entry) in &written {
                    self.handle.hide(place, &entry.id);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    async fn unregister(&self, url: &Url) -> Result<(), RegistryError> {
        let written = self.write("unregister", url)?;
        let gone: Vec<_> = written
            .iter()
            .filter_map(|(place, entry)| self.handle.hide(place, &entry.id))
            .collect();
        for gone in gone {
            errors::gone(&self.handle, || format!("unregister {url:?}"), gone).await?;
        }
        Ok(())
    }

    async fn lookup(&self, consumer: &Url) -> Result<RegistrySnapshot, RegistryError> {
        self.check("look up", consumer)?;
        let reading = merge::read_once(self.handle.reconciler(), &*self.layout, consumer).await;
        reading.map_err(|error| errors::during(format!("look up {consumer:?}"), error))
    }

    async fn subscribe(
        &self,
        consumer: &Url,
    ) -> Result<Subscription<RegistrySnapshot>, RegistryError> {
        self.check("subscribe to", consumer)?;
        let listing = Listing::new(
            Arc::clone(self.handle.reconciler()),
            Arc::clone(&self.layout),
            consumer.clone(),
            self.keeps_last,
        );
        Ok(self.handle.view(listing).await)
    }

    async fn close(&self) {
        self.handle.close().await;
    }
}

impl<B: Backend, L> fmt::Debug for InterfaceRegistry<B, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InterfaceRegistry")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}
