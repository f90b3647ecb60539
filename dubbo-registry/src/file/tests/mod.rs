//! Registries in directories of their own.

mod faults;
mod suite;

use std::{fs, path::PathBuf, sync::Arc};

use dubbo_core::{config_center::ConfigCenter, extension::Extensions, url::Url};

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

#[tokio::test]
async fn documents_that_people_write_stand_in_a_folder_of_their_own() {
    let directory = Directory::new();
    let dir = directory.0.join("conf");
    fs::create_dir_all(dir.join("dubbo")).expect("writable");
    fs::write(dir.join("dubbo/order-center.yaml"), "dubbo: {}").expect("writable");
    let url = Url::new("file", directory.0.to_string_lossy())
        .with_param("dubbo.config-center.dir", dir.to_string_lossy());
    let extensions = Extensions::linked().expect("no duplicates");
    let center = extensions.create::<dyn ConfigCenter>("file", &url);
    let center = center.expect("is linked");
    let text = center
        .get("order-center.yaml", "dubbo")
        .await
        .expect("read");
    assert_eq!(text.as_deref(), Some("dubbo: {}"));
    assert_eq!(
        center.get("order-center.yaml", "g").await.expect("read"),
        None
    );

    let mut followed = center
        .watch("order-center.yaml", "dubbo")
        .await
        .expect("followed");
    followed.current();
    center
        .publish("order-center.yaml", "dubbo", "new")
        .await
        .expect("written");
    let written = fs::read_to_string(dir.join("dubbo/order-center.yaml"));
    assert_eq!(written.expect("is there"), "new");
    dubbo_test::soon("the news", async {
        while followed.current().state.ok().flatten().as_deref() != Some("new") {
            followed.changed().await.expect("open");
        }
    })
    .await;
    center.close().await;
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
