//! What a program does itself when its instance is ready, ends, and has ended (`docs/spec/config.md` §4.1).

use std::{fmt, panic::AssertUnwindSafe, pin::Pin, sync::Arc};

use futures_util::FutureExt as _;
use tokio::time::{Instant, timeout_at};

use super::{Instance, InstanceBuilder};

/// The hooks of an instance, each kind in the order in which it was given.
#[derive(Default)]
pub(super) struct Hooks {
    pub(super) ready: Vec<Hook>,
    pub(super) stopping: Vec<Hook>,
    pub(super) stopped: Vec<Hook>,
}

/// What a program does at one of these times.
pub(super) type Hook =
    Arc<dyn Fn(Instance) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

fn kept<F, Fut>(hook: F) -> Hook
where
    F: Fn(Instance) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    Arc::new(move |instance| Box::pin(hook(instance)))
}

impl InstanceBuilder {
    /// Does `hook` when the instance has started: its services are registered, and it is ready.
    /// [`start`](Instance::start) waits for it.
    ///
    /// ```no_run
    /// use dubbo::Instance;
    ///
    /// # fn main() -> Result<(), dubbo::Error> {
    /// let instance = Instance::builder()
    ///     .on_ready(async |instance: Instance| println!("serving {:?}", instance.exported()))
    ///     .on_stopped(async |_| println!("bye"))
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_ready<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(Instance) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.hooks.ready.push(kept(hook));
        self
    }

    /// Does `hook` when the end begins, while the instance leaves its registries and calls are still served. New calls are
    /// refused only when it is done, or when the time for the end is over. It runs after a start that has failed, too.
    pub fn on_stopping<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(Instance) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.hooks.stopping.push(kept(hook));
        self
    }

    /// Does `hook` when calls have ended and everything is closed, as long as there is time for the end, and for half a
    /// second in any case. [`shutdown`](Instance::shutdown) and [`serve`](Instance::serve) wait for it.
    pub fn on_stopped<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(Instance) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.hooks.stopped.push(kept(hook));
        self
    }
}

/// Runs `hooks` one after another until `deadline`, if there is one. One that panics does not keep the others from running.
pub(super) async fn run(
    name: &str,
    hooks: &[Hook],
    instance: &Instance,
    deadline: Option<Instant>,
) {
    for (index, hook) in hooks.iter().enumerate() {
        // It may panic before it has given a future, too.
        let running = async { hook(instance.clone()).await };
        let running = AssertUnwindSafe(running).catch_unwind();
        let run = match deadline {
            Some(deadline) => timeout_at(deadline, running).await,
            None => Ok(running.await),
        };
        match run {
            Ok(Ok(())) => {}
            Ok(Err(_)) => tracing::error!(hook = name, index, "a hook of the program panicked"),
            Err(_) => {
                tracing::warn!(
                    hook = name,
                    index,
                    left = hooks.len() - index - 1,
                    "no time is left for a hook of the program; it is given up, and those after it are not run"
                );
                return;
            }
        }
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks")
            .field("ready", &self.ready.len())
            .field("stopping", &self.stopping.len())
            .field("stopped", &self.stopped.len())
            .finish()
    }
}
