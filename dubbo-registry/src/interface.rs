//! Interface-level registration on any backend.

use std::sync::Arc;

use async_trait::async_trait;
use dubbo_core::{
    registry::{Registry, RegistryError, RegistrySnapshot},
    subscription::Subscription,
    url::{Url, UrlError},
};

use crate::{backend::Backend, layout::InterfaceLayout, reconcile::Reconciler};

pub(crate) struct InterfaceRegistry<B: Backend, L> {
    url: Url,
    _reconciler: Arc<Reconciler<B>>,
    _layout: L,
}

impl<B: Backend, L: InterfaceLayout<B::Value>> InterfaceRegistry<B, L> {
    pub(crate) fn new(
        url: Url,
        reconciler: Arc<Reconciler<B>>,
        layout: L,
    ) -> Result<Self, UrlError> {
        Ok(Self {
            url,
            _reconciler: reconciler,
            _layout: layout,
        })
    }
}

#[async_trait]
impl<B: Backend, L: InterfaceLayout<B::Value>> Registry for InterfaceRegistry<B, L> {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn register(&self, _url: &Url) -> Result<(), RegistryError> {
        Err(unfinished())
    }

    async fn unregister(&self, _url: &Url) -> Result<(), RegistryError> {
        Err(unfinished())
    }

    async fn lookup(&self, _consumer: &Url) -> Result<RegistrySnapshot, RegistryError> {
        Err(unfinished())
    }

    async fn subscribe(
        &self,
        _consumer: &Url,
    ) -> Result<Subscription<RegistrySnapshot>, RegistryError> {
        Err(unfinished())
    }

    async fn close(&self) {}
}

pub(crate) fn unfinished() -> RegistryError {
    RegistryError::new("work", "anywhere", "this commit is a skeleton").refused()
}
