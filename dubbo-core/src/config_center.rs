//! Where configuration and rules are kept outside the application.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{registry::RegistryError, subscription::Subscription};

/// A store of texts under keys in groups. An empty text is a text, not an absence.
#[async_trait]
pub trait ConfigCenter: Send + Sync + 'static {
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
}
