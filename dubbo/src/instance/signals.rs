//! Serving until the operating system says stop.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Instance;
use crate::{config::defaults, error::Error};

/// Waits for a signal or a shutdown from elsewhere, then for the shutdown to be done.
pub(super) async fn serve(instance: &Instance) -> Result<(), Error> {
    let config = &instance.0.config.shutdown;
    let grace = config.timeout.unwrap_or(defaults::SHUTDOWN_TIMEOUT);
    if config.internal_signal == Some(false) {
        instance.0.ended().await;
        return Ok(());
    }
    let mut signals = Signals::listen().map_err(Error::Signals)?;
    tokio::select! {
        () = instance.0.ended() => return Ok(()),
        name = signals.next() => tracing::info!(signal = name, "shutting down"),
    }
    tokio::select! {
        () = instance.shutdown(grace) => Ok(()),
        name = signals.next() => {
            tracing::warn!(signal = name, "a second signal; not waiting any longer");
            Err(Error::Interrupted)
        }
    }
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
    }
}
