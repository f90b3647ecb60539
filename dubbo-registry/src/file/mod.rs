//! `file`: a registry in a directory, in which the programs of one machine find each other with nothing installed.
//!
//! The address is the directory: `file:///var/lib/registry`, or relative to the working directory, `file://./registry`. It
//! is made if it is not there. It must be on a disk of the machine: networks do not keep locks.
//!
//! ```text
//! clients/{client}                               locked as long as the program lives
//! interfaces/{interface}/{category}/{client}     what the program shows there: a URL a line
//! applications/{application}/{client}            its instances, as URLs
//! texts/mapping/{interface}                      metadata, mappings, definitions and configuration
//! ```
//!
//! With the parameter `dubbo.config-center.dir`, a config center has its texts in that directory instead, each in a file
//! `{group}/{key}`, as dubbo-go has it: a place for documents that people write.
//!
//! A program that ends in whatever way gives up its lock, and then nobody sees what it has shown. Files are written beside
//! their place and moved there, so nobody reads half of one. Who follows something looks at it several times a second.
//! A directory that somebody removes is made again, and so is what stood in it. What is no file, or not for this program to
//! read, is left alone with a warning.

mod client;
mod life;
#[cfg(test)]
mod tests;
mod texts;
mod tree;
mod warnings;
mod watcher;

use std::{path::PathBuf, sync::Arc};

use dubbo_core::{
    extension::{BoxError, ExtensionContext},
    url::Url,
};

use self::client::FileClient;
use crate::{
    center::Center,
    clients::Clients,
    instances::Instances,
    interface::InterfaceRegistry,
    plain::{CONFIG_DIR, Plain},
    reconcile::Reconciler,
    report::Report,
};

/// What of the URL the plugins read, beside what all do.
pub(crate) const PARAMETERS: &[&str] = &[CONFIG_DIR, "group", "namespace"];

dubbo_core::extension!(dyn dubbo_core::registry::Registry, "file", |cx| Ok(
    Arc::new(InterfaceRegistry::new(
        cx.url.clone(),
        shared(cx)?,
        Plain::of(cx.url)
    )?)
));

dubbo_core::extension!(
    dyn dubbo_core::discovery::ServiceDiscovery,
    "file",
    |cx| Ok(Arc::new(Instances::new(
        cx.url.clone(),
        shared(cx)?,
        Plain::of(cx.url)
    )?))
);

dubbo_core::extension!(dyn dubbo_core::metadata::MetadataReport, "file", |cx| Ok(
    Arc::new(Report::new(
        cx.url.clone(),
        Arc::clone(shared(cx)?.backend()),
        Plain::of(cx.url)
    ))
));

dubbo_core::extension!(
    dyn dubbo_core::config_center::ConfigCenter,
    "file",
    |cx| Ok(Arc::new(Center::new(
        cx.url.clone(),
        Arc::clone(shared(cx)?.backend()),
        Plain::of(cx.url)
    )))
);

/// The one client that an instance has for a directory.
fn shared(cx: &ExtensionContext<'_>) -> Result<Arc<Reconciler<FileClient>>, BoxError> {
    let clients = cx.shared::<Clients<FileClient>>();
    let root = root(cx.url);
    let key = root.to_string_lossy().into_owned();
    clients.get(cx.url, key, || Ok(FileClient::new(root)))
}

/// The directory that `url` names: `file:///a/b`, `file://./a`, `file://a/b`.
fn root(url: &Url) -> PathBuf {
    match url.path() {
        "" => PathBuf::from(url.host()),
        path => PathBuf::from(format!("{}/{path}", url.host())),
    }
}
