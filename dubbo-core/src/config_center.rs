//! Where configuration and rules are kept outside the application.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{registry::RegistryError, subscription::Subscription, url::Url};

/// A store of texts under keys in groups. An empty text is a text, not an absence.
#[async_trait]
pub trait ConfigCenter: Send + Sync + 'static {
    /// The store's own URL.
    fn url(&self) -> &Url;

    /// Reads one text.
    async fn get(&self, key: &str, group: &str) -> Result<Option<Arc<str>>, RegistryError>;

    /// Writes one text.
    async fn publish(&self, key: &str, group: &str, content: &str) -> Result<(), RegistryError>;

    /// Follows one text.
    async fn watch(
        &self,
        key: &str,
        group: &str,
    ) -> Result<Subscription<Option<Arc<str>>>, RegistryError>;

    /// Takes away one text. One that is not there is gone.
    async fn remove(&self, key: &str, group: &str) -> Result<(), RegistryError>;

    /// Ends its subscriptions.
    async fn close(&self);
}
