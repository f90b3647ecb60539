//! Every backend passes every suite on a real server.
//!
//! `DUBBO_TEST_ZOOKEEPER`, `DUBBO_TEST_NACOS` and `DUBBO_TEST_ETCD` say where the servers are, as `host:port`. What is run
//! by `DUBBO_TEST_…_RESTART`, a command for `sh -c` that returns when the server is there again, ends a server and starts
//! it; without it that test says that it was left out. Handles reach a server over a wire that tests cut.
//!
//! The tests of one server take turns, as they end it: `cargo test -p dubbo-registry --all-features --test real_servers --
//! --ignored --test-threads=1`.

#![cfg(any(feature = "etcd", feature = "nacos", feature = "zookeeper"))]

use std::{env, io, process::Command, time::Duration};

use dubbo_core::{
    extension::{ExtensionPoint, Extensions},
    url::Url,
};
use dubbo_registry as _;
use dubbo_test::suite::{Hook, Hooks, Look, Subject, Wire};

/// One kind of server, and what is special about it.
struct Server {
    /// The name of its plugins.
    plugin: &'static str,
    /// What its variables are called by.
    variable: &'static str,
    /// Further ports that its clients use, as distances from the first one.
    ports: &'static [u16],
    /// What the URL of its plugins has in it, such as a short session.
    params: &'static str,
    /// How long it takes until it forgets a client that is not there.
    forgets: Duration,
    /// Whether it compares when it writes.
    compares: Result<(), &'static str>,
    /// Asks the server at an address how many watches it has.
    watches: Result<fn(&str) -> io::Result<usize>, &'static str>,
}

/// A subject of handles on the server, each of which is a program of its own.
async fn subject<T: ?Sized + ExtensionPoint>(server: Server) -> Subject<T> {
    let Server {
        plugin,
        variable,
        ports,
        params,
        forgets,
        compares,
        watches,
    } = server;
    let variable = format!("DUBBO_TEST_{variable}");
    let address = env::var(&variable)
        .unwrap_or_else(|_| panic!("{variable}=host:port says where the server is"));
    let wire = Wire::to(&address, ports).await;
    let (blinks, cuts) = (wire.clone(), wire.clone());
    let hooks = Hooks {
        drop_connections: Hook::new(move || {
            blinks.blink();
            std::future::ready(())
        }),
        expire: Hook::new(move || {
            let wire = cuts.clone();
            async move { wire.cut(forgets).await }
        }),
        restart: restart(&format!("{variable}_RESTART")),
        watches: match watches {
            Ok(watches) => Look::new(move || watches(&address).expect("the server tells")),
            Err(reason) => Look::cannot(reason),
        },
        compares,
        patience: Duration::from_secs(90),
    };
    Subject::new(hooks, move |group| {
        let address = wire.address();
        let url = format!("{plugin}://{address}?{params}&group={group}");
        let mut url: Url = url.parse().expect("a URL");
        if group.is_empty() {
            url = url.without_param("group");
        }
        let extensions = Extensions::linked().expect("no duplicates");
        extensions.create::<T>(plugin, &url).expect("is linked")
    })
}

fn restart(variable: &str) -> Hook {
    let Ok(command) = env::var(variable) else {
        return Hook::cannot(format!("{variable} has no command that does it"));
    };
    Hook::new(move || {
        let command = command.clone();
        async move {
            let run = move || Command::new("sh").args(["-c", &command]).status();
            let status = tokio::task::spawn_blocking(run).await.expect("runs");
            assert!(status.expect("runs").success(), "the server was restarted");
        }
    })
}

/// Runs all suites on one kind of server.
macro_rules! real_server {
    ($name:ident, $server:expr) => {
        mod $name {
            use super::*;

            mod registry {
                use super::*;

                dubbo_test::registry_suite! {
                    [#[tokio::test] #[ignore = "needs a server"]]
                    subject($server).await
                }
            }

            mod discovery {
                use super::*;

                dubbo_test::discovery_suite! {
                    [#[tokio::test] #[ignore = "needs a server"]]
                    subject($server).await
                }
            }

            mod report {
                use super::*;

                dubbo_test::report_suite! {
                    [#[tokio::test] #[ignore = "needs a server"]]
                    subject($server).await
                }
            }

            mod center {
                use super::*;

                dubbo_test::center_suite! {
                    [#[tokio::test] #[ignore = "needs a server"]]
                    subject($server).await
                }
            }
        }
    };
}

#[cfg(feature = "etcd")]
real_server!(
    etcd,
    Server {
        plugin: "etcdv3",
        variable: "ETCD",
        ports: &[],
        params: "session=4s&outage-grace=5s",
        forgets: Duration::from_secs(12),
        compares: Ok(()),
        watches: Ok(etcd_watches),
    }
);

// r-nacos, which differs from Alibaba's server: `interop/registries/README.md`.
#[cfg(feature = "nacos")]
real_server!(
    nacos,
    Server {
        plugin: "nacos",
        variable: "NACOS",
        ports: &[1000],
        params: "poll-interval=2s&outage-grace=5s",
        forgets: Duration::from_secs(30),
        compares: Err("r-nacos writes without comparing; the scripted Nacos compares"),
        watches: Err("r-nacos does not tell how many watches it has"),
    }
);

#[cfg(feature = "zookeeper")]
real_server!(
    zookeeper,
    Server {
        plugin: "zookeeper",
        variable: "ZOOKEEPER",
        ports: &[],
        params: "session=4s&outage-grace=5s",
        forgets: Duration::from_secs(12),
        compares: Ok(()),
        watches: Ok(zookeeper_watches),
    }
);

#[cfg(feature = "etcd")]
fn etcd_watches(server: &str) -> io::Result<usize> {
    use std::io::{Read as _, Write as _};

    let mut connection = std::net::TcpStream::connect(server)?;
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes())?;
    let mut told = String::new();
    connection.read_to_string(&mut told)?;
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix("etcd_debugging_mvcc_watcher_total "));
    let count = line.and_then(|count| count.trim().parse().ok());
    count.ok_or_else(|| io::Error::other("it tells no `etcd_debugging_mvcc_watcher_total`"))
}

#[cfg(feature = "zookeeper")]
fn zookeeper_watches(server: &str) -> io::Result<usize> {
    use std::io::{Read as _, Write as _};

    let mut server = std::net::TcpStream::connect(server)?;
    server.write_all(b"mntr")?;
    let mut told = String::new();
    server.read_to_string(&mut told)?;
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix("zk_watch_count"));
    let count = line.and_then(|count| count.trim().parse().ok());
    count.ok_or_else(|| io::Error::other(format!("it tells no `zk_watch_count`: {told}")))
}
