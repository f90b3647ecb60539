//! The spans of one instance.

use std::{path::Path, time::Duration};

use dubbo_core::extension::Extensions;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::{runtime::Handle, time::Instant};

use super::{otel, refused};
use crate::{config::Config, error::Error};

/// What `otel.tracing` asks for.
pub(super) struct Spans(SdkTracerProvider);

impl Spans {
    /// Has the filters of the instance make spans.
    pub(super) fn new(
        config: &Config,
        extensions: &Extensions,
        handle: &Handle,
    ) -> Result<Self, Error> {
        let authorities = config.tls_config.ca_cert_file.as_deref().map(Path::new);
        let provider = otel::provider(config, authorities, handle)
            .map_err(|reason| refused("`dubbo.otel.tracing`", reason))?;
        extensions.share(otel::traces(&config.otel.tracing, &provider));
        Ok(Self(provider))
    }

    /// Sends what has not been sent, until `deadline`. There are no spans after that.
    pub(super) async fn flush(&self, deadline: Instant) {
        let left = deadline
            .saturating_duration_since(Instant::now())
            .max(LAST_WORDS);
        let provider = self.0.clone();
        // It waits for its thread, and must not keep this one from what the spans are sent by.
        let sent = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(left)).await;
        if let Ok(Err(error)) = sent {
            tracing::warn!(%error, "the last spans could not be sent");
        }
    }
}

/// What sending them may take when the time has run out already.
const LAST_WORDS: Duration = Duration::from_millis(500);
