//! The life of a server.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::{
    answer::Refusal,
    delays::Delays,
    grpc, http,
    key::ServiceKey,
    ports::{self, Ports},
    state::{Shared, State},
};
use crate::soon;

/// A Nacos server in this process. It ends with its handle.
#[derive(Debug)]
pub struct ScriptedNacos {
    pub(super) shared: Arc<Shared>,
    ports: Ports,
    /// What listens; empty while the server is down.
    listening: Mutex<JoinSet<()>>,
    _clock: JoinSet<()>,
}

impl ScriptedNacos {
    /// Starts an empty server on free ports. It runs on the runtime of the caller.
    pub async fn start() -> Self {
        let (ports, http, grpc) = Ports::find().await;
        let shared = Shared::new();
        let mut clock = JoinSet::new();
        let timed = shared.clone();
        clock.spawn(async move { timed.run().await });
        let server = Self {
            shared,
            ports,
            listening: Mutex::default(),
            _clock: clock,
        };
        server.listen(http, http::serve);
        server.listen(grpc, grpc::serve);
        server
    }

    /// What clients are given: host and port of the HTTP API.
    pub fn address(&self) -> SocketAddr {
        self.ports.http
    }

    /// The gRPC port of [`address`](Self::address), which clients find by themselves.
    pub fn grpc_address(&self) -> SocketAddr {
        self.ports.grpc
    }

    /// Takes other times than Nacos does, for what begins from now on.
    pub fn set_delays(&self, delays: Delays) {
        self.shared.update(|state, _| state.delays = delays);
    }

    /// From now on only these users may ask, with tokens that are good for `ttl` (Nacos's default: 5 h).
    pub fn require_login(&self, users: &[(&str, &str)], ttl: Duration) {
        self.shared
            .update(|state, _| state.auth.require(users, ttl));
    }

    /// Refuses the next request of this type (such as `InstanceRequest`) with result 500 and this code and text. Those
    /// that are to be refused one after another are named one after another.
    pub fn refuse_next(&self, kind: &str, code: i32, text: &str) {
        let refusal = (kind.to_owned(), Refusal::typed(code, text));
        self.shared
            .update(|state, _| state.refusals.push_back(refusal));
    }

    /// Makes a service for persistent instances, as the HTTP API does: ephemeral ones are refused under its name.
    pub fn create_persistent_service(&self, service: &ServiceKey) {
        self.shared
            .update(|state, now| state.naming.create_persistent(service, now));
    }

    /// Where no larger share of the instances is healthy than `threshold`, all are shown as healthy.
    pub fn protect(&self, service: &ServiceKey, threshold: f32) {
        self.shared.update(|state, now| {
            let delays = state.delays;
            state.naming.protect(service, threshold, now, delays);
        });
    }

    /// Kills the server: connections are closed, further ones refused, and what is on no disk is gone: ephemeral
    /// instances, subscriptions, listeners. Configs, persistent instances and tokens stay.
    pub async fn stop(&self) {
        let mut listening = std::mem::take(&mut *self.listening.lock());
        listening.shutdown().await;
        self.drop_connections().await;
        self.shared.update(|state, _| state.crash());
        self.thaw();
    }

    /// Starts the server again as far as its gRPC port is open, where everything is answered with 300, "Server is
    /// starting".
    pub async fn starting(&self) {
        self.shared.update(|state, _| state.starting = true);
        self.listen(ports::listen(self.ports.grpc).await, grpc::serve);
    }

    /// Starts the server again on the same ports, or ends its [`starting`](Self::starting).
    pub async fn start_again(&self) {
        let half = self
            .shared
            .update(|state, _| std::mem::take(&mut state.starting));
        if !half {
            self.listen(ports::listen(self.ports.grpc).await, grpc::serve);
        }
        self.listen(ports::listen(self.ports.http).await, http::serve);
    }

    /// Closes every connection, although the server goes on. A [`Client`](super::Client) has none.
    pub async fn drop_connections(&self) {
        let closed = self.shared.read(State::drop_connections);
        self.until("the end of all connections", || {
            let mut closed = closed.iter();
            self.shared
                .read(|state| closed.all(|id| !state.is_open(*id)))
        })
        .await;
    }

    /// Stops the process without an end of it: connections stay open, and nothing is read or written.
    pub fn freeze(&self) {
        self.shared.gate.close();
    }

    /// Goes on after [`freeze`](Self::freeze).
    pub fn thaw(&self) {
        self.shared.gate.reopen();
    }

    /// Waits until `condition` holds; `what` is for the panic when it never does. It is looked at whenever the server
    /// was told something or did something.
    pub async fn until(&self, what: &str, condition: impl Fn() -> bool) {
        let mut changes = self.shared.changes();
        soon(what, async {
            while !condition() {
                // The server has the sender, so it does not end.
                let _ = changes.changed().await;
            }
        })
        .await;
    }

    fn listen<F>(&self, listener: TcpListener, serve: fn(TcpStream, Arc<Shared>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let shared = self.shared.clone();
        self.listening.lock().spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let accepted = tokio::select! {
                    accepted = listener.accept() => accepted,
                    Some(_) = connections.join_next() => continue,
                };
                shared.gate.open().await;
                // A client that is gone before it is accepted is no concern of others.
                if let Ok((socket, _)) = accepted {
                    connections.spawn(serve(socket, shared.clone()));
                }
            }
        });
    }
}
