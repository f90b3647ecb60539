//! The provider's side of Triple: one server for each address, any number of services on it.

mod budget;
mod call;
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
    payload::Rules,
    protocol::{Drained, Exporter, ProtocolError},
    service::ServiceDescriptor,
    url::Url,
};
use tokio::{sync::watch, time::Instant};
use tokio_util::task::TaskTracker;

use self::{
    connection::{Connections, End},
    health::ServerHealth,
    routes::{Route, Routes},
};
use crate::{
    catalog::{Catalog, Stage},
    generated::health::HealthServer,
    net::{Dialect, Listening, Network},
};

/// The servers of one protocol value.
#[derive(Default)]
pub(super) struct Servers {
    network: Network,
    rules: Rules,
    state: tokio::sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    running: Vec<Server>,
    shut_down: bool,
}

impl Servers {
    /// None yet, on ports of `network`, which read by `rules` what peers send.
    pub(super) fn new(network: Network, rules: Rules) -> Self {
        Self {
            network,
            rules,
            state: tokio::sync::Mutex::default(),
        }
    }

    /// Serves `invoker` at `url`, on a server that is there already or a new one.
    pub(super) async fn export(
        &self,
        url: &Url,
        default_port: u16,
        descriptor: Arc<ServiceDescriptor>,
        invoker: Arc<dyn Invoker>,
    ) -> Result<Box<dyn Exporter>, ProtocolError> {
        let route = Route::new(url, descriptor, invoker, self.rules.clone());
        let route = Arc::new(route.map_err(|reason| ProtocolError::Url {
            url: url.clone(),
            reason,
        })?);
        let port = url.port().unwrap_or(default_port);
        let mut state = self.state.lock().await;
        if state.shut_down {
            return Err(ProtocolError::ShutDown);
        }
        let known = state.running.iter().position(|s| s.is_at(url.host(), port));
        let at = if let Some(at) = known {
            at
        } else {
            let server = Server::start(&self.network, url.host(), port).await?;
            state.running.push(server);
            state.running.len() - 1
        };
        let server = &state.running[at];
        let added = server
            .catalog
            .change(|routes| routes.with(Arc::clone(&route)));
        if !added {
            return Err(ProtocolError::Duplicate {
                service: route.key.to_string(),
                address: url.with_port(server.bound().port()).address(),
            });
        }
        Ok(Box::new(Exported {
            url: url.with_port(server.bound().port()),
            catalog: Arc::clone(&server.catalog),
            route,
        }))
    }

    /// Tells whoever watches the health of a service here to go elsewhere.
    pub(super) async fn announce_shutdown(&self) {
        for server in &self.state.lock().await.running {
            server.catalog.advance(Stage::Leaving);
        }
    }

    /// Lets the calls in flight finish until `deadline`.
    pub(super) async fn drain(&self, deadline: Instant) -> Drained {
        let running = {
            let mut state = self.state.lock().await;
            state.shut_down = true;
            std::mem::take(&mut state.running)
        };
        let mut draining = Vec::with_capacity(running.len());
        for server in running {
            draining.push(server.drain().await);
        }
        let mut drained = Drained::default();
        for server in draining {
            drained.aborted += server.ended(deadline).await;
        }
        drained
    }
}

/// A share in a listening port and the connections from it. Dropping it ends them all.
struct Server {
    /// The address as it was asked for, where the port may be 0.
    host: String,
    port: u16,
    listening: Listening,
    catalog: Arc<Catalog<Routes>>,
    served: Served,
}

/// The connections of a server. Dropping it ends them all.
struct Served {
    end: watch::Sender<End>,
    connections: TaskTracker,
    calls: TaskTracker,
    cut: Arc<AtomicUsize>,
}

impl Server {
    async fn start(network: &Network, host: &str, port: u16) -> Result<Self, ProtocolError> {
        let catalog = Arc::new(Catalog::new());
        let health = HealthServer::new(ServerHealth::of(&catalog));
        catalog.change(|routes| routes.with(Arc::new(Route::built_in(health.into()))));
        let served = Served {
            end: watch::Sender::new(End::Open),
            connections: TaskTracker::new(),
            calls: TaskTracker::new(),
            cut: Arc::default(),
        };
        let shared = Connections {
            catalog: Arc::clone(&catalog),
            calls: served.calls.clone(),
            end: served.end.subscribe(),
            cut: Arc::clone(&served.cut),
        };
        let connections = served.connections.clone();
        let listening = network
            .listen(host, port, DIALECTS, move |accepted| {
                connections.spawn(shared.clone().serve(accepted));
            })
            .await?;
        tracing::info!(address = %listening.address(), "serving Triple");
        Ok(Self {
            host: host.to_owned(),
            port,
            listening,
            catalog,
            served,
        })
    }

    fn bound(&self) -> SocketAddr {
        self.listening.address()
    }

    fn is_at(&self, host: &str, port: u16) -> bool {
        self.host == host && (self.port == port || self.bound().port() == port)
    }

    /// Takes no more connections, and asks those that there are to end.
    async fn drain(self) -> Served {
        self.catalog.advance(Stage::Draining);
        self.served.end.send_replace(End::Drain);
        self.listening.close().await;
        self.served.connections.close();
        self.served.calls.close();
        self.served
    }
}

impl Served {
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

/// HTTP/1 is told that it needs HTTP/2.
const DIALECTS: &[Dialect] = &[Dialect::Http1, Dialect::Http2];

struct Exported {
    url: Url,
    catalog: Arc<Catalog<Routes>>,
    route: Arc<Route>,
}

#[async_trait]
impl Exporter for Exported {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn unexport(self: Box<Self>) {
        self.catalog
            .change(|routes| Some(routes.without(&self.route)));
    }
}
