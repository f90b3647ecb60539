//! The client of a ZooKeeper ensemble: a session that is begun again whenever it is over, and requests with a time limit.
//!
//! This folder alone names the crate `zookeeper_client`. What one has to know of its version 0.11.2:
//!
//! - Its client is of no more use when the session is over. Then there is a new one here, and everybody hears of it.
//! - Between its attempts to connect again it waits twice as long each time, without a limit: after an outage of 50 s it
//!   may take 30 s more. So after [`session::PATIENCE`] it is given up for a new session.
//! - Requests made without a connection wait in a line without an end. So none is made then.
//! - After connecting again it does not tell the server about persistent watches (see [`watches`]).

mod failure;
mod options;
mod session;
mod watches;

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{runtime::Handle, sync::watch, task::JoinSet, time::timeout};
use zookeeper_client::{CreateMode, Error, MultiWriteError, SessionState};

pub(super) use failure::{Failure, Why};
pub(super) use options::Options;
pub(super) use session::Owner;
use session::Shared;
pub(super) use watches::Depth;

use crate::backend::Session;

/// The connection to an ensemble. It is made when somebody first asks for something.
pub(super) struct Connection {
    shared: Arc<Shared>,
    /// Keeps a session; `None` before it starts. Ends when it is dropped.
    driver: Mutex<Option<JoinSet<()>>>,
}

/// A node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) data: Vec<u8>,
    /// How often the data was changed.
    pub(super) version: i32,
    pub(super) owner: Owner,
}

/// How long a node stays.
#[derive(Debug, Clone, Copy)]
pub(super) enum Life {
    /// As long as the session.
    Ephemeral,
    /// Until somebody deletes it.
    Persistent,
}

impl Connection {
    pub(super) fn new(options: Options) -> Self {
        Self {
            shared: Arc::new(Shared::new(options)),
            driver: Mutex::new(None),
        }
    }

    pub(super) fn address(&self) -> &str {
        &self.shared.address
    }

    /// How long a request may take.
    pub(super) fn limit(&self) -> Duration {
        self.shared.options.timeout
    }

    /// The session, as it changes.
    pub(super) fn session(&self) -> watch::Receiver<Session> {
        self.start();
        self.shared.session.subscribe()
    }

    /// The names of the children of `path`.
    pub(super) async fn children(&self, path: &str) -> Result<Vec<String>, Failure> {
        self.request("list", path, |client, path| async move {
            client.list_children(&path).await
        })
        .await
    }

    /// The node at `path`. Several that are asked for at once go out together.
    pub(super) async fn get(&self, path: &str) -> Result<Node, Failure> {
        let (data, stat) = self
            .request("read", path, |client, path| async move {
                client.get_data(&path).await
            })
            .await?;
        Ok(Node {
            data,
            version: stat.version,
            owner: self.shared.owner(stat.ephemeral_owner),
        })
    }

    /// Makes a node at `path`, and the nodes above it where they are missing: these stay.
    pub(super) async fn create(&self, path: &str, data: &[u8], life: Life) -> Result<(), Failure> {
        self.fits("create", path, data)?;
        let mode = match life {
            Life::Ephemeral => CreateMode::Ephemeral,
            Life::Persistent => CreateMode::Persistent,
        };
        let acls = self.shared.acls();
        // Java's parents go when they are empty, which may be just after they were found or made.
        for _ in 0..ATTEMPTS {
            let data = data.to_vec();
            let created = self
                .request("create", path, |client, path| async move {
                    client.create(&path, &data, &mode.with_acls(acls)).await
                })
                .await;
            match (created, path.rsplit_once('/')) {
                (Err(failure), Some((parent, _)))
                    if failure.why == Why::Absent && !parent.is_empty() =>
                {
                    self.request("create", parent, |client, parent| async move {
                        let persistent = CreateMode::Persistent.with_acls(acls);
                        client.mkdir(&parent, &persistent).await
                    })
                    .await?;
                }
                (created, _) => return created.map(|_| ()),
            }
        }
        Err(self.unsettled("create", path))
    }

    /// Writes the data of the node at `path`, if it still has `version` where one is given.
    pub(super) async fn set(
        &self,
        path: &str,
        data: &[u8],
        version: Option<i32>,
    ) -> Result<(), Failure> {
        self.fits("write", path, data)?;
        let data = data.to_vec();
        self.request("write", path, |client, path| async move {
            client.set_data(&path, &data, version).await
        })
        .await
        .map(|_| ())
    }

    /// Deletes the node at `path`, if it still has `version` where one is given.
    pub(super) async fn delete(&self, path: &str, version: Option<i32>) -> Result<(), Failure> {
        self.request("delete", path, |client, path| async move {
            client.delete(&path, version).await
        })
        .await
    }

    /// Makes the node at `path`, which has `version`, an ephemeral one of this session. Nobody sees it missing.
    pub(super) async fn take_over(
        &self,
        path: &str,
        data: &[u8],
        version: i32,
    ) -> Result<(), Failure> {
        self.fits("take over", path, data)?;
        let (data, acls) = (data.to_vec(), self.shared.acls());
        self.request("take over", path, |client, path| async move {
            let mut both = client.new_multi_writer();
            both.add_delete(&path, Some(version))?;
            both.add_create(&path, &data, &CreateMode::Ephemeral.with_acls(acls))?;
            if version == 0 {
                // Not the version it had: who is about to delete it, taking it for their own, does not delete ours.
                both.add_set_data(&path, &data, None)?;
            }
            both.commit()
                .await
                .map(|_| ())
                .map_err(|error| match error {
                    MultiWriteError::OperationFailed { source, .. }
                    | MultiWriteError::RequestFailed { source } => source,
                })
        })
        .await
    }

    /// Ends the session, and with it what is ephemeral.
    pub(super) async fn close(&self) {
        self.shared.state.lock().closed = true;
        let driver = self.driver.lock().take();
        if let Some(mut driver) = driver {
            driver.shutdown().await;
        }
        let reason = "the registry was closed".to_owned();
        self.shared
            .down(self.shared.error("connect", reason).refused());
        let client = self.shared.state.lock().client.take();
        if let Some(client) = client
            && client.state() == SessionState::SyncConnected
        {
            let mut states = client.state_watcher();
            drop(client);
            let ended = async { while !states.changed().await.is_terminated() {} };
            if timeout(self.limit(), ended).await.is_err() {
                let address = self.address();
                tracing::debug!(address, "the session did not end in time; it expires");
            }
        }
    }

    /// That the node at `path` changes faster than one can follow.
    pub(super) fn unsettled(&self, verb: &str, path: &str) -> Failure {
        let reason = format!("others changed it {ATTEMPTS} times meanwhile");
        Failure::unavailable(self.shared.error(&format!("{verb} {path}"), reason))
    }

    fn start(&self) {
        let mut driver = self.driver.lock();
        if driver.is_some() || self.shared.state.lock().closed {
            return;
        }
        if let Ok(runtime) = Handle::try_current() {
            let mut task = JoinSet::new();
            task.spawn_on(session::drive(Arc::clone(&self.shared)), &runtime);
            *driver = Some(task);
        }
    }

    async fn request<T, F>(
        &self,
        verb: &str,
        path: &str,
        make: impl FnOnce(zookeeper_client::Client, String) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>>,
    {
        self.start();
        self.shared.request(verb, path, make).await
    }

    /// A server drops the connection on which a request arrives that is too large for it, and everybody on it suffers.
    fn fits(&self, verb: &str, path: &str, data: &[u8]) -> Result<(), Failure> {
        let (size, most) = (
            path.len() + data.len() + OVERHEAD,
            self.shared.options.largest,
        );
        if size <= most {
            return Ok(());
        }
        let reason = format!(
            "it takes {size} bytes, and the servers take {most}; once `jute.maxbuffer` is larger at each of them, \
             say so in the registry's parameter of that name"
        );
        let operation = format!("{verb} {path}");
        Err(Failure::refused(operation, self.address(), reason))
    }
}

/// How often something is tried that others may undo at the same time.
pub(super) const ATTEMPTS: usize = 4;

/// What a request has beside path and data, with some room: headers, lengths, ACLs.
const OVERHEAD: usize = 256;
