//! Registries in directories of their own.

mod faults;
mod suite;

use std::{fs, path::PathBuf, sync::Arc};

use dubbo_core::url::Url;

use super::{client::FileClient, root, tree};
use crate::{interface::InterfaceRegistry, plain::Plain, reconcile::Reconciler};

/// A directory that is removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Arc<Self> {
        Arc::new(Self(
            std::env::temp_dir().join(format!("dubbo-{}", tree::unique())),
        ))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A registry in `directory`.
fn registry_in(directory: &Directory) -> InterfaceRegistry<FileClient, Plain> {
    let url = Url::new("file", directory.0.to_string_lossy());
    let client = Arc::new(FileClient::new(directory.0.clone()));
    let layout = Plain::of(&url);
    InterfaceRegistry::plain(url, Reconciler::new(client), layout)
}

#[test]
fn the_address_is_the_directory() {
    for (url, want) in [
        (Url::new("file", "/var/lib/registry"), "/var/lib/registry"),
        ("file://./registry".parse().expect("valid"), "./registry"),
        ("file://registry".parse().expect("valid"), "registry"),
        ("file://a/b/c".parse().expect("valid"), "a/b/c"),
    ] {
        assert_eq!(root(&url), PathBuf::from(want), "{url}");
    }
}
