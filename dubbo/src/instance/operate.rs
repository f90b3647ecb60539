//! What operators ask of an instance, by the port for them.

use std::{
    collections::HashSet,
    net::SocketAddr,
    sync::{Arc, Weak},
    time::Duration,
};

use dubbo_cluster::router::RouterSnapshots;
use dubbo_hessian2::{ClassPolicy, DecodeOptions};
use dubbo_protocol::qos::{self, Connection};
use futures_util::future::join_all;

use super::{Inner, Instance, export::application_name, probes::Probe, refer::Named};
use crate::{
    config::{Config, Told as _, Tree},
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

    /// Who is connected to the ports that services are served at.
    pub(crate) async fn connections(&self) -> Vec<Connection> {
        qos::connections(&self.0.extensions).await
    }

    /// What code says, key by key: the builder, and the options of services and clients. It counts more than all else.
    pub(crate) fn config_of_code(&self) -> Vec<(String, String)> {
        let inner = &self.0;
        let mut all = Vec::new();
        inner.code.tell("dubbo", &mut all);
        let mut names = HashSet::new();
        for provided in inner.reload.provided() {
            let service = &provided.service;
            let known = [service.implementation(), service.descriptor().interface()];
            let own = inner.code.provider.find(known);
            let name = own.map_or(known[0], |(name, _)| name);
            // As it is called among the services of the whole configuration.
            let mut unique = name.to_owned();
            let mut number = 1;
            while !names.insert(unique.clone()) {
                number += 1;
                unique = format!("{name} ({number})");
            }
            let path = format!("dubbo.provider.services.{unique}");
            provided.config.tell(&path, &mut all);
        }
        let running = inner.running.lock();
        for reference in running.references.iter().filter(|one| one.is_alive()) {
            if let Named::Type(client, options) = &reference.named {
                options.tell(&format!("dubbo.consumer.references.{client}"), &mut all);
            }
        }
        all
    }

    /// Which classes of hessian2 may become Rust types; all without it.
    pub(crate) fn class_policy(&self) -> Option<Arc<ClassPolicy>> {
        self.0.extensions.shared::<DecodeOptions>().classes.clone()
    }

    /// What records the ways of calls through the routers.
    pub(crate) fn router_snapshots(&self) -> Arc<RouterSnapshots> {
        self.0.extensions.shared()
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
