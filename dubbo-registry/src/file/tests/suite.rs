//! What every registry, discovery, report and config center does, `file` does.

use std::{
    fs,
    sync::{Arc, Weak},
};

use dubbo_core::url::Url;
use dubbo_test::suite::{Hook, Hooks, Look, Subject};
use parking_lot::Mutex;

use super::Directory;
use crate::{
    center::Center,
    file::client::{FileClient, Shared},
    instances::Instances,
    interface::InterfaceRegistry,
    plain::Plain,
    reconcile::Reconciler,
    report::Report,
};

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
