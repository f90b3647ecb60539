//! The registry `etcdv3`, also called `etcd`: service discovery at both levels, metadata report and config center on an
//! etcd cluster, from etcd 3.4 on.
//!
//! `docs/spec/registry.md` §4, §7 and §8.1 say where things stand. The registry's URL is
//! `etcdv3://user:password@host:port`, with these parameters:
//!
//! | Parameter | Meaning | Default |
//! |---|---|---|
//! | `backup` | further members: `host:port,host:port` | none |
//! | `group` | the prefix below which everything stands | `/dubbo`; `/services` for instances of applications |
//! | `session` | how long the members keep what a silent client shows, in whole seconds | 30 s |
//! | `timeout` | how long a request may take | 5 s |
//! | `ca-cert-file` | the authorities that the certificates of the members must come from, a PEM file; turns on TLS | none |
//! | `tls-cert-file`, `tls-key-file` | the own certificate and its key, PEM files, for members that ask for one | none |
//! | `tls-server-name` | the name that the certificates of the members must be of | the host of each |
//! | `ttl` | how often what is registered and followed is compared with what it should be | 60 s |
//! | `enable-empty-protection` | whether the last list stays when nobody is left | `false` |
//! | `outage-grace` | how long those are kept who are missing after an outage | 30 s |
//! | `compat-go33` | whether metadata also stands where dubbo-go 3.3 looks for it | `true` |
//! | `namespace`, `dubbo.config-center.root-path` | where the config center's texts stand: `/{namespace}/config`, or this | `/dubbo/config` |
//!
//! Without a port a member is asked at 2379. With a user the client logs in and logs in again when that has run out.
//! Everything with the same members, login, files and times shares one lease. dubbo-go does not look at `group` when it
//! follows interfaces (it does at `/dubbo`), nor for instances (`/services`): leave it alone where it is to find these.

mod backend;
mod client;
mod layout;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use dubbo_core::{
    config_center::ConfigCenter,
    discovery::ServiceDiscovery,
    extension::{BoxError, ExtensionContext},
    metadata::MetadataReport,
    registry::Registry,
};

use self::{backend::Cluster, client::Options, layout::Instances};
use crate::{
    clients::Clients,
    reconcile::Reconciler,
    tree::{Interfaces, Texts},
};

dubbo_core::extension!(dyn Registry, "etcdv3" | "etcd", |cx| {
    let layout = Interfaces::of_url(cx.url).with_plain_names();
    let registry =
        crate::interface::InterfaceRegistry::new(cx.url.clone(), reconciler(cx)?, layout)?;
    Ok(Arc::new(registry))
});

dubbo_core::extension!(dyn ServiceDiscovery, "etcdv3" | "etcd", |cx| {
    let layout = Instances::of_url(cx.url);
    let instances = crate::instances::Instances::new(cx.url.clone(), reconciler(cx)?, layout)?;
    Ok(Arc::new(instances))
});

dubbo_core::extension!(dyn MetadataReport, "etcdv3" | "etcd", |cx| {
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

dubbo_core::extension!(dyn ConfigCenter, "etcdv3" | "etcd", |cx| {
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
    "ca-cert-file",
    "compat-go33",
    "dubbo.config-center.root-path",
    "group",
    "namespace",
    "session",
    "timeout",
    "tls-cert-file",
    "tls-key-file",
    "tls-server-name",
];

/// What all plugins of an instance share that have the same options.
fn reconciler(cx: &ExtensionContext<'_>) -> Result<Arc<Reconciler<Cluster>>, BoxError> {
    let options = Options::of_url(cx.url)?;
    let clients = cx.shared::<Clients<Cluster>>();
    clients.get(cx.url, options.key(), || Ok(Cluster::new(options.clone())))
}
