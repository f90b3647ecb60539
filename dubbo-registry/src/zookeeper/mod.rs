//! The registry `zookeeper`: service discovery at both levels, metadata report and config center on a ZooKeeper ensemble.
//!
//! `docs/spec/registry.md` §2, §7 and §8.1 say where things stand. The registry's URL is
//! `zookeeper://user:password@host:port`, with these parameters:
//!
//! | Parameter | Meaning | Default |
//! |---|---|---|
//! | `backup` | further servers: `host:port,host:port` | none |
//! | `group` | the node below which everything stands | `/dubbo`; `/services` for instances of applications |
//! | `session` | how long the servers keep what a silent client shows | 60 s |
//! | `timeout` | how long a request may take, and how long a server may be silent | 5 s |
//! | `jute.maxbuffer` | the most bytes of a request, as the servers are set up | 1048575 |
//! | `ttl` | how often what is registered and followed is compared with what it should be | 60 s |
//! | `enable-empty-protection` | whether the last list stays when nobody is left | `false` |
//! | `outage-grace` | how long those are kept who are missing after an outage | 30 s |
//! | `compat-go33` | whether metadata also stands where dubbo-go 3.3 looks for it | `true` |
//! | `namespace`, `dubbo.config-center.root-path` | where the config center's texts stand: `/{namespace}/config`, or this | `/dubbo/config` |
//!
//! With a user or a password the client logs in by `digest`, and nodes it makes can be read and written by that user
//! alone. Everything with the same servers, login and times shares one session.

mod backend;
mod client;
mod layout;

use std::sync::Arc;

use dubbo_core::{
    config_center::ConfigCenter,
    discovery::ServiceDiscovery,
    extension::{BoxError, ExtensionContext},
    metadata::MetadataReport,
    registry::Registry,
};

use self::{backend::Ensemble, client::Options, layout::Instances};
use crate::{
    clients::Clients,
    reconcile::Reconciler,
    tree::{Interfaces, Texts},
};

dubbo_core::extension!(dyn Registry, "zookeeper", |cx| {
    let layout = Interfaces::of_url(cx.url);
    let registry =
        crate::interface::InterfaceRegistry::new(cx.url.clone(), reconciler(cx)?, layout)?;
    Ok(Arc::new(registry))
});

dubbo_core::extension!(dyn ServiceDiscovery, "zookeeper", |cx| {
    let layout = Instances::of_url(cx.url);
    let instances = crate::instances::Instances::new(cx.url.clone(), reconciler(cx)?, layout)?;
    Ok(Arc::new(instances))
});

dubbo_core::extension!(dyn MetadataReport, "zookeeper", |cx| {
    let (store, layout) = (
        Arc::clone(reconciler(cx)?.backend()),
        Texts::of_url(cx.url)?,
    );
    Ok(Arc::new(crate::report::Report::new(
        cx.url.clone(),
        store,
        layout,
    )))
});

dubbo_core::extension!(dyn ConfigCenter, "zookeeper", |cx| {
    let (store, layout) = (
        Arc::clone(reconciler(cx)?.backend()),
        Texts::of_url(cx.url)?,
    );
    Ok(Arc::new(crate::center::Center::new(
        cx.url.clone(),
        store,
        layout,
    )))
});

/// What of the URL the plugins read, beside what all do.
pub(crate) const PARAMETERS: &[&str] = &[
    "backup",
    "compat-go33",
    "dubbo.config-center.root-path",
    "group",
    "jute.maxbuffer",
    "namespace",
    "session",
    "timeout",
];

/// What all plugins of an instance share that have the same options.
fn reconciler(cx: &ExtensionContext<'_>) -> Result<Arc<Reconciler<Ensemble>>, BoxError> {
    let options = Options::of_url(cx.url)?;
    let clients = cx.shared::<Clients<Ensemble>>();
    clients.get(cx.url, options.key(), || Ok(Ensemble::new(options.clone())))
}
