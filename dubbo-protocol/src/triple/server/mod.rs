//! The provider's side of Triple: one server for each address, any number of services on it.

mod budget;
mod call;
mod catalog;
mod connection;
mod health;
mod reply;
mod request;
mod rest;
mod routes;

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use dubbo_core::{
    invoker::Invoker,
    protocol::{Drained, Exporter, ProtocolError},
    service::ServiceDescriptor,
    url::Url,
};
use tokio::{net::TcpListener, sync::watch, time::Instant};
use tokio_util::task::TaskTracker;

use self::{
    catalog::{Catalog, Stage},
    connection::{Connections, End, reached},
    health::ServerHealth,
    routes::Route,
};
use crate::{generated::health::HealthServer, net::accept_until};

/// The servers of one protocol value.
#[derive(Default)]
pub(super) struct Servers(tokio::sync::Mutex<State>);

#[derive(Default)]
struct State {
    running: Vec<Server>,
    shut_down: bool,
}

impl Servers {
    /// Serves `invoker` at `url`, on a server that is there already or a new one.
    pub(super) async fn export(
        &self,
        url: &Url,
        default_port: u16,
        descriptor: Arc<ServiceDescriptor>,
        invoker: Arc<dyn Invoker>,
    ) -> Result<Box<dyn Exporter>, ProtocolError> {
        let route = Route::new(url, descriptor, invoker).map_err(|reason| ProtocolError::Url {
            url: url.clone(),
            reason,
        })?;
        let route = Arc::new(route);
        let port = url.port().unwrap_or(default_port);
        let mut state = self.0.lock().await;
        if state.shut_down {
            return Err(ProtocolError::ShutDown);
        }
        let known = state.running.iter().position(|s| s.is_at(url.host(), port));
        let at = if let Some(at) = known {
            at
        } else {
            state.running.push(Server::start(url.host(), port).await?);
            state.running.len() - 1
        };
        let server = &state.running[at];
        if !server.catalog.add(Arc::clone(&route)) {
            return Err(ProtocolError::Duplicate {
                service: route.key.to_string(),
                address: url.with_port(server.bound.port()).address(),
            });
        }
        Ok(Box::new(Exported {
            url: url.with_port(server.bound.port()),
            catalog: Arc::clone(&server.catalog),
            route,
        }))
    }

    /// Tells whoever watches the health of a service here to go elsewhere.
    pub(super) async fn announce_shutdown(&self) {
        for server in &self.0.lock().await.running {
            server.catalog.advance(Stage::Leaving);
        }
    }

    /// Lets the calls in flight finish until `deadline`.
    pub(super) async fn drain(&self, deadline: Instant) -> Drained {
        let running = {
            let mut state = self.0.lock().await;
            state.shut_down = true;
            std::mem::take(&mut state.running)
        };
        for server in &running {
            server.drain();
        }
        let mut drained = Drained::default();
        for server in running {
            drained.aborted += server.ended(deadline).await;
        }
        drained
    }
}

/// One listening socket and the connections from it. Dropping it ends them all.
struct Server {
    /// The address as it was asked for, where the port may be 0.
    host: String,
    port: u16,
    bound: SocketAddr,
    catalog: Arc<Catalog>,
    end: watch::Sender<End>,
    connections: TaskTracker,
    calls: TaskTracker,
    cut: Arc<AtomicUsize>,
}

impl Server {
    async fn start(host: &str, port: u16) -> Result<Self, ProtocolError> {
        let bind = |source| ProtocolError::Bind {
            address: Url::new("", host).with_port(port).address(),
            source,
        };
        let listener = TcpListener::bind((host, port)).await.map_err(bind)?;
        let bound = listener.local_addr().map_err(bind)?;
        let catalog = Arc::new(Catalog::new());
        let health = HealthServer::new(ServerHealth::of(&catalog));
        catalog.add(Arc::new(Route::built_in(health.into())));
        let server = Self {
            host: host.to_owned(),
            port,
            bound,
            catalog,
            end: watch::Sender::new(End::Open),
            connections: TaskTracker::new(),
            calls: TaskTracker::new(),
            cut: Arc::default(),
        };
        server.listen(listener);
        tracing::info!(address = %bound, "serving Triple");
        Ok(server)
    }

    fn listen(&self, listener: TcpListener) {
        let shared = Connections {
            catalog: Arc::clone(&self.catalog),
            calls: self.calls.clone(),
            end: self.end.subscribe(),
            cut: Arc::clone(&self.cut),
        };
        let mut end = self.end.subscribe();
        let connections = self.connections.clone();
        self.connections.spawn(async move {
            let drain = reached(&mut end, End::Drain);
            accept_until(listener, drain, |stream| {
                connections.spawn(shared.clone().serve(stream));
            })
            .await;
        });
    }

    fn is_at(&self, host: &str, port: u16) -> bool {
        self.host == host && (self.port == port || self.bound.port() == port)
    }

    fn drain(&self) {
        self.catalog.advance(Stage::Draining);
        self.end.send_replace(End::Drain);
        self.connections.close();
        self.calls.close();
    }

    /// Waits for the connections to end, and cuts those that are left at `deadline`: how many.
    async fn ended(self, deadline: Instant) -> usize {
        let done = async {
            self.connections.wait().await;
            self.calls.wait().await;
        };
        if tokio::time::timeout_at(deadline, done).await.is_err() {
            self.end.send_replace(End::Cut);
            // Their calls end with them, at the next await of each handler, which may be far.
            self.connections.wait().await;
        }
        self.cut.load(Ordering::Relaxed)
    }
}

struct Exported {
    url: Url,
    catalog: Arc<Catalog>,
    route: Arc<Route>,
}

#[async_trait]
impl Exporter for Exported {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn unexport(self: Box<Self>) {
        self.catalog.remove(&self.route);
    }
}
