//! The metadata report on any store of texts.

use std::{sync::Arc, time::SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use dubbo_core::{
    metadata::{CasOutcome, Mapping, MetadataReport, Ticket},
    registry::RegistryError,
    subscription::Subscription,
    url::Url,
};

use crate::{backend::TextStore, interface::unfinished, layout::TextLayout};

pub(crate) struct Report<S, L> {
    url: Url,
    _store: Arc<S>,
    _layout: L,
}

impl<S: TextStore, L: TextLayout> Report<S, L> {
    pub(crate) fn new(url: Url, store: Arc<S>, layout: L) -> Self {
        Self {
            url,
            _store: store,
            _layout: layout,
        }
    }
}

#[async_trait]
impl<S: TextStore, L: TextLayout> MetadataReport for Report<S, L> {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn app(
        &self,
        _application: &str,
        _revision: &str,
    ) -> Result<Option<Bytes>, RegistryError> {
        Err(unfinished())
    }

    async fn publish_app(
        &self,
        _application: &str,
        _revision: &str,
        _metadata: Bytes,
    ) -> Result<(), RegistryError> {
        Err(unfinished())
    }

    async fn remove_app(&self, _application: &str, _revision: &str) -> Result<(), RegistryError> {
        Err(unfinished())
    }

    async fn list_app(
        &self,
        _application: &str,
    ) -> Result<Vec<(String, Option<SystemTime>)>, RegistryError> {
        Err(unfinished())
    }

    async fn mapping(&self, _interface: &str) -> Result<(Mapping, Ticket), RegistryError> {
        Err(unfinished())
    }

    async fn cas_mapping(
        &self,
        _interface: &str,
        _mapping: &Mapping,
        _ticket: Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        Err(unfinished())
    }

    async fn watch_mapping(
        &self,
        _interface: &str,
    ) -> Result<Subscription<Arc<Mapping>>, RegistryError> {
        Err(unfinished())
    }

    async fn store_definition(&self, _id: &str, _definition: Bytes) -> Result<(), RegistryError> {
        Err(unfinished())
    }

    async fn definition(&self, _id: &str) -> Result<Option<Bytes>, RegistryError> {
        Err(unfinished())
    }

    async fn close(&self) {}
}
