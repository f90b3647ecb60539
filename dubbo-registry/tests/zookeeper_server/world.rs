//! Eyes that see the nodes of a server.

use std::time::Duration;

use dubbo_test::soon;
use zookeeper_client::{Acls, Client, CreateMode, CreateOptions, Error};

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

/// How often somebody looks who cannot be told.
pub(crate) const GLANCE: Duration = Duration::from_millis(20);
