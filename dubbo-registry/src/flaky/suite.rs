//! What every registry, discovery, report and config center does is done on a bad connection too.

use std::sync::{Arc, Weak};

use dubbo_core::url::Url;
use dubbo_test::suite::{Hook, Hooks, Look, Subject};
use parking_lot::Mutex;

use super::Flaky;
use crate::{
    backend::Timing, center::Center, instances::Instances, interface::InterfaceRegistry,
    memory::Store, plain::Plain, reconcile::Reconciler, report::Report,
};

/// A subject of handles on one store, which `handle` makes of an address, a client and a layout.
fn subject<T: ?Sized + 'static>(handle: fn(Url, Arc<Flaky>, Plain) -> Arc<T>) -> Subject<T> {
    let store: Arc<Store> = Arc::default();
    let clients: Arc<Mutex<Vec<Weak<Flaky>>>> = Arc::default();
    let each = {
        let clients = Arc::clone(&clients);
        move |fault: fn(&Flaky)| {
            clients
                .lock()
                .iter()
                .filter_map(Weak::upgrade)
                .for_each(|c| fault(&c));
        }
    };
    let (drops, expires, restarts) = (each.clone(), each.clone(), each);
    let watched = Arc::clone(&store);
    let hooks = Hooks {
        drop_connections: Hook::new(move || {
            drops(Flaky::lose);
            drops(Flaky::reconnect);
            std::future::ready(())
        }),
        expire: Hook::new(move || {
            expires(Flaky::renew);
            std::future::ready(())
        }),
        restart: Hook::new(move || {
            restarts(Flaky::lose);
            let restarts = restarts.clone();
            async move {
                tokio::time::sleep(std::time::Duration::from_mins(1)).await;
                restarts(Flaky::renew);
            }
        }),
        watches: Look::new(move || watched.watchers()),
        ..Hooks::none("everything can be done to it")
    };
    Subject::new(hooks, move |group| {
        let client = Flaky::new(&store, Timing::default());
        clients.lock().push(Arc::downgrade(&client));
        let url = Url::new("flaky", "suite").with_param("group", group);
        let layout = Plain::of(&url);
        handle(url, client, layout)
    })
}

mod registry {
    use super::*;

    dubbo_test::registry_suite! {
        [#[tokio::test(start_paused = true)]]
        subject(|url, client, layout| {
            Arc::new(InterfaceRegistry::plain(url, Reconciler::new(client), layout))
        })
    }
}

mod discovery {
    use super::*;

    dubbo_test::discovery_suite! {
        [#[tokio::test(start_paused = true)]]
        subject(|url, client, layout| {
            Arc::new(Instances::plain(url, Reconciler::new(client), layout))
        })
    }
}

mod report {
    use super::*;

    dubbo_test::report_suite! {
        [#[tokio::test(start_paused = true)]]
        subject(|url, client, layout| Arc::new(Report::new(url, client, layout)))
    }
}

mod center {
    use super::*;

    dubbo_test::center_suite! {
        [#[tokio::test(start_paused = true)]]
        subject(|url, client, layout| Arc::new(Center::new(url, client, layout)))
    }
}
