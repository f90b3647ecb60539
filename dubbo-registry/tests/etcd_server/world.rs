//! A server, a corner of it for each test, and eyes that see its keys.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Command, Output},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
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
use serde_json::Value;

/// Everything that one program makes of one server: its plugins share a session.
pub(crate) struct Program {
    extensions: Extensions,
    url: Url,
}

impl Program {
    /// A program that reaches the server at `address`, which may begin with a login, with `params` in the registry's URL.
    pub(crate) fn new(address: &str, params: &str) -> Self {
        let text = format!("etcdv3://{address}?{params}");
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
        let made = self.extensions.create("etcdv3", &self.url);
        made.expect("is linked")
    }
}

/// The server that the tests share.
pub(crate) fn server() -> String {
    std::env::var("DUBBO_TEST_ETCD")
        .expect("DUBBO_TEST_ETCD=host:port says where an etcd server is")
}

/// A root of one's own on a server that others use too.
pub(crate) fn corner(test: &str) -> String {
    format!("/{}", unique(test))
}

fn unique(test: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("etcd-{test}-{}-{count}", std::process::id())
}

/// etcd's own command line, which knows nothing of Dubbo.
#[derive(Clone)]
pub(crate) struct Eyes {
    port: String,
    /// `user:password`.
    login: Option<&'static str>,
}

/// What stands under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// 0 for a key that stays.
    pub(crate) lease: i64,
    /// How often it was written.
    pub(crate) version: i64,
    pub(crate) revision: i64,
}

impl Eyes {
    pub(crate) fn on(address: &str) -> Self {
        let (_, port) = address.rsplit_once(':').expect("host:port");
        Self {
            port: port.to_owned(),
            login: None,
        }
    }

    pub(crate) fn with_login(self, login: &'static str) -> Self {
        Self {
            login: Some(login),
            ..self
        }
    }

    /// Runs a command; what it prints.
    pub(crate) async fn tell(&self, arguments: &[&str]) -> String {
        let mut all = vec!["ctl", &self.port];
        if let Some(login) = self.login {
            all.extend(["--user", login]);
        }
        all.extend(arguments);
        script(&all).await
    }

    /// The keys below `path`, sorted, without it.
    pub(crate) async fn keys(&self, path: &str) -> Vec<String> {
        let prefix = format!("{path}/");
        let told = self
            .tell(&["get", "--prefix", "--keys-only", &prefix])
            .await;
        let keys = told.lines().filter_map(|line| line.strip_prefix(&prefix));
        keys.map(str::to_owned).collect()
    }

    pub(crate) async fn text(&self, key: &str) -> Option<String> {
        let told = self.tell(&["get", "--print-value-only", key]).await;
        let text = told.strip_suffix('\n')?;
        Some(text.to_owned())
    }

    pub(crate) async fn item(&self, key: &str) -> Option<Item> {
        let told = self.tell(&["get", "--write-out=json", key]).await;
        let told: Value = serde_json::from_str(&told).expect(&told);
        let item = told["kvs"].as_array()?.first()?;
        let number = |key: &str| item[key].as_i64().unwrap_or_default();
        Some(Item {
            lease: number("lease"),
            version: number("version"),
            revision: number("mod_revision"),
        })
    }

    /// Waits until `keys` of `path` are these.
    pub(crate) async fn see(&self, path: &str, keys: &[&str]) {
        soon(&format!("{keys:?} below {path}"), async {
            while self.keys(path).await != keys {
                tokio::time::sleep(GLANCE).await;
            }
        })
        .await;
    }

    pub(crate) async fn put(&self, key: &str, text: &str) {
        self.tell(&["put", key, text]).await;
    }

    /// Writes many keys at once.
    pub(crate) async fn put_all(&self, keys: &[String]) {
        // As many as a transaction may have.
        for some in keys.chunks(100) {
            let puts: Vec<_> = some.iter().map(|key| format!("put {key} \"\"")).collect();
            let transaction = format!("\n{}\n\n\n", puts.join("\n"));
            let mut command = command(&["ctl", &self.port, "txn"]);
            let run = move || -> std::io::Result<Output> {
                let mut child = command
                    .stdin(std::process::Stdio::piped())
                    .stdout(std::process::Stdio::piped())
                    .spawn()?;
                let mut stdin = child.stdin.take().expect("is piped");
                stdin.write_all(transaction.as_bytes())?;
                drop(stdin);
                child.wait_with_output()
            };
            let done = tokio::task::spawn_blocking(run).await.expect("runs");
            assert!(done.expect("starts").status.success());
        }
    }

    pub(crate) async fn delete(&self, key: &str) {
        self.tell(&["del", key]).await;
    }

    /// Deletes all below `path`.
    pub(crate) async fn delete_all(&self, path: &str) {
        self.tell(&["del", "--prefix", &format!("{path}/")]).await;
    }

    /// Makes the server forget all states but the present one.
    pub(crate) async fn compact(&self) {
        let told = self.tell(&["endpoint", "status", "--write-out=json"]).await;
        let told: Value = serde_json::from_str(&told).expect(&told);
        let revision = told[0]["Status"]["header"]["revision"].to_string();
        self.tell(&["compaction", &revision]).await;
    }

    pub(crate) async fn leases(&self) -> usize {
        let told = self.tell(&["lease", "list"]).await;
        told.lines().count() - 1
    }
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

    /// How many watches its clients have.
    pub(crate) fn watches(&self) -> usize {
        let address = self.address();
        let mut connection = TcpStream::connect(&address).expect("connects");
        let request =
            format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        connection.write_all(request.as_bytes()).expect("writes");
        let mut told = String::new();
        connection.read_to_string(&mut told).expect("reads");
        let name = "etcd_debugging_mvcc_watcher_total ";
        let count = told.lines().find_map(|line| line.strip_prefix(name));
        count.expect(name).trim().parse().expect("a number")
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

async fn script(arguments: &[&str]) -> String {
    let mut command = command(arguments);
    let done = tokio::task::spawn_blocking(move || command.output()).await;
    let output = done.expect("runs").expect("starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

fn command(arguments: &[&str]) -> Command {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../interop/registries/etcd");
    let mut command = Command::new(script);
    command.args(arguments);
    // Tokens are good for this many seconds without use.
    command.env("ETCD_AUTH_TOKEN_TTL", "1");
    command
}

/// How often somebody looks who cannot be told.
pub(crate) const GLANCE: Duration = Duration::from_millis(100);
