//! The provider's side of Triple: one server for each address, any number of services on it.

mod bare;
mod bounds;
mod budget;
mod call;
mod connection;
mod cors;
mod crowd;
mod dispatch;
mod failure;
pub(crate) mod fuzzing;
mod health;
mod http2;
mod life;
mod mounts;
mod pace;
mod patience;
mod received;
mod reflection;
mod refusal;
mod reply;
mod request;
mod rest;
mod routes;
mod settings;
mod site;
mod web;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use dubbo_core::{
    http::HttpHandler,
    invoker::Invoker,
    payload::Rules,
    protocol::{Drained, Exporter, ProtocolError},
    service::ServiceDescriptor,
    url::Url,
};
use tokio::{sync::watch, time::Instant};
use tokio_util::task::TaskTracker;

pub use self::cors::{BadCorsSetting, CorsSettings};
use self::{
    connection::{Connections, End},
    health::ServerHealth,
    mounts::Mount,
    routes::{Route, Routes},
    settings::ServerSettings,
};
use crate::{
    catalog::{Catalog, Stage},
    generated::health::HealthServer,
    net::{Dialect, Network},
    servers::{self, Server},
};

/// The servers of one protocol value.
#[derive(Default)]
pub(super) struct Servers {
    network: Network,
    rules: Rules,
    running: servers::Servers<Behind>,
}

impl Servers {
    /// None yet, on ports of `network`, which read by `rules` what peers send.
    pub(super) fn new(network: Network, rules: Rules) -> Self {
        Self {
            network,
            rules,
            running: servers::Servers::default(),
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
        let route = route.map_err(|reason| ProtocolError::Url {
            url: url.clone(),
            reason,
        })?;
        self.add(url, default_port, Served::Calls(Arc::new(route)))
            .await
    }

    /// Has `handler` answer at the path of `url` and below, on a server that is there already or a new one.
    pub(super) async fn mount(
        &self,
        url: &Url,
        default_port: u16,
        handler: Arc<dyn HttpHandler>,
    ) -> Result<Box<dyn Exporter>, ProtocolError> {
        let mount = Mount::new(url.path(), handler).map_err(|reason| ProtocolError::Url {
            url: url.clone(),
            reason,
        })?;
        self.add(url, default_port, Served::Http(mount)).await
    }

    async fn add(
        &self,
        url: &Url,
        default_port: u16,
        what: Served,
    ) -> Result<Box<dyn Exporter>, ProtocolError> {
        let refused = |reason| ProtocolError::Url {
            url: url.clone(),
            reason,
        };
        let port = url.port().unwrap_or(default_port);
        let settings = ServerSettings::read(url).map_err(refused)?;
        let mut running = self.running.open().await?;
        let at = match running.find(url.host(), port) {
            Some(at) => at,
            None => running.add(self.start(url.host(), port, settings.clone()).await?),
        };
        // Who mounts something may name the port alone.
        if matches!(what, Served::Calls(_)) {
            let open = &running.get(at).served.settings;
            open.check_same(&settings).map_err(refused)?;
        }
        let server = running.get(at);
        let url = server.bound(url);
        let catalog = Arc::clone(&server.served.catalog);
        if !catalog.change(|routes| what.added_to(routes)) {
            return Err(ProtocolError::Duplicate {
                service: what.name(),
                address: url.address(),
            });
        }
        Ok(Box::new(Exported { url, catalog, what }))
    }

    /// Tells whoever watches the health of a service here to go elsewhere.
    pub(super) async fn announce_shutdown(&self) {
        self.running.announce_shutdown().await;
    }

    /// Lets the calls in flight finish until `deadline`.
    pub(super) async fn drain(&self, deadline: Instant) -> Drained {
        self.running.drain(deadline).await
    }

    async fn start(
        &self,
        host: &str,
        port: u16,
        settings: ServerSettings,
    ) -> Result<Server<Behind>, ProtocolError> {
        let catalog = Arc::new(Catalog::new());
        let health = HealthServer::new(ServerHealth::of(&catalog));
        catalog.change(|routes| routes.with(Arc::new(Route::built_in(health.into()))));
        if settings.reflection {
            for service in reflection::services(&catalog) {
                catalog.change(|routes| routes.with(Arc::new(Route::built_in(service))));
            }
        }
        let served = Behind {
            catalog: Arc::clone(&catalog),
            settings: Arc::new(settings),
            end: watch::Sender::new(End::Open),
            connections: TaskTracker::new(),
            calls: TaskTracker::new(),
            cut: Arc::default(),
        };
        let shared = Connections {
            catalog,
            settings: Arc::clone(&served.settings),
            calls: served.calls.clone(),
            end: served.end.subscribe(),
            cut: Arc::clone(&served.cut),
            room: Connections::room(&served.settings.bounds),
            crowding: Arc::default(),
        };
        let connections = served.connections.clone();
        let take = move |accepted| {
            connections.spawn(shared.clone().serve(accepted));
        };
        let listening = self.network.listen(host, port, DIALECTS, take).await?;
        listening.hear_within(served.settings.bounds.handshake);
        tracing::info!(address = %listening.address(), "serving Triple");
        Ok(Server::new(host, port, listening, served))
    }
}

/// The connections of a server. Dropping it ends them all.
struct Behind {
    catalog: Arc<Catalog<Routes>>,
    settings: Arc<ServerSettings>,
    end: watch::Sender<End>,
    connections: TaskTracker,
    calls: TaskTracker,
    cut: Arc<AtomicUsize>,
}

impl servers::Served for Behind {
    fn leave(&self) {
        self.catalog.advance(Stage::Leaving);
    }

    fn drain(&self) {
        self.catalog.advance(Stage::Draining);
        self.end.send_replace(End::Drain);
        self.connections.close();
        self.calls.close();
    }

    async fn ended(self, deadline: Instant) -> usize {
        let done = async {
            self.connections.wait().await;
            self.calls.wait().await;
        };
        if tokio::time::timeout_at(deadline, done).await.is_err() {
            self.end.send_replace(End::Cut);
            // Their calls end with them, at the next await of each handler. One that blocks its thread has none, and nothing
            // ends it: it is left behind, with its connection.
            let _ = tokio::time::timeout(STUCK, self.connections.wait()).await;
        }
        self.cut.load(Ordering::Relaxed) + self.connections.len()
    }
}

/// How long handlers may take to come to an await, once their connections are cut.
const STUCK: Duration = Duration::from_millis(500);

const DIALECTS: &[Dialect] = &[Dialect::Http1, Dialect::Http2];

struct Exported {
    url: Url,
    catalog: Arc<Catalog<Routes>>,
    what: Served,
}

enum Served {
    Calls(Arc<Route>),
    Http(Mount),
}

impl Served {
    fn name(&self) -> String {
        match self {
            Self::Calls(route) => route.key.to_string(),
            Self::Http(mount) => mount.to_string(),
        }
    }

    fn added_to(&self, routes: &Routes) -> Option<Routes> {
        match self {
            Self::Calls(route) => routes.with(Arc::clone(route)),
            Self::Http(mount) => routes.with_mount(mount.clone()),
        }
    }

    fn taken_from(&self, routes: &Routes) -> Routes {
        match self {
            Self::Calls(route) => routes.without(route),
            Self::Http(mount) => routes.without_mount(mount),
        }
    }
}

#[async_trait]
impl Exporter for Exported {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn unexport(self: Box<Self>) {
        self.catalog
            .change(|routes| Some(self.what.taken_from(routes)));
    }
}
