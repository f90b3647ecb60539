//! What every registry, discovery, report and config center does, ours does on a server of its own for each test.

use std::{sync::Arc, time::Duration};

use dubbo_test::suite::{Hook, Hooks, Look, Subject};

use crate::{
    proxy::{Proxy, Wire},
    world::{OwnServer, Program},
};

/// A subject of handles, which `handle` makes; each is of a program of its own.
async fn subject<T: ?Sized + Send + Sync + 'static>(handle: fn(&Program) -> Arc<T>) -> Subject<T> {
    let server = Arc::new(OwnServer::start("suite").await);
    let proxy = Arc::new(Proxy::before(&server.address()).await);
    let (cut, expire) = (Arc::clone(&proxy), Arc::clone(&proxy));
    let (restart, watches) = (Arc::clone(&server), Arc::clone(&server));
    let hooks = Hooks {
        drop_connections: Hook::new(move || {
            cut.cut();
            async {}
        }),
        expire: Hook::new(move || {
            let proxy = Arc::clone(&expire);
            async move {
                proxy.set(Wire::Blocked);
                tokio::time::sleep(EXPIRED).await;
                proxy.set(Wire::Open);
            }
        }),
        restart: Hook::new(move || {
            let server = Arc::clone(&restart);
            async move {
                server.crash().await;
                server.up().await;
            }
        }),
        watches: Look::new(move || watches.watches()),
        compares: Ok(()),
        patience: dubbo_test::PATIENCE,
    };
    Subject::new(hooks, move |group| {
        let address = proxy.address();
        handle(&Program::new(
            &address,
            &format!("group={group}&session=4s&timeout=1s"),
        ))
    })
}

mod registry {
    use super::*;

    dubbo_test::registry_suite! {
        [#[tokio::test] #[ignore = "needs ZooKeeper's files"]] subject(Program::registry).await
    }
}

mod discovery {
    use super::*;

    dubbo_test::discovery_suite! {
        [#[tokio::test] #[ignore = "needs ZooKeeper's files"]] subject(Program::discovery).await
    }
}

mod report {
    use super::*;

    dubbo_test::report_suite! {
        [#[tokio::test] #[ignore = "needs ZooKeeper's files"]] subject(Program::report).await
    }
}

mod center {
    use super::*;

    dubbo_test::center_suite! {
        [#[tokio::test] #[ignore = "needs ZooKeeper's files"]] subject(Program::center).await
    }
}

/// After this a session of four seconds is over: the server looks every two.
const EXPIRED: Duration = Duration::from_secs(7);
