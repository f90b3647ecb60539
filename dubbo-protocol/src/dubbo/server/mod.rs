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
    net::{Accepted, Dialect, Listening, Network},
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
        let refused = |reason| ProtocolError::Url {
            url: url.clone(),
            reason,
        };
        check_messages(&descriptor).map_err(refused)?;
        let settings = Settings::of(url).map_err(|error| refused(error.to_string()))?;
        let route = Route::new(url, descriptor, invoker);
        let route = Arc::new(route.map_err(|error| refused(error.to_string()))?);
        let port = url.port().unwrap_or(default_port);
        let mut state = self.state.lock().await;
        if state.shut_down {
            return Err(ProtocolError::ShutDown);
        }
        let known = state.running.iter().position(|s| s.is_at(url.host(), port));
        let at = if let Some(at) = known {
            at
        } else {
            let shared = Shared::new(settings, self.rules.clone());
            let server = Server::start(&self.network, url.host(), port, shared).await?;
            state.running.push(server);
            state.running.len() - 1
        };
        let server = &state.running[at];
        if server.shared().settings != settings {
            return Err(refused(format!(
                "services on one port have the same settings of connections; this one has {settings:?}, and others there \
                 have {:?}",
                server.shared().settings
            )));
        }
        let url = url.with_port(server.listening.address().port());
        let added = server.shared().catalog.change(|routes| routes.with(&route));
        if !added {
            return Err(ProtocolError::Duplicate {
                service: route.key.to_string(),
                address: url.address(),
            });
        }
        Ok(Box::new(Exported {
            url,
            shared: Arc::clone(server.shared()),
            route,
        }))
    }

    /// Tells connected consumers to go elsewhere.
    pub(super) async fn announce_shutdown(&self) {
        for server in &self.state.lock().await.running {
            server.shared().catalog.advance(Stage::Leaving);
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
        for served in draining {
            drained.aborted += served.ended(deadline).await;
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
    served: Served,
}

/// The connections of a server. Dropping it ends them all.
struct Served(Arc<Shared>);

impl Server {
    async fn start(
        network: &Network,
        host: &str,
        port: u16,
        shared: Arc<Shared>,
    ) -> Result<Self, ProtocolError> {
        let accepts = shared.settings.connections;
        let served = Served(Arc::clone(&shared));
        let limited = Arc::clone(&shared);
        let take = move |accepted: Accepted| {
            let connection = Arc::clone(&shared).serve(accepted.stream, accepted.peer);
            shared.connections.spawn(connection);
        };
        let listening = network.listen(host, port, &[Dialect::Dubbo], take).await?;
        listening.limit(move || accepts.saturating_sub(limited.connections.len()));
        tracing::info!(address = %listening.address(), "serving dubbo");
        Ok(Self {
            host: host.to_owned(),
            port,
            listening,
            served,
        })
    }

    fn is_at(&self, host: &str, port: u16) -> bool {
        self.host == host && (self.port == port || self.listening.address().port() == port)
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.served.0
    }

    /// Takes no more connections, and asks those that there are to end.
    async fn drain(self) -> Served {
        self.served.drain();
        self.listening.close().await;
        self.served
    }
}

impl Served {
    fn drain(&self) {
        self.0.catalog.advance(Stage::Draining);
        self.0.connections.close();
        self.0.calls.close();
    }

    /// Waits for the connections to end, and cuts those that are left at `deadline`: how many had calls on them.
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
