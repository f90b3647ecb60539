//! What operators ask of an instance, by the port for them.

use std::{
    net::SocketAddr,
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::future::join_all;

use super::{Inner, Instance, export::application_name, probes::Probe};
use crate::{
    config::{Config, Tree},
    error::Error,
};

/// An instance, as long as somebody else has it.
pub(crate) struct WeakInstance(Weak<Inner>);

impl WeakInstance {
    pub(super) fn of(inner: &Arc<Inner>) -> Self {
        Self(Arc::downgrade(inner))
    }

    pub(crate) fn upgrade(&self) -> Option<Instance> {
        self.0.upgrade().map(Instance)
    }
}

impl Instance {
    /// Where operators are listened to (`application.qos-enable`, `metrics.probe.enabled`), the ports never 0: empty before
    /// the first [`start`](Self::start) or [`refer`](Self::refer), and after the end.
    pub fn admin_addresses(&self) -> Vec<SocketAddr> {
        self.0.admin.addresses()
    }

    pub(crate) fn application(&self) -> String {
        application_name(&self.0.config).to_owned()
    }

    pub(crate) fn config(&self) -> &Config {
        &self.0.config
    }

    /// What files, config center and environment say.
    pub(crate) fn config_tree(&self) -> Arc<Tree> {
        self.0.tree.load_full()
    }

    pub(crate) async fn probe(&self, probe: Probe) -> Result<(), String> {
        self.0.probe(probe).await
    }

    /// Begins the end, unless it has begun.
    pub(crate) fn begin_shutdown(&self, grace: Duration) {
        self.0.begin_end(grace);
    }

    /// Tells the consumers that are connected to choose others.
    pub(crate) async fn announce_shutdown(&self) {
        let protocols = self.0.protocols.values();
        join_all(protocols.map(|protocol| protocol.announce_shutdown())).await;
    }

    /// Tells anew the registries that know the application: how many there are.
    pub(crate) async fn publish_metadata(&self) -> Result<usize, Error> {
        self.0.publish_metadata().await
    }

    /// The same after `delay`, in the background.
    pub(crate) fn publish_metadata_after(&self, delay: Duration) {
        let inner = Arc::downgrade(&self.0);
        self.0.last_tasks.lock().spawn(async move {
            tokio::time::sleep(delay).await;
            let Some(inner) = inner.upgrade() else {
                return;
            };
            match inner.publish_metadata().await {
                Ok(registries) => tracing::info!(registries, "metadata was published, as an operator asked for"),
                Err(error) => tracing::warn!(%error, "metadata could not be published, as an operator asked for"),
            }
        });
    }
}

impl Inner {
    async fn publish_metadata(&self) -> Result<usize, Error> {
        let _turn = self.presence.turn().await;
        let told = self.running.lock().applications.clone();
        for index in &told {
            self.registries.get(*index).register_application().await?;
        }
        self.definitions.publish();
        Ok(told.len())
    }
}
