//! The registry `nacos`: service discovery at both levels, metadata report and config center on Nacos 2.
//!
//! `docs/spec/registry.md` §3, §7 and §8.1 say what things are called there. The registry's URL is
//! `nacos://user:password@host:port`, with these parameters:
//!
//! | Parameter | Meaning | Default |
//! |---|---|---|
//! | `backup` | further servers: `host:port,host:port` | none |
//! | `namespace` | the namespace's id | the public one |
//! | `group` | the group of services, and of what a report keeps beside revisions and mappings | `DEFAULT_GROUP`; `dubbo` for definitions |
//! | `timeout` | how long a request may take | 5 s |
//! | `session` | how long a server may say nothing until all is begun anew on another connection | 15 s |
//! | `ttl` | how often what is registered and followed is compared with what it should be | 60 s |
//! | `enable-empty-protection` | whether the last list stays when nobody is left | `false` |
//! | `outage-grace` | how long those are kept who are missing after an outage | 30 s |
//! | `poll-interval` | how often the server is asked for what it does not tell by itself: new names of services, texts that come or go | 30 s |
//! | `compat-go33` | whether metadata also stands where dubbo-go before 3.3 looks for it | `true` |
//!
//! Port 8848 is taken where none is given; gRPC is 1000 above it. With a user and a password the client logs in over HTTP.
//! TLS, access keys and address servers are refused by name: what nacos-sdk as it is chosen here does not do. Everything
//! with the same servers, namespace, login and times shares one client.
//!
//! Nacos takes at most 1,024 characters of metadata for an instance. Parameters that consumers can do without are left out
//! of a longer one, the longest first, with a warning; see [`layout`].

mod backend;
mod client;
mod instance;
mod layout;

use std::sync::Arc;

use dubbo_core::{
    config_center::ConfigCenter,
    discovery::ServiceDiscovery,
    extension::{BoxError, ExtensionContext},
    metadata::MetadataReport,
    registry::Registry,
};

use self::{
    backend::Nacos,
    client::Options,
    layout::{Instances, Interfaces, Texts},
};
use crate::{clients::Clients, reconcile::Reconciler};

dubbo_core::extension!(dyn Registry, "nacos", |cx| {
    let layout = Interfaces::of_url(cx.url)?;
    let registry =
        crate::interface::InterfaceRegistry::new(cx.url.clone(), reconciler(cx)?, layout)?;
    Ok(Arc::new(registry))
});

dubbo_core::extension!(dyn ServiceDiscovery, "nacos", |cx| {
    let layout = Instances::of_url(cx.url)?;
    let instances = crate::instances::Instances::new(cx.url.clone(), reconciler(cx)?, layout)?;
    Ok(Arc::new(instances))
});

dubbo_core::extension!(dyn MetadataReport, "nacos", |cx| {
    let layout = Texts::of_url(cx.url)?;
    let store = Arc::clone(reconciler(cx)?.backend());
    Ok(Arc::new(crate::report::Report::new(
        cx.url.clone(),
        store,
        layout,
    )))
});

dubbo_core::extension!(dyn ConfigCenter, "nacos", |cx| {
    let layout = Texts::of_url(cx.url)?;
    let store = Arc::clone(reconciler(cx)?.backend());
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
    "group",
    "namespace",
    "poll-interval",
    "session",
    "timeout",
];

/// What all plugins of an instance share that have the same options.
fn reconciler(cx: &ExtensionContext<'_>) -> Result<Arc<Reconciler<Nacos>>, BoxError> {
    let options = Options::of_url(cx.url)?;
    let clients = cx.shared::<Clients<Nacos>>();
    clients.get(cx.url, options.key(), || Ok(Nacos::new(options.clone())))
}
