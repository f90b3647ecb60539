//! Connections in memory, on a clock that the tests turn.

mod deadlines;
mod shutdown;
mod silence;

use std::{net::SocketAddr, sync::Arc};

use dubbo_core::{invocation::Peer, payload::Rules, provider::Service, request::Request, url::Url};
use dubbo_test::peer::dubbo::{Call, Connection};
use tokio::time::Instant;

use super::{Served, connection::Shared, routes::Route, settings::Settings};
use crate::{java::JavaService, servers::Served as _};

/// A server without a port.
struct Rig(Served);

impl Rig {
    fn of(service: JavaService) -> Self {
        Self::at(&[], service)
    }

    fn at(parameters: &[(&str, &str)], service: JavaService) -> Self {
        let url = Url::new("dubbo", "localhost")
            .with_path(Call::PATH)
            .with_params(parameters.iter().copied());
        let shared = Shared::new(Settings::of(&url).expect("legal"), Rules::NONE);
        let service: Service = service.into();
        let descriptor = Arc::clone(service.descriptor());
        let route = Route::new(&url, descriptor, service.into_invoker(url.clone()));
        let route = Arc::new(route.expect("legal"));
        assert!(shared.catalog.change(|routes| routes.with(&route)));
        Self(Served(shared))
    }

    fn connect(&self) -> Connection {
        let (near, far) = tokio::io::duplex(BUFFER);
        let shared = &self.0.0;
        let somewhere = SocketAddr::from(([127, 0, 0, 1], 1));
        let connection = Arc::clone(shared).serve(far, Peer::new(somewhere, somewhere));
        shared.connections.spawn(connection);
        Connection::over(near)
    }

    fn announce(&self) {
        self.0.leave();
    }

    /// How many connections were cut with calls on them.
    async fn drain(self, deadline: Instant) -> usize {
        self.0.drain();
        self.0.ended(deadline).await
    }
}

fn greeter() -> JavaService {
    JavaService::new(Call::PATH).method("greet", async |call: Request<(String,)>| {
        Ok(format!("hello {}", call.message().0).into())
    })
}

/// What a socket would take without being read.
const BUFFER: usize = 64 << 10;
