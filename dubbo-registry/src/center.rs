//! The config center on any store of texts.

use std::sync::Arc;

use async_trait::async_trait;
use dubbo_core::{
    config_center::ConfigCenter, registry::RegistryError, subscription::Subscription, url::Url,
};

use crate::{backend::TextStore, interface::unfinished, layout::TextLayout};

pub(crate) struct Center<S, L> {
    url: Url,
    _store: Arc<S>,
    _layout: L,
}

impl<S: TextStore, L: TextLayout> Center<S, L> {
    pub(crate) fn new(url: Url, store: Arc<S>, layout: L) -> Self {
        Self {
            url,
            _store: store,
            _layout: layout,
        }
    }
}

#[async_trait]
impl<S: TextStore, L: TextLayout> ConfigCenter for Center<S, L> {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn get(&self, _key: &str, _group: &str) -> Result<Option<Arc<str>>, RegistryError> {
        Err(unfinished())
    }

    async fn publish(&self, _key: &str, _group: &str, _content: &str) -> Result<(), RegistryError> {
        Err(unfinished())
    }

    async fn watch(
        &self,
        _key: &str,
        _group: &str,
    ) -> Result<Subscription<Option<Arc<str>>>, RegistryError> {
        Err(unfinished())
    }

    async fn remove(&self, _key: &str, _group: &str) -> Result<(), RegistryError> {
        Err(unfinished())
    }

    async fn close(&self) {}
}
