//! Keeping a session.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use dubbo_core::{
    backoff::{Backoff, BackoffPolicy},
    registry::RegistryError,
};
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, watch},
    time::timeout,
};
use zookeeper_client::{Acls, Error, SessionState};

use super::{Failure, Options};
use crate::backend::Session;

/// Keeps a session as long as it is let run.
pub(super) async fn drive(shared: Arc<Shared>) {
    let mut backoff = Backoff::new(RECONNECT);
    let (mut session, mut connection) = (0, 0);
    let mut said = String::new();
    loop {
        let error = match shared.connect().await {
            Ok(client) => {
                backoff.reset();
                said.clear();
                session += 1;
                let error = shared.follow(client, session, &mut connection).await;
                shared.state.lock().client = None;
                error
            }
            Err(error) => error,
        };
        let text = error.to_string();
        if text == said {
            tracing::debug!(error = text, "still trying");
        } else {
            tracing::warn!(error = text, "trying again until it works");
            said = text;
        }
        shared.down(error);
        tokio::time::sleep(backoff.next_wait()).await;
    }
}

/// What the driver of a connection, its requests and its watches share.
pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) address: String,
    pub(super) session: watch::Sender<Session>,
    /// Tells that the crate has met what it cannot work with, and may be of no more use.
    broken: Notify,
    pub(super) state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) client: Option<zookeeper_client::Client>,
    /// The ids of the latest sessions, the last one at the end.
    pub(super) sessions: Vec<i64>,
    /// The server of this session does not know persistent watches.
    pub(super) is_old: bool,
    pub(super) closed: bool,
}

/// Whose a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::zookeeper) enum Owner {
    /// Of this session: it lives as long.
    Us,
    /// Of an earlier session of this client: it will go.
    Past,
    /// Of another client, or of nobody.
    Other,
}

impl Shared {
    pub(super) fn new(options: Options) -> Self {
        Self {
            address: options.address(),
            options,
            session: watch::Sender::new(Session::Down(None)),
            broken: Notify::new(),
            state: Mutex::default(),
        }
    }

    /// Asks something of the ensemble, if there is a connection, and does not wait for ever.
    pub(super) async fn request<T, F>(
        &self,
        verb: &str,
        path: &str,
        make: impl FnOnce(zookeeper_client::Client, String) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let operation = || format!("{verb} {path}");
        let client = match &*self.session.borrow() {
            Session::Up { .. } => self.state.lock().client.clone(),
            Session::Down(error) => {
                let reason = match error {
                    Some(error) => format!("there is no connection: {}", error.reason),
                    None => "there is no connection yet".to_owned(),
                };
                return Err(Failure::unavailable(self.error(&operation(), reason)));
            }
        };
        let Some(client) = client else {
            let reason = "the connection has just ended".to_owned();
            return Err(Failure::unavailable(self.error(&operation(), reason)));
        };
        let asked = make(client, path.to_owned());
        self.ask(operation(), self.options.timeout, asked).await
    }

    /// What comes of `asked`, which may not wait for ever, nor bring us down: where a server answers nonsense the crate
    /// panics, or ends without a word.
    async fn ask<T>(
        &self,
        operation: String,
        limit: Duration,
        asked: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        let reason = match timeout(limit, AssertUnwindSafe(asked).catch_unwind()).await {
            Ok(Ok(answer)) => {
                return answer.map_err(|error| {
                    if matches!(error, Error::UnexpectedError(_)) {
                        self.broken.notify_one();
                    }
                    Failure::of(operation, &self.address, error)
                });
            }
            Ok(Err(_)) => {
                self.broken.notify_one();
                "the answer cannot be understood".to_owned()
            }
            Err(_) => format!("no answer within {limit:?}; whether it was done is open"),
        };
        Err(Failure::unavailable(self.error(&operation, reason)))
    }

    /// Begins a session.
    async fn connect(&self) -> Result<zookeeper_client::Client, RegistryError> {
        let options = &self.options;
        let mut connector = zookeeper_client::Client::connector()
            .with_session_timeout(options.session)
            .with_connection_timeout(options.timeout)
            .with_fail_eagerly();
        if let Some(login) = &options.login {
            connector = connector.with_auth("digest", login.as_bytes());
        }
        let limit = options.session + options.timeout;
        let servers = options.servers.join(",");
        let asked = self.ask("connect".to_owned(), limit, connector.connect(&servers));
        asked.await.map_err(Failure::into_error)
    }

    /// Follows a session until it is over; why it is.
    async fn follow(
        &self,
        client: zookeeper_client::Client,
        session: u64,
        connection: &mut u64,
    ) -> RegistryError {
        let mut states = client.state_watcher();
        let mut state = client.state();
        let id = client.session_id().0;
        tracing::info!(
            address = self.address,
            id = format_args!("{id:#x}"),
            "has a session"
        );
        self.begin(client);
        // What was said of an earlier one.
        let _ = self.broken.notified().now_or_never();
        loop {
            let over = |reason: &str| self.error("keep the session", reason.to_owned());
            state = match state {
                SessionState::SyncConnected | SessionState::ConnectedReadOnly => {
                    *connection += 1;
                    self.session.send_replace(Session::Up {
                        session,
                        connection: *connection,
                    });
                    tokio::select! {
                        state = states.changed() => state,
                        () = self.broken.notified() => return over("an answer could not be understood"),
                    }
                }
                SessionState::Disconnected => {
                    self.down(over("the connection is lost"));
                    match timeout(PATIENCE, states.changed()).await {
                        Ok(state) => state,
                        Err(_) => {
                            return over(
                                "the connection is lost, and so long that a new session is begun",
                            );
                        }
                    }
                }
                SessionState::AuthFailed => {
                    let operation = "log in".to_owned();
                    return Failure::of(operation, &self.address, Error::AuthFailed).into_error();
                }
                SessionState::Expired => return over("the session has expired"),
                SessionState::Closed => return over("the client has ended"),
            };
        }
    }

    fn begin(&self, client: zookeeper_client::Client) {
        let mut state = self.state.lock();
        if state.sessions.len() == REMEMBERED {
            state.sessions.remove(0);
        }
        state.sessions.push(client.session_id().0);
        state.client = Some(client);
        state.is_old = false;
    }

    pub(super) fn down(&self, error: RegistryError) {
        self.session
            .send_replace(Session::Down(Some(Arc::new(error))));
    }

    pub(super) fn owner(&self, session: i64) -> Owner {
        let state = self.state.lock();
        if state.sessions.last() == Some(&session) {
            Owner::Us
        } else if state.sessions.contains(&session) {
            Owner::Past
        } else {
            Owner::Other
        }
    }

    /// With a login, what we make is ours alone, as Java does it (`docs/spec/registry.md` §2.1).
    pub(super) fn acls(&self) -> Acls<'static> {
        match self.options.login {
            Some(_) => Acls::creator_all(),
            None => Acls::anyone_all(),
        }
    }

    pub(super) fn error(&self, operation: &str, reason: String) -> RegistryError {
        RegistryError::new(operation, &self.address, reason)
    }
}

/// How long the crate may try to connect again before a new session is begun instead.
pub(super) const PATIENCE: Duration = Duration::from_secs(7);

/// How long to wait before connecting again. Servers bear many clients that try every few seconds, and those who show
/// something want to be back before their sessions expire.
const RECONNECT: BackoffPolicy = BackoffPolicy {
    initial: Duration::from_millis(200),
    max: Duration::from_secs(5),
    multiplier: 1.5,
    jitter: 0.5,
};

/// How many sessions' nodes are known to be ours: those of earlier ones have long expired.
const REMEMBERED: usize = 16;
