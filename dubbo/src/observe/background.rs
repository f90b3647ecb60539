//! The thread that telemetry is sent from: it keeps no call waiting, and is there however the program runs.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

/// A runtime of its own, with one thread.
#[derive(Debug)]
pub(crate) struct Background(Option<Runtime>);

impl Background {
    /// # Errors
    ///
    /// There is no thread to be had.
    pub(crate) fn new() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("dubbo-telemetry")
            .enable_all()
            .build()?;
        Ok(Self(Some(runtime)))
    }

    pub(crate) fn handle(&self) -> &Handle {
        let runtime = self.0.as_ref();
        runtime
            .expect("invariant: it is taken by `drop` alone")
            .handle()
    }
}

impl Drop for Background {
    /// What is still on its way is given up: whoever wants it sent waits for it before.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
