//! A server, a corner of it for each test, and eyes that see its nodes.

use std::{
    path::PathBuf,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use dubbo_core::{
    config_center::ConfigCenter,
    discovery::ServiceDiscovery,
    extension::Extensions,
    metadata::MetadataReport,
    registry::{Registry, RegistrySnapshot},
    subscription::Subscription,
    url::Url,
};
use dubbo_registry as _;
use dubbo_test::soon;
use zookeeper_client::{Acls, Client, CreateMode, CreateOptions, Error};

/// Everything that one program makes of one server: its plugins share a session.
pub(crate) struct Program {
    extensions: Extensions,
    url: Url,
}

impl Program {
    /// A program that reaches the server at `address`, with `params` in the registry's URL.
    pub(crate) fn new(address: &str, params: &str) -> Self {
        let text = format!("zookeeper://{address}?{params}");
        Self {
            extensions: Extensions::linked().expect("no duplicates"),
            url: text.parse().expect("a URL"),
        }
    }

    pub(crate) fn registry(&self) -> Arc<dyn Registry> {
        let made = self.extensions.create("zookeeper", &self.url);
        made.expect("is linked")
    }

    pub(crate) fn discovery(&self) -> Arc<dyn ServiceDiscovery> {
        let made = self.extensions.create("zookeeper", &self.url);
        made.expect("is linked")
    }

    pub(crate) fn report(&self) -> Arc<dyn MetadataReport> {
        let made = self.extensions.create("zookeeper", &self.url);
        made.expect("is linked")
    }

    pub(crate) fn center(&self) -> Arc<dyn ConfigCenter> {
        let made = self.extensions.create("zookeeper", &self.url);
        made.expect("is linked")
    }
}

/// The server that the tests share.
pub(crate) fn server() -> String {
    std::env::var("DUBBO_TEST_ZOOKEEPER")
        .expect("DUBBO_TEST_ZOOKEEPER=host:port says where a ZooKeeper server is")
}

/// A root of one's own on a server that others use too.
pub(crate) fn corner(test: &str) -> String {
    format!("/{}", unique(test))
}

fn unique(test: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("zookeeper-{test}-{}-{count}", std::process::id())
}

/// A client that does as it is told, and knows nothing of Dubbo.
pub(crate) struct Eyes(Client);

impl Eyes {
    pub(crate) async fn on(address: &str) -> Self {
        Self(Client::connect(address).await.expect("connects"))
    }

    /// Those of a user: `user:password`.
    pub(crate) async fn of(login: &str, address: &str) -> Self {
        let connector = Client::connector().with_auth("digest", login.as_bytes());
        Self(connector.connect(address).await.expect("connects"))
    }

    /// The names of the children, sorted; none when there is no such node.
    pub(crate) async fn children(&self, path: &str) -> Vec<String> {
        match self.0.list_children(path).await {
            Ok(mut names) => {
                names.sort();
                names
            }
            Err(Error::NoNode) => Vec::new(),
            Err(error) => panic!("{path}: {error}"),
        }
    }

    pub(crate) async fn data(&self, path: &str) -> Option<String> {
        match self.0.get_data(path).await {
            Ok((data, _)) => Some(String::from_utf8(data).expect("text")),
            Err(Error::NoNode) => None,
            Err(error) => panic!("{path}: {error}"),
        }
    }

    /// The session that the node lives as long as; 0 for one that stays.
    pub(crate) async fn owner(&self, path: &str) -> Option<i64> {
        let stat = self.0.check_stat(path).await.expect(path);
        stat.map(|stat| stat.ephemeral_owner)
    }

    /// Waits until `children` of `path` are these.
    pub(crate) async fn see(&self, path: &str, names: &[&str]) {
        soon(&format!("{names:?} below {path}"), async {
            while self.children(path).await != names {
                tokio::time::sleep(GLANCE).await;
            }
        })
        .await;
    }

    /// Makes a node that stays, and those above it.
    pub(crate) async fn put(&self, path: &str, data: &str) {
        if let Some((parent, _)) = path
            .rsplit_once('/')
            .filter(|(parent, _)| !parent.is_empty())
        {
            self.0.mkdir(parent, &persistent()).await.expect(parent);
        }
        match self.0.create(path, data.as_bytes(), &persistent()).await {
            Err(Error::NodeExists) => {
                self.0
                    .set_data(path, data.as_bytes(), None)
                    .await
                    .expect(path);
            }
            done => drop(done.expect(path)),
        }
    }

    /// Makes many nodes at once.
    pub(crate) async fn put_all(
        &self,
        parent: &str,
        nodes: impl IntoIterator<Item = (String, String)>,
    ) {
        self.0.mkdir(parent, &persistent()).await.expect(parent);
        let paths: Vec<_> = nodes
            .into_iter()
            .map(|(name, data)| (format!("{parent}/{name}"), data))
            .collect();
        let options = persistent();
        let made: Vec<_> = paths
            .iter()
            .map(|(path, data)| self.0.create(path, data.as_bytes(), &options))
            .collect();
        for made in made {
            made.await.expect(parent);
        }
    }

    pub(crate) async fn delete(&self, path: &str) {
        self.0.delete(path, None).await.expect(path);
    }

    /// Deletes the node and all below.
    pub(crate) async fn delete_all(&self, path: &str) {
        for name in self.children(path).await {
            Box::pin(self.delete_all(&format!("{path}/{name}"))).await;
        }
        match self.0.delete(path, None).await {
            Ok(()) | Err(Error::NoNode) => {}
            Err(error) => panic!("{path}: {error}"),
        }
    }
}

fn persistent() -> CreateOptions<'static> {
    CreateMode::Persistent.with_acls(Acls::anyone_all())
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
        self.script(&["start", &self.port.to_string(), &self.data()])
            .await;
    }

    /// As a power cut would.
    pub(crate) async fn crash(&self) {
        self.script(&["crash", &self.data()]).await;
    }

    /// Stops, forgets everything, and starts again.
    pub(crate) async fn wipe(&self) {
        self.script(&["stop", &self.data()]).await;
        std::fs::remove_dir_all(&self.data).expect("is there");
        self.up().await;
    }

    fn data(&self) -> String {
        self.data.to_str().expect("UTF-8").to_owned()
    }

    async fn script(&self, arguments: &[&str]) {
        let mut command = Self::command(arguments);
        let done = tokio::task::spawn_blocking(move || command.output())
            .await
            .expect("runs");
        let output = done.expect("starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
    }

    fn command(arguments: &[&str]) -> Command {
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../interop/registries/zookeeper"
        );
        let mut command = Command::new(script);
        command.args(arguments);
        command
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        let stopped = Self::command(&["stop", &self.data()]).status();
        assert!(
            stopped.is_ok_and(|status| status.success()),
            "it would not stop"
        );
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

/// How often somebody looks who cannot be told.
pub(crate) const GLANCE: Duration = Duration::from_millis(20);
