//! What every registry, discovery, report and config center does, ours does on a server of its own for each test.

use std::{sync::Arc, time::Duration};

use dubbo_test::{
    nacos::ScriptedNacos,
    suite::{Hook, Hooks, Look, Subject},
};

use crate::world::{Program, quick_nacos};

/// A subject of handles, which `handle` makes; each is of a program of its own.
async fn subject<T: ?Sized + Send + Sync + 'static>(
    handle: fn(&Program) -> Arc<T>,
    watches: fn(Arc<ScriptedNacos>) -> Look,
) -> Subject<T> {
    let nacos = Arc::new(quick_nacos().await);
    let (drops, restarts) = (Arc::clone(&nacos), Arc::clone(&nacos));
    let hooks = Hooks {
        drop_connections: Hook::new(move || {
            let nacos = Arc::clone(&drops);
            async move { nacos.drop_connections().await }
        }),
        expire: Hook::cannot("a connection that is lost is a session that is lost"),
        restart: Hook::new(move || {
            let nacos = Arc::clone(&restarts);
            async move {
                nacos.stop().await;
                nacos.start_again().await;
            }
        }),
        watches: watches(Arc::clone(&nacos)),
        compares: Ok(()),
        patience: Duration::from_mins(1),
    };
    Subject::new(hooks, move |group| {
        handle(&Program::with(&nacos, &format!("group={group}&timeout=2s")))
    })
}

/// The subscriptions that the server knows.
fn subscriptions(nacos: Arc<ScriptedNacos>) -> Look {
    Look::new(move || {
        let requests = nacos.requests("SubscribeServiceRequest");
        let begins = requests.iter().filter(|r| r["subscribe"] == true).count();
        2 * begins - requests.len()
    })
}

fn unheard(_nacos: Arc<ScriptedNacos>) -> Look {
    Look::cannot("nacos-sdk never tells the server that nobody listens to a text any more")
}

mod registry {
    use super::*;

    dubbo_test::registry_suite! {
        [#[tokio::test(flavor = "multi_thread")]] subject(Program::registry, subscriptions).await
    }
}

mod discovery {
    use super::*;

    dubbo_test::discovery_suite! {
        [#[tokio::test(flavor = "multi_thread")]] subject(Program::discovery, subscriptions).await
    }
}

mod report {
    use super::*;

    dubbo_test::report_suite! {
        [#[tokio::test(flavor = "multi_thread")]] subject(Program::report, unheard).await
    }
}

mod center {
    use super::*;

    dubbo_test::center_suite! {
        [#[tokio::test(flavor = "multi_thread")]] subject(Program::center, unheard).await
    }
}
