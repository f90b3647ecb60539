//! Application-level discovery on any backend.

use std::sync::Arc;

use async_trait::async_trait;
use dubbo_core::{
    discovery::{ServiceDiscovery, ServiceInstance},
    registry::RegistryError,
    subscription::Subscription,
    url::{Url, UrlError},
};

use crate::{
    backend::Backend, interface::unfinished, layout::InstanceLayout, reconcile::Reconciler,
};

pub(crate) struct Instances<B: Backend, L> {
    url: Url,
    _reconciler: Arc<Reconciler<B>>,
    _layout: L,
}

impl<B: Backend, L: InstanceLayout<B::Value>> Instances<B, L> {
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
impl<B: Backend, L: InstanceLayout<B::Value>> ServiceDiscovery for Instances<B, L> {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn register(&self, _instance: &ServiceInstance) -> Result<(), RegistryError> {
        Err(unfinished())
    }

    async fn update(
        &self,
        _old: &ServiceInstance,
        _new: &ServiceInstance,
    ) -> Result<(), RegistryError> {
        Err(unfinished())
    }

    async fn unregister(&self, _instance: &ServiceInstance) -> Result<(), RegistryError> {
        Err(unfinished())
    }

    async fn snapshot(&self, _application: &str) -> Result<Arc<[ServiceInstance]>, RegistryError> {
        Err(unfinished())
    }

    async fn watch(
        &self,
        _application: &str,
    ) -> Result<Subscription<Arc<[ServiceInstance]>>, RegistryError> {
        Err(unfinished())
    }

    async fn close(&self) {}
}
