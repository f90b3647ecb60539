//! What the tasks of a connection, its requests and its watches share.

use std::{
    env, fs,
    path::PathBuf,
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use dubbo_core::registry::RegistryError;
use nacos_sdk::api::{error::Error, naming::NamingService, props::ClientProps};
use parking_lot::Mutex;
use tokio::{
    net::TcpStream,
    sync::{Notify, mpsc, watch},
    task::JoinSet,
    time::timeout,
};

use super::{
    Failure, Options, Why, login::Login, naming::Deaf, options::APART, publications::Publications,
    subscriptions::Topics, texts::Line,
};
use crate::backend::{Session, TextKey};

pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) address: String,
    pub(super) login: Option<Arc<Login>>,
    pub(super) session: watch::Sender<Session>,
    pub(super) naming: Mutex<Option<NamingService>>,
    pub(super) publications: Mutex<Publications>,
    /// Read by those who show something, written by those who leave once more: both at once could end in any order.
    pub(super) showing: tokio::sync::RwLock<()>,
    pub(super) topics: Topics,
    /// Listens to the service of the heartbeat.
    pub(super) deaf: Arc<Deaf>,
    /// Through which texts are read and written.
    pub(super) reading: Line,
    /// Through which changes of texts are heard of.
    pub(super) listening: Line,
    /// Rung when a request finds the connection lost.
    pub(super) alarm: Notify,
    pub(super) chores: mpsc::UnboundedSender<Chore>,
    /// Taken by whoever does them.
    pub(super) chores_to_do: Mutex<Option<mpsc::UnboundedReceiver<Chore>>>,
    /// Where nacos-sdk keeps what is of no use to us.
    folder: Folder,
    closed: AtomicBool,
}

/// What has to be done after something that cannot wait for it.
pub(super) enum Chore {
    /// Nobody listens to this service any more, or so it was.
    Unsubscribe(Service),
    /// This one does not listen to the text any more.
    Unlisten(TextKey, Arc<super::texts::Ear>),
}

/// Group and name of a service.
pub(super) type Service = (Arc<str>, Arc<str>);

impl Shared {
    pub(super) fn new(options: Options) -> Self {
        let (chores, chores_to_do) = mpsc::unbounded_channel();
        Self {
            address: options.address(),
            login: options
                .login
                .as_ref()
                .map(|login| Login::new(login, &options.servers, options.timeout)),
            options,
            session: watch::Sender::new(Session::Down(None)),
            naming: Mutex::default(),
            publications: Mutex::default(),
            showing: tokio::sync::RwLock::default(),
            topics: Topics::default(),
            deaf: Arc::new(Deaf),
            reading: Line::default(),
            listening: Line::default(),
            alarm: Notify::new(),
            chores,
            chores_to_do: Mutex::new(Some(chores_to_do)),
            folder: Folder::new(),
            closed: AtomicBool::new(false),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Nothing is begun any more.
    pub(super) fn end(&self) {
        self.closed.store(true, Ordering::Release);
        let reason = "the registry was closed".to_owned();
        self.down(self.error("connect", reason).refused());
    }

    /// Takes back what is left at the end, as far as the server can be reached.
    pub(super) async fn take_all_back(&self) {
        let naming = self.naming.lock().take();
        if let Some(naming) = naming {
            self.abandon(&naming).await;
        }
    }

    /// What every client of nacos-sdk is told.
    pub(super) fn props(&self) -> ClientProps {
        ClientProps::new()
            .server_addr(self.options.server_list())
            .namespace(self.options.namespace.clone())
            .env_first(false)
            .naming_push_empty_protection(false)
            .load_cache_at_start(true)
            .cache_dir(self.folder.0.clone())
    }

    /// Makes a naming request if there is a connection.
    pub(super) async fn request<T, F>(
        &self,
        operation: impl Fn() -> String,
        make: impl FnOnce(NamingService) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>>,
    {
        self.reached(&operation)?;
        let naming = self.naming.lock().clone();
        let Some(naming) = naming else {
            let reason = "the connection has just ended".to_owned();
            return Err(Failure::unavailable(self.error(&operation(), reason)));
        };
        let answer = self.within(&operation, make(naming)).await;
        if matches!(&answer, Err(f) if matches!(f.why, Why::Broken | Why::Late)) {
            self.alarm.notify_one();
        }
        answer
    }

    /// An error of `operation` if there is no connection.
    pub(super) fn reached(&self, operation: impl Fn() -> String) -> Result<(), Failure> {
        let reason = match &*self.session.borrow() {
            Session::Up { .. } => return Ok(()),
            Session::Down(Some(error)) => format!("there is no connection: {}", error.reason),
            Session::Down(None) => "there is no connection yet".to_owned(),
        };
        Err(Failure::unavailable(self.error(&operation(), reason)))
    }

    /// Waits for the answer to a request, but not for ever.
    pub(super) async fn within<T>(
        &self,
        operation: impl Fn() -> String,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        let limit = self.options.timeout;
        let Ok(answer) = timeout(limit, request).await else {
            let reason = format!("no answer within {limit:?}; whether it was done is open");
            return Err(Failure::late(self.error(&operation(), reason)));
        };
        let user = self.login.as_ref().map(|login| login.user());
        answer.map_err(|error| Failure::of(operation(), &self.address, user, error))
    }

    /// Makes something that may take long, in a task of its own, as nacos-sdk may panic meanwhile.
    pub(super) async fn make<T: Send + 'static>(
        &self,
        what: &str,
        making: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Failure> {
        let mut task = JoinSet::new();
        task.spawn(making);
        let reason = match timeout(MAKING, task.join_next()).await {
            Ok(Some(Ok(Ok(made)))) => return Ok(made),
            Ok(Some(Ok(Err(error)))) => {
                let user = self.login.as_ref().map(|login| login.user());
                return Err(Failure::of(what.to_owned(), &self.address, user, error));
            }
            Ok(Some(Err(error))) => format!("nacos-sdk gave up: {error}"),
            Ok(None) | Err(_) => format!("no answer within {MAKING:?}"),
        };
        Err(Failure::late(self.error(what, reason)))
    }

    /// Whether the port of gRPC can be reached at one server at least.
    pub(super) async fn reach(&self) -> Result<(), RegistryError> {
        let mut reason = String::new();
        for (host, port) in &self.options.servers {
            let port = port + APART;
            let address = host.trim_start_matches('[').trim_end_matches(']');
            let connected = timeout(self.options.timeout, TcpStream::connect((address, port)));
            match connected.await {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(error)) => reason = format!("{host}:{port}: {error}"),
                Err(_) => reason = format!("{host}:{port}: no answer"),
            }
        }
        Err(self.error(
            "connect",
            format!("no server can be reached at its port of gRPC: {reason}"),
        ))
    }

    pub(super) fn down(&self, error: RegistryError) {
        self.session
            .send_replace(Session::Down(Some(Arc::new(error))));
    }

    pub(super) fn error(&self, operation: &str, reason: String) -> RegistryError {
        RegistryError::new(operation, &self.address, reason)
    }
}

/// A folder that no other client has had, whose files nacos-sdk would read. It goes with the connection.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_nanos());
        let name = format!("dubbo-nacos-{}-{now}-{count}", process::id());
        Self(env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // There may be none, and it is of no use to anybody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// How long it may take to make a client: one that finds nobody takes 5 s.
const MAKING: Duration = Duration::from_secs(15);
