//! The port for operators: probes, commands, and a page (`docs/spec/config.md` §4.4, §4.5, §6.2).
//!
//! `application.qos-*` and `metrics.probe` say whether there is one, where, and who may do what; equal ports are one port.
//! What comes is HTTP or lines of a telnet ([`dubbo_protocol::qos`]); both lead to the same [commands](command).

mod access;
mod command;
mod commands;
mod http;
mod plan;
mod probe_page;
mod shell;
mod table;
mod words;

use std::{
    fmt,
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use ::http::Request;
use dubbo_core::http::{HttpBody, HttpHandler};
use dubbo_protocol::qos::{Listener, Routes};

pub(crate) use self::access::Network;
use self::{
    access::{Access, Caller},
    http::Site,
    plan::Planned,
    probe_page::{Dialects, ProbePage},
    shell::Terminal,
};
use crate::{
    config::Config,
    error::Error,
    instance::{Instance, Probe, WeakInstance},
};

/// The ports of one instance for operators. Nothing is open before [`open`](Self::open).
pub(crate) struct Admin {
    ports: Vec<Planned>,
    shared: Arc<Shared>,
    /// Whether a start fails when a port is taken.
    check: bool,
    open: tokio::sync::Mutex<Open>,
    addresses: parking_lot::Mutex<Vec<SocketAddr>>,
}

/// What all that is answered is about.
struct Shared {
    access: Access,
    /// Names that callers on this machine may ask for beside `localhost` and addresses.
    host: Option<String>,
    instance: OnceLock<WeakInstance>,
    /// Pages beside the own ones, by their paths.
    pages: Vec<(&'static str, Arc<dyn HttpHandler>)>,
}

enum Open {
    No,
    Yes(Vec<Listener>),
    /// The instance has ended.
    Closed,
}

impl Admin {
    /// As `config` says, with `pages` beside the own ones.
    pub(crate) fn new(config: &Config, pages: Vec<(&'static str, Arc<dyn HttpHandler>)>) -> Self {
        Self {
            ports: plan::ports(config),
            shared: Arc::new(Shared {
                access: Access::of(&config.application),
                host: config.application.qos_host.clone(),
                instance: OnceLock::new(),
                pages,
            }),
            check: config.application.qos_check == Some(true),
            open: tokio::sync::Mutex::new(Open::No),
            addresses: parking_lot::Mutex::default(),
        }
    }

    /// Whether anybody can ask what was counted.
    pub(crate) fn is_asked(&self) -> bool {
        self.ports.iter().any(|port| port.commands)
    }

    /// Says whose it is.
    pub(crate) fn belongs_to(&self, instance: WeakInstance) {
        // It is said once, when the instance is built.
        let _ = self.shared.instance.set(instance);
    }

    /// Opens the ports, unless that was done. A port that is taken is no reason not to run, unless `qos-check` says so.
    ///
    /// # Errors
    ///
    /// A port is taken, and `qos-check` is on.
    pub(crate) async fn open(&self) -> Result<(), Error> {
        let mut open = self.open.lock().await;
        if self.ports.is_empty() || !matches!(*open, Open::No) {
            return Ok(());
        }
        let mut listeners = Vec::new();
        for port in &self.ports {
            match Listener::bind(&port.host, port.port, self.routes(port)).await {
                Ok(listener) => {
                    let address = listener.address();
                    tracing::info!(%address, commands = port.commands, "listening to operators");
                    listeners.push(listener);
                }
                Err(source) => {
                    let address = format!("{}:{}", port.host, port.port);
                    let error = Error::Admin { address, source };
                    if self.check {
                        return Err(error);
                    }
                    tracing::warn!(%error, "going on without; `application.qos-check: true` would end it here");
                }
            }
        }
        *self.addresses.lock() = listeners.iter().map(Listener::address).collect();
        *open = Open::Yes(listeners);
        Ok(())
    }

    /// Where operators are listened to, the ports never 0.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.addresses.lock().clone()
    }

    /// Closes the ports for good.
    pub(crate) async fn close(&self) {
        let before = std::mem::replace(&mut *self.open.lock().await, Open::Closed);
        self.addresses.lock().clear();
        if let Open::Yes(listeners) = before {
            let closing = listeners.iter().map(Listener::close);
            futures_util::future::join_all(closing).await;
        }
    }

    fn routes(&self, port: &Planned) -> Routes {
        let mut routes = Routes::new();
        let page = |probe, dialects| {
            let shared = Arc::clone(&self.shared);
            Arc::new(ProbePage::new(shared, probe, dialects)) as Arc<dyn HttpHandler>
        };
        if port.commands {
            routes = routes
                .page("/", Arc::new(Site(Arc::clone(&self.shared))))
                .shell(Arc::new(Terminal(Arc::clone(&self.shared))));
            for (path, probe) in PROBES {
                routes = routes.page(path, page(probe, Dialects::Java));
            }
        }
        for (probe, path) in &port.probes {
            routes = routes.page(path, page(*probe, Dialects::Go));
        }
        routes
    }
}

impl Shared {
    /// The instance, as long as anybody has it.
    fn instance(&self) -> Option<Instance> {
        self.instance.get()?.upgrade()
    }

    /// What was counted, in the format of Prometheus.
    ///
    /// # Errors
    ///
    /// Nothing is counted, or nobody shows it; what to do about that.
    async fn metrics(&self) -> Result<String, String> {
        let mut pages = self.pages.iter();
        let Some((_, page)) = pages.find(|(path, _)| *path == METRICS) else {
            return Err("no numbers are shown: set `metrics.enable: true`, and add the feature `prometheus` to the \
                 dependency `dubbo`"
                .to_owned());
        };
        let mut request = Request::new(HttpBody::empty());
        *request.uri_mut() = ::http::Uri::from_static(METRICS);
        let body = page.handle(request).await.into_body();
        let text = http::whole(body).await.map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

/// Whether `name` is a command of operators.
///
/// # Errors
///
/// It is not; which one was probably meant.
pub(crate) fn is_command(name: &str) -> Result<(), String> {
    let found = command::Command::named(name);
    found.map(drop).map_err(|failure| failure.text().to_owned())
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin")
            .field("ports", &self.ports)
            .finish_non_exhaustive()
    }
}

/// Where probes are in Dubbo Java.
const PROBES: [(&str, Probe); 3] = [
    ("/live", Probe::Live),
    ("/ready", Probe::Ready),
    ("/startup", Probe::Startup),
];

/// Where numbers are for Prometheus.
const METRICS: &str = "/metrics";
