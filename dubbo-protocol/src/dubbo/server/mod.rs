//! The provider's side: one server for each address, any number of services on it.

mod budget;
mod call;
mod connection;
mod reply;
mod routes;
mod settings;
#[cfg(test)]
mod tests;

use std::sync::{Arc, atomic::Ordering};

use async_trait::async_trait;
use dubbo_core::{
    invoker::Invoker,
    payload::Rules,
    protocol::{Drained, Exporter, ProtocolError},
    service::ServiceDescriptor,
    url::Url,
};
use tokio::time::Instant;

use self::{connection::Shared, routes::Route, settings::Settings};
use crate::{
    catalog::Stage,
    net::{Accepted, Dialect, Network},
    servers::{self, Server},
};

/// The servers of one protocol value.
#[derive(Default)]
pub(super) struct Servers {
    network: Network,
    rules: Rules,
    running: servers::Servers<Served>,
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
        let refused = |reason| ProtocolError::Url {
            url: url.clone(),
            reason,
        };
        check_messages(&descriptor).map_err(refused)?;
        let settings = Settings::of(url).map_err(|error| refused(error.to_string()))?;
        let route = Route::new(url, descriptor, invoker);
        let route = Arc::new(route.map_err(|error| refused(error.to_string()))?);
        let port = url.port().unwrap_or(default_port);
        let mut running = self.running.open().await?;
        let at = match running.find(url.host(), port) {
            Some(at) => at,
            None => running.add(self.start(url.host(), port, settings).await?),
        };
        let server = running.get(at);
        let Served(shared) = &server.served;
        if shared.settings != settings {
            return Err(refused(format!(
                "services on one port have the same settings of connections; this one has {settings:?}, and others there \
                 have {:?}",
                shared.settings
            )));
        }
        let url = server.bound(url);
        let added = shared.catalog.change(|routes| routes.with(&route));
        if !added {
            return Err(ProtocolError::Duplicate {
                service: route.key.to_string(),
                address: url.address(),
            });
        }
        Ok(Box::new(Exported {
            url,
            shared: Arc::clone(shared),
            route,
        }))
    }

    /// Tells connected consumers to go elsewhere.
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
        settings: Settings,
    ) -> Result<Server<Served>, ProtocolError> {
        let shared = Shared::new(settings, self.rules.clone());
        let served = Served(Arc::clone(&shared));
        let limited = Arc::clone(&shared);
        let take = move |accepted: Accepted| {
            let connection = Arc::clone(&shared).serve(accepted.stream, accepted.peer);
            shared.connections.spawn(connection);
        };
        let listening = self.network.listen(host, port, &[Dialect::Dubbo], take);
        let listening = listening.await?;
        let accepts = settings.connections;
        listening.limit(move || accepts.saturating_sub(limited.connections.len()));
        tracing::info!(address = %listening.address(), "serving dubbo");
        Ok(Server::new(host, port, listening, served))
    }
}

/// The connections of a server. Dropping it ends them all.
struct Served(Arc<Shared>);

impl servers::Served for Served {
    fn leave(&self) {
        self.0.catalog.advance(Stage::Leaving);
    }

    fn drain(&self) {
        self.0.catalog.advance(Stage::Draining);
        self.0.connections.close();
        self.0.calls.close();
    }

    async fn ended(self, deadline: Instant) -> usize {
        let shared = &self.0;
        let done = async {
            shared.connections.wait().await;
            shared.calls.wait().await;
        };
        if tokio::time::timeout_at(deadline, done).await.is_err() {
            shared.cut.cancel();
            // Their calls end with them, at the next await of each handler, which may be far.
            shared.connections.wait().await;
        }
        shared.aborted.load(Ordering::Relaxed)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.0.cut.cancel();
    }
}

struct Exported {
    url: Url,
    shared: Arc<Shared>,
    route: Arc<Route>,
}

#[async_trait]
impl Exporter for Exported {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn unexport(self: Box<Self>) {
        self.shared
            .catalog
            .change(|routes| Some(routes.without(&self.route)));
    }
}

/// Bodies are in hessian2, which has no form for the messages of proto files.
fn check_messages(descriptor: &ServiceDescriptor) -> Result<(), String> {
    let foreign = descriptor
        .methods()
        .iter()
        .find(|method| method.java.is_none());
    foreign.map_or(Ok(()), |method| {
        Err(format!(
            "`{}` has protobuf messages, such as those of `{}`, which this protocol cannot carry; export it on `tri`",
            descriptor.interface(),
            method.name
        ))
    })
}
