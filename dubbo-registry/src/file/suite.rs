//! What every registry, discovery, report and config center does, `file` does.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Weak},
};

use dubbo_core::{registry::Registry as _, url::Url};
use dubbo_test::suite::{Hook, Hooks, Look, Subject};
use parking_lot::Mutex;

use super::{
    client::{FileClient, Shared},
    tree,
};
use crate::{
    center::Center, instances::Instances, interface::InterfaceRegistry, plain::Plain,
    reconcile::Reconciler, report::Report,
};

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

/// A subject of handles on one directory, which `handle` makes of an address, a client and a layout.
fn subject<T: ?Sized + 'static>(handle: fn(Url, Arc<FileClient>, Plain) -> Arc<T>) -> Subject<T> {
    let directory = Directory::new();
    let clients: Arc<Mutex<Vec<Weak<Shared>>>> = Arc::default();
    let removes = |of: &[&'static str]| {
        let folders: Vec<_> = of.iter().map(|name| directory.0.join(name)).collect();
        Hook::new(move || {
            for folder in &folders {
                // Programs may write into it meanwhile.
                while folder.exists() && fs::remove_dir_all(folder).is_err() {}
            }
            std::future::ready(())
        })
    };
    let hooks = Hooks {
        drop_connections: Hook::cannot("there are no connections to a directory"),
        expire: removes(&["clients"]),
        restart: removes(&["clients", "interfaces", "applications", "in"]),
        watches: Look::new({
            let clients = Arc::clone(&clients);
            move || {
                let clients = clients.lock();
                let alive = clients.iter().filter_map(Weak::upgrade);
                alive.map(|shared| shared.watcher.count()).sum()
            }
        }),
        ..Hooks::none("not set")
    };
    Subject::new(hooks, move |group| {
        let client = FileClient::new(directory.0.clone());
        clients.lock().push(client.shared());
        let url = Url::new("file", directory.0.to_string_lossy()).with_param("group", group);
        let layout = Plain::of(&url);
        handle(url, Arc::new(client), layout)
    })
}

mod registry {
    use super::*;

    dubbo_test::registry_suite! {
        subject(|url, client, layout| {
            Arc::new(InterfaceRegistry::plain(url, Reconciler::new(client), layout))
        })
    }
}

mod discovery {
    use super::*;

    dubbo_test::discovery_suite! {
        subject(|url, client, layout| {
            Arc::new(Instances::plain(url, Reconciler::new(client), layout))
        })
    }
}

mod report {
    use super::*;

    dubbo_test::report_suite! {
        subject(|url, client, layout| Arc::new(Report::new(url, client, layout)))
    }
}

mod center {
    use super::*;

    dubbo_test::center_suite! {
        subject(|url, client, layout| Arc::new(Center::new(url, client, layout)))
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
async fn what_is_broken_hides_nothing_and_what_is_dead_is_cleared_away() {
    let directory = Directory::new();
    let registry = registry_in(&directory);
    let provider: Url = "tri://h:1/a.B?interface=a.B".parse().expect("valid");
    registry.register(&provider).await.expect("registers");
    let folder = directory.0.join("interfaces/a.B/providers");
    let name = fs::read_dir(&folder)
        .expect("is there")
        .next()
        .expect("one file")
        .expect("readable")
        .file_name();
    let lines = format!("{provider}\nno url at all\n\u{0}\n");
    fs::write(folder.join(&name), lines).expect("written");
    fs::write(folder.join("1-2-3"), "tri://dead:1/a.B\n").expect("written");
    let consumer: Url = "consumer://c/a.B".parse().expect("valid");
    let found = registry.lookup(&consumer).await.expect("looks up");
    assert_eq!(*found.providers, [provider]);
    assert!(!folder.join("1-2-3").exists());
    registry.close().await;
    assert!(!directory.0.join("interfaces").exists(), "nothing is left");
}

#[tokio::test]
async fn a_directory_that_cannot_be_used_is_an_error_and_no_empty_list() {
    let directory = Directory::new();
    fs::write(&directory.0, "a file").expect("written");
    let registry = registry_in(&directory);
    let consumer: Url = "consumer://c/a.B".parse().expect("valid");
    let mut subscription = registry.subscribe(&consumer).await.expect("subscribes");
    let error = subscription.current().state.expect_err("cannot be used");
    let text = error.to_string();
    assert!(text.starts_with("use the directory at file://"), "{text}");
    fs::remove_file(&directory.0).expect("removed");
    dubbo_test::soon("a list", async {
        while subscription.current().state.is_err() {
            subscription.changed().await.expect("goes on");
        }
    })
    .await;
}
