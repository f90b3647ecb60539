//! What the tests of one kind of real server have in common with those of another: programs, and servers of their own. The
//! test says by its `SERVER` which kind it is.

use std::{
    path::PathBuf,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use dubbo_core::{
    config_center::ConfigCenter,
    discovery::ServiceDiscovery,
    extension::{ExtensionPoint, Extensions},
    metadata::MetadataReport,
    registry::{Registry, RegistrySnapshot},
    subscription::Subscription,
    url::Url,
};
use dubbo_registry as _;
use dubbo_test::soon;

use crate::SERVER;

/// A kind of server.
pub(crate) struct Kind {
    /// The name of its plugins.
    pub(crate) plugin: &'static str,
    /// The script in `interop/registries` that starts one.
    pub(crate) script: &'static str,
    /// Says where the server is that the tests share, as `host:port`.
    pub(crate) variable: &'static str,
    /// What servers of one's own are told.
    pub(crate) environment: &'static [(&'static str, &'static str)],
}

/// Everything that one program makes of one server: its plugins share a session.
pub(crate) struct Program {
    extensions: Extensions,
    url: Url,
}

impl Program {
    /// A program that reaches the server at `address`, which may begin with a login, with `params` in the registry's URL.
    pub(crate) fn new(address: &str, params: &str) -> Self {
        let plugin = SERVER.plugin;
        // All programs of a test are back within that time.
        let text = format!("{plugin}://{address}?outage-grace=5s&{params}");
        Self {
            extensions: Extensions::linked().expect("no duplicates"),
            url: text.parse().expect("a URL"),
        }
    }

    pub(crate) fn registry(&self) -> Arc<dyn Registry> {
        self.create()
    }

    pub(crate) fn discovery(&self) -> Arc<dyn ServiceDiscovery> {
        self.create()
    }

    pub(crate) fn report(&self) -> Arc<dyn MetadataReport> {
        self.create()
    }

    pub(crate) fn center(&self) -> Arc<dyn ConfigCenter> {
        self.create()
    }

    fn create<T: ?Sized + ExtensionPoint>(&self) -> Arc<T> {
        let made = self.extensions.create(SERVER.plugin, &self.url);
        made.expect("is linked")
    }
}

/// The server that the tests share.
pub(crate) fn server() -> String {
    let variable = SERVER.variable;
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable}=host:port says where a server is"))
}

/// A root of one's own on a server that others use too.
pub(crate) fn corner(test: &str) -> String {
    format!("/{}", unique(test))
}

fn unique(test: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{test}-{}-{count}", SERVER.script, std::process::id())
}

/// Waits until the providers of `subscription` are at these ports; none of the states until then may be without any, if
/// `never_empty`.
pub(crate) async fn sees(
    subscription: &mut Subscription<RegistrySnapshot>,
    ports: &[u16],
    never_empty: bool,
) {
    soon(&format!("the providers {ports:?}"), async {
        loop {
            if let Ok(snapshot) = subscription.current().state {
                let mut seen: Vec<_> = snapshot.providers.iter().filter_map(Url::port).collect();
                seen.sort_unstable();
                if seen == ports {
                    return;
                }
                assert!(!(never_empty && seen.is_empty()), "the list was emptied");
            }
            subscription.changed().await.expect("it goes on");
        }
    })
    .await;
}

pub(crate) fn provider(interface: &str, port: u16) -> Url {
    format!(
        "tri://10.0.0.1:{port}/{interface}?application=demo&interface={interface}&side=provider"
    )
    .parse()
    .expect("a URL")
}

pub(crate) fn consumer(interface: &str) -> Url {
    format!(
        "consumer://10.0.0.2/{interface}?application=demo&category=providers&interface={interface}"
    )
    .parse()
    .expect("a URL")
}

/// A server of one's own, to be ill-treated. It ends when it is dropped.
pub(crate) struct OwnServer {
    port: u16,
    data: PathBuf,
}

impl OwnServer {
    pub(crate) async fn start(test: &str) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        drop(listener);
        let own = Self {
            port,
            data: std::env::temp_dir().join(unique(test)),
        };
        own.up().await;
        own
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) async fn up(&self) {
        script(&["start", &self.port.to_string(), &self.data()]).await;
    }

    /// As a power cut would.
    pub(crate) async fn crash(&self) {
        script(&["crash", &self.data()]).await;
    }

    /// Stops, forgets everything, and starts again.
    pub(crate) async fn wipe(&self) {
        script(&["stop", &self.data()]).await;
        std::fs::remove_dir_all(&self.data).expect("is there");
        self.up().await;
    }

    fn data(&self) -> String {
        self.data.to_str().expect("UTF-8").to_owned()
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        let stopped = command(&["stop", &self.data()]).status();
        assert!(
            stopped.is_ok_and(|status| status.success()),
            "it would not stop"
        );
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

/// Runs the script; what it prints.
pub(crate) async fn script(arguments: &[&str]) -> String {
    let mut command = command(arguments);
    let done = tokio::task::spawn_blocking(move || command.output()).await;
    let output = done.expect("runs").expect("starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// The script, to be run.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../interop/registries");
    let mut command = Command::new(format!("{folder}/{}", SERVER.script));
    command.args(arguments);
    command.envs(SERVER.environment.iter().copied());
    command
}
