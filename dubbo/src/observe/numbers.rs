//! The numbers of one instance: where they can be had, and where they are pushed.

use std::{
    net::SocketAddr,
    path::Path,
    sync::{Arc, Weak},
    time::Duration,
};

use dubbo_core::http::HttpHandler;
use dubbo_protocol::qos::{Listener, Routes};
use parking_lot::Mutex;
use tokio::{runtime::Handle, sync::OnceCell, task::JoinSet, time::Instant};

use super::{
    application::Application,
    prometheus::{self, Collect, NumbersPage, Push, Recorder, Window},
    refused,
};
use crate::{config::Config, error::Error};

/// What `metrics` asks for.
pub(super) struct Numbers {
    recorder: Arc<Recorder>,
    handle: Handle,
    /// The port of its own, and the path there.
    at: Option<(u16, String)>,
    is_shown: bool,
    push: Option<Push>,
    open: OnceCell<Open>,
}

/// What goes on until the end.
struct Open {
    listener: Option<Listener>,
    tasks: Mutex<JoinSet<()>>,
}

impl Numbers {
    /// `None` if the program counts by itself.
    pub(super) fn new(
        config: &Config,
        application: &Application,
        handle: &Handle,
    ) -> Result<Option<Self>, Error> {
        let metrics = &config.metrics;
        let Some(recorder) = prometheus::install(Window::of(&metrics.aggregation)) else {
            return Ok(None);
        };
        recorder.know(application, metrics.enable_metadata == Some(true));
        let labels = application.labels();
        // It is a counter in dubbo-go, and says that there is one.
        metrics::counter!("dubbo_application_info_total", &labels).absolute(1);
        let gateway = &metrics.prometheus.pushgateway;
        let push = (gateway.enabled == Some(true)).then(|| {
            let authorities = config.tls_config.ca_cert_file.as_deref().map(Path::new);
            Push::new(gateway, authorities, Arc::clone(&recorder))
                .map_err(|reason| refused("`dubbo.metrics.prometheus.pushgateway`", reason))
        });
        let is_shown = metrics.prometheus.exporter.enabled != Some(false);
        let has_own = is_shown && (metrics.port.is_some() || metrics.path.is_some());
        let path = metrics.path.as_deref().unwrap_or(PATH);
        Ok(Some(Self {
            recorder,
            handle: handle.clone(),
            at: has_own.then(|| (metrics.port.unwrap_or(PORT), path.to_owned())),
            is_shown,
            push: push.transpose()?,
            open: OnceCell::new(),
        }))
    }

    pub(super) async fn open(&self) -> Result<(), Error> {
        self.open.get_or_try_init(|| self.begin()).await?;
        Ok(())
    }

    async fn begin(&self) -> Result<Open, Error> {
        let listener = match &self.at {
            None => None,
            Some((port, path)) => {
                let routes = Routes::new().page(path, self.own_page());
                // Whoever reads is answered there and not among the calls.
                let bound = Listener::bind("0.0.0.0", *port, routes);
                let bound = self.handle.spawn(bound).await;
                let bound = bound.map_err(|error| error.to_string());
                let bound = bound.and_then(|bound| bound.map_err(|error| error.to_string()));
                let taken = |reason| refused("`dubbo.metrics.port`", format!("{port}: {reason}"));
                Some(bound.map_err(taken)?)
            }
        };
        let mut tasks = JoinSet::new();
        if let Some(push) = self.push.clone() {
            tasks.spawn_on(push.go_on(), &self.handle);
        }
        let recorder = Arc::clone(&self.recorder);
        let clock = async move {
            let step = recorder.window().step();
            loop {
                tokio::time::sleep(step).await;
                recorder.step(Instant::now());
            }
        };
        tasks.spawn_on(clock, &self.handle);
        Ok(Open {
            listener,
            tasks: Mutex::new(tasks),
        })
    }

    pub(super) fn ask(&self, collector: Weak<dyn Collect>) {
        self.recorder.ask(collector);
    }

    pub(super) fn page(&self) -> Option<Arc<dyn HttpHandler>> {
        (self.is_shown && self.at.is_none()).then(|| self.own_page())
    }

    fn own_page(&self) -> Arc<dyn HttpHandler> {
        Arc::new(NumbersPage(Arc::clone(&self.recorder)))
    }

    pub(super) fn address(&self) -> Option<SocketAddr> {
        Some(self.open.get()?.listener.as_ref()?.address())
    }

    /// Pushes the last numbers, and closes the port.
    pub(super) async fn close(&self, deadline: Instant) {
        let left = deadline
            .saturating_duration_since(Instant::now())
            .max(LAST_WORDS);
        let Some(open) = self.open.get() else {
            return;
        };
        open.tasks.lock().abort_all();
        if let Some(push) = self.push.clone() {
            let pushed = async move { push.once(left).await };
            if let Ok(Err(reason)) = self.handle.spawn(pushed).await {
                tracing::warn!(reason, "the last numbers could not be pushed");
            }
        }
        if let Some(listener) = &open.listener {
            listener.close().await;
        }
    }
}

/// dubbo-go's.
const PORT: u16 = 9090;
pub(super) const PATH: &str = "/metrics";

/// What the last push may take when the time has run out already.
const LAST_WORDS: Duration = Duration::from_millis(500);
