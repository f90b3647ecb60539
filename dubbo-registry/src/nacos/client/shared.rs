//! What the tasks of a connection, its requests and its watches share.

use std::{
    env, fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use dubbo_core::registry::RegistryError;
use nacos_sdk::api::{error::Error, naming::NamingService};
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, mpsc, watch},
    time::timeout,
};

use super::{
    Failure, Options, Why,
    generation::Generation,
    link::{Link, unique},
    login::Login,
    subscriptions::Topics,
};
use crate::backend::{Session, TextKey};

pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) address: String,
    pub(super) login: Option<Arc<Login>>,
    pub(super) session: watch::Sender<Session>,
    /// The client of nacos-sdk, from when it is made until it is given up.
    pub(super) generation: Mutex<Option<Arc<Generation>>>,
    pub(super) topics: Topics,
    /// Rung when a request finds the connection lost.
    pub(super) alarm: Notify,
    pub(super) chores: mpsc::UnboundedSender<Chore>,
    /// Taken by whoever does them.
    pub(super) chores_to_do: Mutex<Option<mpsc::UnboundedReceiver<Chore>>>,
    /// Where nacos-sdk keeps what is of no use to us.
    pub(super) folder: Folder,
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
            generation: Mutex::default(),
            topics: Topics::default(),
            alarm: Notify::new(),
            chores,
            chores_to_do: Mutex::new(Some(chores_to_do)),
            folder: Folder(env::temp_dir().join(unique())),
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
        let generation = self.generation.lock().take();
        if let Some(generation) = generation {
            self.leave_all(&generation).await;
            generation.cut();
        }
    }

    /// The client that there is.
    pub(super) fn generation(
        &self,
        operation: impl Fn() -> String,
    ) -> Result<Arc<Generation>, Failure> {
        self.reached(&operation)?;
        let generation = self.generation.lock().clone();
        generation.ok_or_else(|| {
            let reason = "the connection has just ended".to_owned();
            Failure::unavailable(self.error(&operation(), reason))
        })
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
        let generation = self.generation(&operation)?;
        self.request_of(&generation, operation, make).await
    }

    /// Makes a naming request of this client.
    pub(super) async fn request_of<T, F>(
        &self,
        generation: &Generation,
        operation: impl Fn() -> String,
        make: impl FnOnce(NamingService) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let request = make(generation.naming.clone());
        let answer = self.within(&generation.link, operation, request).await;
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

    /// Waits for the answer to a request, but not for ever, and not on a connection that is lost.
    pub(super) async fn within<T>(
        &self,
        link: &Link,
        operation: impl Fn() -> String,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        let limit = self.options.timeout;
        let answer = tokio::select! {
            biased;
            answer = timeout(limit, request) => answer,
            why = link.lost() => return Err(self.broken(&operation(), &why)),
        };
        let Ok(answer) = answer else {
            let reason = format!("no answer within {limit:?}; whether it was done is open");
            return Err(Failure::late(self.error(&operation(), reason)));
        };
        let user = self.login.as_ref().map(|login| login.user());
        answer.map_err(|error| Failure::of(operation(), &self.address, user, error))
    }

    /// That the connection was lost meanwhile.
    pub(super) fn broken(&self, operation: &str, why: &str) -> Failure {
        let reason = format!("the connection is lost: {why}");
        Failure::broken(self.error(operation, reason))
    }

    pub(super) fn down(&self, error: RegistryError) {
        self.session
            .send_replace(Session::Down(Some(Arc::new(error))));
    }

    pub(super) fn error(&self, operation: &str, reason: String) -> RegistryError {
        RegistryError::new(operation, &self.address, reason)
    }
}

/// A folder that no other client has had. It goes with the connection.
pub(super) struct Folder(pub(super) PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // There may be none, and it is of no use to anybody.
        let _ = fs::remove_dir_all(&self.0);
    }
}
