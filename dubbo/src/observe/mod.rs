//! What an instance tells of itself: numbers for Prometheus and spans for OpenTelemetry (`docs/observability.md`).

pub(crate) mod application;
#[cfg(any(feature = "otel", feature = "prometheus"))]
mod background;
#[cfg(any(feature = "otel", feature = "prometheus"))]
mod client;
#[cfg(feature = "prometheus")]
mod numbers;
#[cfg(feature = "otel")]
mod otel;
#[cfg(feature = "prometheus")]
mod prometheus;
#[cfg(feature = "otel")]
mod spans;
pub(crate) mod tally;

use std::{net::SocketAddr, sync::Arc};

use dubbo_core::{extension::Extensions, http::HttpHandler};
use tokio::time::Instant;

#[cfg(feature = "prometheus")]
pub(crate) use self::prometheus::Collect;
use self::{application::Application, tally::Tally};
use crate::{config::Config, error::Error, logging::Observer};

/// What the events of the process are told to besides its log.
#[cfg_attr(
    not(feature = "otel"),
    expect(unused_variables, reason = "what asks is a feature")
)]
pub(crate) fn observers(config: &Config) -> Vec<Observer> {
    #[cfg(feature = "otel")]
    if config.otel.tracing.enable == Some(true) && config.logger.trace_integration.records_errors()
    {
        return vec![otel::to_spans()];
    }
    Vec::new()
}

/// The telemetry of one instance. Without the features for it there is none, and nothing asks for any.
pub(crate) struct Telemetry {
    #[cfg(feature = "prometheus")]
    numbers: Option<numbers::Numbers>,
    #[cfg(feature = "otel")]
    spans: Option<spans::Spans>,
    /// What both are sent from; so it goes last.
    #[cfg(any(feature = "otel", feature = "prometheus"))]
    background: parking_lot::Mutex<Option<background::Background>>,
}

impl Telemetry {
    /// Makes what the configuration asks for, before any filter is made. Nothing is sent and no port is open yet.
    ///
    /// # Errors
    ///
    /// What it asks for cannot be had.
    #[cfg_attr(
        not(any(feature = "otel", feature = "prometheus")),
        expect(clippy::unnecessary_wraps, reason = "what can fail is a feature")
    )]
    pub(crate) fn new(
        config: &Config,
        application: &Application,
        extensions: &Extensions,
    ) -> Result<Self, Error> {
        extensions.share(application.machine.clone());
        extensions.share(Tally::of(config, application));
        #[cfg(any(feature = "otel", feature = "prometheus"))]
        let background = {
            let is_needed =
                config.metrics.enable == Some(true) || config.otel.tracing.enable == Some(true);
            let made = is_needed.then(background::Background::new).transpose();
            made.map_err(|error| refused("telemetry", error.to_string()))?
        };
        Ok(Self {
            #[cfg(feature = "prometheus")]
            numbers: match &background {
                Some(background) if config.metrics.enable == Some(true) => {
                    numbers::Numbers::new(config, application, background.handle())?
                }
                Some(_) | None => None,
            },
            #[cfg(feature = "otel")]
            spans: match &background {
                Some(background) if config.otel.tracing.enable == Some(true) => {
                    Some(spans::Spans::new(config, extensions, background.handle())?)
                }
                Some(_) | None => None,
            },
            #[cfg(any(feature = "otel", feature = "prometheus"))]
            background: parking_lot::Mutex::new(background),
        })
    }

    /// Opens the port of numbers, and begins to push them, as far as either is asked for and has not been done.
    ///
    /// # Errors
    ///
    /// The port cannot be opened.
    #[cfg_attr(
        not(feature = "prometheus"),
        expect(clippy::unused_async, reason = "what waits is a feature")
    )]
    pub(crate) async fn open(&self) -> Result<(), Error> {
        #[cfg(feature = "prometheus")]
        if let Some(numbers) = &self.numbers {
            numbers.open().await?;
        }
        Ok(())
    }

    /// Has `collector` look its numbers up whenever numbers are asked for.
    #[cfg(feature = "prometheus")]
    pub(crate) fn ask(&self, collector: std::sync::Weak<dyn Collect>) {
        if let Some(numbers) = &self.numbers {
            numbers.ask(collector);
        }
    }

    /// What answers with the numbers at `/metrics` of the port for operators: where there are any, and no other port for them.
    #[cfg_attr(
        not(feature = "prometheus"),
        expect(clippy::unused_self, reason = "who counts is a feature")
    )]
    pub(crate) fn page(&self) -> Option<(&'static str, Arc<dyn HttpHandler>)> {
        #[cfg(feature = "prometheus")]
        {
            let page = self.numbers.as_ref()?.page()?;
            Some((numbers::PATH, page))
        }
        #[cfg(not(feature = "prometheus"))]
        None
    }

    /// Where the port of numbers is open.
    #[cfg_attr(
        not(feature = "prometheus"),
        expect(clippy::unused_self, reason = "who counts is a feature")
    )]
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        #[cfg(feature = "prometheus")]
        {
            self.numbers.as_ref()?.address()
        }
        #[cfg(not(feature = "prometheus"))]
        None
    }

    /// Sends what has not been sent, until `deadline`, and closes the port.
    #[cfg_attr(
        not(any(feature = "otel", feature = "prometheus")),
        expect(
            clippy::unused_async,
            unused_variables,
            reason = "what waits is a feature"
        )
    )]
    pub(crate) async fn close(&self, deadline: Instant) {
        #[cfg(feature = "otel")]
        if let Some(spans) = &self.spans {
            spans.flush(deadline).await;
        }
        #[cfg(feature = "prometheus")]
        if let Some(numbers) = &self.numbers {
            numbers.close(deadline).await;
        }
        #[cfg(any(feature = "otel", feature = "prometheus"))]
        drop(self.background.lock().take());
    }
}

#[cfg(any(feature = "otel", feature = "prometheus"))]
fn refused(what: &'static str, reason: String) -> Error {
    Error::Telemetry { what, reason }
}
