//! What every registry, discovery, report and config center does, `memory` does.

use std::sync::Arc;

use dubbo_core::url::Url;
use dubbo_test::suite::{Hooks, Look, Subject};

use super::{MemoryRegistry, Store};

/// A subject of handles on one store, which `handle` makes.
fn subject<T: ?Sized + 'static>(handle: fn(MemoryRegistry) -> Arc<T>) -> Subject<T> {
    let store: Arc<Store> = Arc::default();
    let watched = Arc::clone(&store);
    let hooks = Hooks {
        watches: Look::new(move || watched.watchers()),
        ..Hooks::none("what is in the process has no connection and no end of its own; see `flaky`")
    };
    Subject::new(hooks, move |group| {
        let url = Url::new("memory", "suite").with_param("group", group);
        handle(MemoryRegistry::on(url, Arc::clone(&store)))
    })
}

mod registry {
    use super::*;

    dubbo_test::registry_suite!(subject(|memory| Arc::new(memory)));
}

mod discovery {
    use super::*;

    dubbo_test::discovery_suite!(subject(|memory| memory.discovery()));
}

mod report {
    use super::*;

    dubbo_test::report_suite!(subject(|memory| memory.report()));
}

mod center {
    use super::*;

    dubbo_test::center_suite!(subject(|memory| memory.center()));
}
