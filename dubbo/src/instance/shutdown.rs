//! The end of an instance, step by step (`docs/spec/config.md` §4.2): no call is lost on the way.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{Inner, Phase, Running};
use crate::config::defaults;

impl Inner {
    pub(super) async fn shutdown(&self, grace: Duration) {
        let was_started = self.advance(Phase::Started, Phase::ShuttingDown);
        if !was_started && !self.advance(Phase::Built, Phase::ShuttingDown) {
            self.ended().await;
            return;
        }
        let deadline = Instant::now() + grace;
        let Running {
            exporters,
            registered,
            references,
        } = std::mem::take(&mut *self.running.lock());

        let config = &self.config.shutdown;
        let notify = config
            .notify_timeout
            .unwrap_or(defaults::SHUTDOWN_NOTIFY_TIMEOUT);
        let told = timeout_at(deadline.min(Instant::now() + notify), async {
            for (registry, url) in &registered {
                let registry = &self.registries[*registry];
                if let Err(error) = registry.plugin.unregister(url).await {
                    tracing::warn!(%error, "a registry still lists this instance");
                }
            }
            for protocol in self.protocols.values() {
                protocol.announce_shutdown().await;
            }
        });
        if told.await.is_err() {
            tracing::warn!("telling registries and consumers took too long; going on without");
        }
        if !exporters.is_empty() {
            self.serve_late_calls(deadline).await;
        }
        for protocol in self.protocols.values() {
            let drained = protocol.shutdown(deadline).await;
            if drained.aborted > 0 {
                tracing::warn!(
                    connections = drained.aborted,
                    "calls were still running and have been cut"
                );
            }
        }
        for reference in references {
            reference.close().await;
        }
        for registry in &self.registries {
            let _ = timeout_at(
                deadline.max(Instant::now() + CLOSE),
                registry.plugin.close(),
            )
            .await;
        }
        self.phase.send_replace(Phase::Ended);
    }

    /// Consumers need a moment to take notice; until they have, their calls are served.
    async fn serve_late_calls(&self, deadline: Instant) {
        let config = &self.config.shutdown;
        let notice = config
            .consumer_update_wait_time
            .unwrap_or(defaults::SHUTDOWN_CONSUMER_UPDATE_WAIT_TIME);
        tokio::time::sleep_until(deadline.min(Instant::now() + notice)).await;

        let step = config
            .step_timeout
            .unwrap_or(defaults::SHUTDOWN_STEP_TIMEOUT);
        let window = config
            .offline_request_window_timeout
            .unwrap_or(defaults::SHUTDOWN_OFFLINE_REQUEST_WINDOW_TIMEOUT);
        let until = deadline.min(Instant::now() + step);
        if timeout_at(until, self.activity.idle_for(window))
            .await
            .is_err()
        {
            tracing::info!(
                "calls are still coming or running; no new ones are accepted from now on"
            );
        }
    }

    /// Waits for a shutdown that someone else began.
    pub(super) async fn ended(&self) {
        let mut phase = self.phase.subscribe();
        let _ = phase.wait_for(|phase| *phase == Phase::Ended).await;
    }
}

/// What closing a registry may take when the time has run out already.
const CLOSE: Duration = Duration::from_millis(500);
