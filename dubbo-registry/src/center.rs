//! The config center on any store of texts.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dubbo_core::{
    config_center::ConfigCenter, registry::RegistryError, subscription::Subscription, url::Url,
};

use crate::{
    backend::{Text, TextStore},
    errors,
    layout::TextLayout,
    reconcile::Texts,
};

/// A [`ConfigCenter`] that writes and reads `L` in `S`.
pub(crate) struct Center<S: TextStore, L> {
    url: Url,
    texts: Texts<S>,
    layout: L,
}

impl<S: TextStore, L: TextLayout> Center<S, L> {
    /// The config center of `url` in `store`.
    pub(crate) fn new(url: Url, store: Arc<S>, layout: L) -> Self {
        Self {
            url,
            texts: Texts::new(store),
            layout,
        }
    }
}

#[async_trait]
impl<S: TextStore, L: TextLayout> ConfigCenter for Center<S, L> {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn get(&self, key: &str, group: &str) -> Result<Option<Arc<str>>, RegistryError> {
        let text = self.texts.first(&self.layout.config(key, group)).await;
        let text = text.map_err(|error| errors::during(name("read", key, group), error))?;
        Ok(text.map(|text| text.content))
    }

    async fn publish(&self, key: &str, group: &str, content: &str) -> Result<(), RegistryError> {
        let keys = self.layout.config(key, group);
        let put = self.texts.put(&keys, content).await;
        put.map_err(|error| errors::during(name("publish", key, group), error))
    }

    async fn watch(
        &self,
        key: &str,
        group: &str,
    ) -> Result<Subscription<Option<Arc<str>>>, RegistryError> {
        let keys = self.layout.config(key, group);
        let operation = name("follow", key, group);
        self.texts.subscribe(&keys, operation, first).await
    }

    async fn remove(&self, key: &str, group: &str) -> Result<(), RegistryError> {
        let removed = self.texts.remove(&self.layout.config(key, group)).await;
        removed.map_err(|error| errors::during(name("remove", key, group), error))
    }

    async fn close(&self) {
        self.texts.close().await;
    }
}

impl<S: TextStore, L> fmt::Debug for Center<S, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Center")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// The text that counts of those under several keys.
fn first(texts: &[Option<Text>]) -> Option<Arc<str>> {
    let text = texts.iter().flatten().next()?;
    Some(Arc::clone(&text.content))
}

fn name(operation: &str, key: &str, group: &str) -> String {
    format!("{operation} {key} of group {group}")
}
