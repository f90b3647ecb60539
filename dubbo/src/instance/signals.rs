//! The signals of the operating system that say stop.

use std::sync::{Arc, Weak};

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

use super::{Inner, Instance};
use crate::{config::defaults, error::Error};

/// Obeys signals from now on, for as long as the instance is there: the first one begins the shutdown, whether or not
/// anybody serves yet.
pub(super) fn obey(instance: &Arc<Inner>) -> Result<(), Error> {
    if instance.config.shutdown.internal_signal == Some(false) {
        return Ok(());
    }
    let signals = Signals::listen().map_err(Error::Signals)?;
    let obeying = signals.obey(Arc::downgrade(instance));
    instance.last_tasks.lock().spawn(obeying);
    Ok(())
}

/// Waits for the shutdown to be done, or for the signal that cuts it short.
pub(super) async fn serve(instance: &Instance) -> Result<(), Error> {
    let mut impatient = instance.0.impatient.subscribe();
    tokio::select! {
        biased;
        () = instance.0.ended() => Ok(()),
        Ok(_) = impatient.wait_for(|impatient| *impatient) => Err(Error::Interrupted),
    }
}

/// Whether a second signal has come. Each one that serves subscribes to it.
pub(super) type Impatient = watch::Sender<bool>;

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

    async fn obey(mut self, instance: Weak<Inner>) {
        let (name, _) = self.next().await;
        if let Some(instance) = instance.upgrade() {
            tracing::info!(signal = name, "shutting down");
            let grace = instance.current().shutdown.timeout;
            instance.begin_end(grace.unwrap_or(defaults::SHUTDOWN_TIMEOUT));
        }
        loop {
            let (name, exit_code) = self.next().await;
            tracing::warn!(signal = name, "a second signal; not waiting any longer");
            let Some(instance) = instance.upgrade() else {
                return;
            };
            instance.impatient.send_replace(true);
            if instance.impatient.receiver_count() == 0 {
                // The program does something else than to serve, and nothing but this listens to its operator.
                crate::logging::flush(LAST_LINES);
                std::process::exit(exit_code);
            }
        }
    }

    /// A signal's name, and the exit code of what it ends.
    async fn next(&mut self) -> (&'static str, i32) {
        tokio::select! {
            _ = self.interrupt.recv() => ("SIGINT", 128 + 2),
            _ = self.terminate.recv() => ("SIGTERM", 128 + 15),
        }
    }
}

/// How long the last lines of a log may take.
const LAST_LINES: std::time::Duration = std::time::Duration::from_millis(500);
