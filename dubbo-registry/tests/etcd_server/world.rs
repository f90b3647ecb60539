//! Eyes that see the keys of a server.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    process::Output,
    time::Duration,
};

use dubbo_test::soon;
use serde_json::Value;

use crate::servers::{OwnServer, command, script};

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

/// How many watches the clients of `server` have.
pub(crate) fn watches(server: &OwnServer) -> usize {
    let address = server.address();
    let mut connection = TcpStream::connect(&address).expect("connects");
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).expect("writes");
    let mut told = String::new();
    connection.read_to_string(&mut told).expect("reads");
    let name = "etcd_debugging_mvcc_watcher_total ";
    let count = told.lines().find_map(|line| line.strip_prefix(name));
    count.expect(name).trim().parse().expect("a number")
}

/// How often somebody looks who cannot be told.
pub(crate) const GLANCE: Duration = Duration::from_millis(100);
