//! The end of an instance, step by step (`docs/spec/config.md` §4.2): no call is lost on the way.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use dubbo_core::{protocol::Drained, registry::RegistryError, url::Url};
use dubbo_protocol::filter::{Leaving, Stage};
use futures_util::future::{join, join_all};
use tokio::time::{Instant, error::Elapsed, timeout_at};

use super::{INJVM, Inner, Instance, Phase, Running, hooks, registries::NamedRegistry};
use crate::config::defaults;

impl Inner {
    /// Begins the end, unless it has begun, and waits until it is done.
    ///
    /// # Cancel safety
    ///
    /// The end goes on when the future is dropped.
    pub(super) async fn shutdown(self: &Arc<Self>, grace: Duration) {
        self.begin_end(grace);
        self.ended().await;
    }

    /// Begins the end, unless it has begun.
    pub(super) fn begin_end(self: &Arc<Self>, grace: Duration) {
        let begins = self.phase.send_if_modified(|phase| {
            let begins = *phase < Phase::ShuttingDown;
            if begins {
                *phase = Phase::ShuttingDown;
            }
            begins
        });
        if begins {
            let ending = Ending(Arc::clone(self));
            let deadline = after(grace);
            self.last_tasks
                .lock()
                .spawn(async move { ending.0.end(deadline).await });
        }
    }

    /// Waits for a shutdown that someone else begins to begin.
    pub(super) async fn ending(&self) {
        self.reached(Phase::ShuttingDown).await;
    }

    /// Waits for a shutdown that someone else begins to be done.
    pub(super) async fn ended(&self) {
        self.reached(Phase::Ended).await;
    }

    async fn reached(&self, phase: Phase) {
        let mut phases = self.phase.subscribe();
        // Its sender is in `self`.
        let _ = phases.wait_for(|now| *now >= phase).await;
    }

    async fn end(self: &Arc<Self>, deadline: Instant) {
        let instance = Instance(Arc::clone(self));
        let stopping = hooks::run(
            "on_stopping",
            &self.hooks.stopping,
            &instance,
            Some(deadline),
        );
        join(stopping, self.depart(deadline)).await;
        self.extensions.shared::<Leaving>().reach(Stage::Refusing);
        self.told.ends();
        self.drain(deadline).await;
        self.close(deadline).await;
        let patience = deadline.max(after(LAST_WORDS));
        hooks::run("on_stopped", &self.hooks.stopped, &instance, Some(patience)).await;
        self.telemetry.close(patience).await;
        // Last of all: until now operators could see how it goes.
        self.admin.close().await;
        crate::logging::flushed(LAST_WORDS).await;
    }

    /// Tells everybody of the end, while calls are served as before.
    async fn depart(&self, deadline: Instant) {
        self.rules.let_go().await;
        let (registered, applications, serves) = {
            let mut running = self.running.lock();
            let registered = std::mem::take(&mut running.registered);
            let applications = std::mem::take(&mut running.applications);
            (registered, applications, !running.exporters.is_empty())
        };
        // What was taken offline just before is still known to consumers.
        let was_registered =
            !registered.is_empty() || !applications.is_empty() || !self.presence.is_empty();
        self.presence.leave();
        self.extensions.shared::<Leaving>().reach(Stage::Closing);
        self.leave(&registered, &applications, deadline).await;
        self.announce(deadline).await;
        if serves {
            self.serve_late_calls(was_registered, deadline).await;
        }
    }

    /// Closes what is left when no call is under way.
    async fn close(&self, deadline: Instant) {
        let Running { references, .. } = std::mem::take(&mut *self.running.lock());
        let references = references.iter().map(|reference| &reference.invoker);
        let references: Vec<_> = references.filter_map(Weak::upgrade).collect();
        join_all(references.iter().map(|reference| reference.close())).await;
        self.dead_letters().close(deadline).await;
        let patience = deadline.max(after(LAST_WORDS));
        let closed = join(self.rules.close(), self.registries.close());
        if timeout_at(patience, closed).await.is_err() {
            tracing::warn!("a registry or a config center did not close in time");
        }
    }

    /// Tells the registries that this instance goes. One that does not answer holds up none of the others.
    async fn leave(&self, registered: &[(usize, Url)], applications: &[usize], deadline: Instant) {
        let patience = deadline.max(after(LAST_WORDS));
        let services = registered.iter().map(|(registry, url)| async move {
            let registry = self.registries.get(*registry);
            let what = url.service_key().to_string();
            tell_of_rest(
                registry,
                &what,
                timeout_at(patience, registry.unregister(url)).await,
            );
        });
        let applications = applications.iter().map(|registry| async move {
            let registry = self.registries.get(*registry);
            let left = timeout_at(patience, registry.unregister_application()).await;
            tell_of_rest(registry, "the application", left);
        });
        tokio::join!(
            join_all(services),
            join_all(applications),
            self.registries.end_mapping(),
            self.definitions.close(),
        );
    }

    /// Tells the consumers that are connected.
    async fn announce(&self, deadline: Instant) {
        let notify = self.current().shutdown.notify_timeout;
        let until = deadline.min(after(notify.unwrap_or(defaults::SHUTDOWN_NOTIFY_TIMEOUT)));
        let told = join_all(
            self.protocols
                .values()
                .map(|protocol| protocol.announce_shutdown()),
        );
        if timeout_at(until, told).await.is_err() {
            tracing::warn!("telling the consumers took too long; going on without");
        }
    }

    /// Consumers need a moment to take notice; until they have, their calls are served. Those that have not come by a
    /// registry hear of the end from this instance itself, and need none.
    async fn serve_late_calls(&self, was_registered: bool, deadline: Instant) {
        let config = &self.current().shutdown;
        if was_registered {
            let notice = config
                .consumer_update_wait_time
                .unwrap_or(defaults::SHUTDOWN_CONSUMER_UPDATE_WAIT_TIME);
            tokio::time::sleep_until(deadline.min(after(notice))).await;
        }

        let step = config
            .step_timeout
            .unwrap_or(defaults::SHUTDOWN_STEP_TIMEOUT);
        let window = config
            .offline_request_window_timeout
            .unwrap_or(defaults::SHUTDOWN_OFFLINE_REQUEST_WINDOW_TIMEOUT);
        let until = deadline.min(after(step));
        let idle = timeout_at(until, self.activity.idle_for(window)).await;
        if idle.is_err() {
            tracing::info!(
                "calls are still coming or running; no new ones are accepted from now on"
            );
        }
    }

    /// Ends all calls. Those in flight may make calls themselves until they are done, and some of these stay within the
    /// process: so services in it end after those that others reach, and references after all services.
    async fn drain(&self, deadline: Instant) {
        let (within, beyond): (Vec<_>, Vec<_>) =
            self.protocols.iter().partition(|(name, _)| *name == INJVM);
        for protocols in [beyond, within] {
            let drained = protocols.into_iter().map(|(name, protocol)| async move {
                tell_of_cut(name, "served", protocol.drain(deadline).await);
            });
            join_all(drained).await;
        }
        // These wait to be made again, on connections that are there until now.
        self.dead_letters().drain(deadline).await;
        let closed = self.protocols.iter().map(|(name, protocol)| async move {
            tell_of_cut(name, "made", protocol.close(deadline).await);
        });
        join_all(closed).await;
    }
}

/// An instance on its way out. It has ended when this is dropped, whatever happened.
struct Ending(Arc<Inner>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.phase.send_replace(Phase::Ended);
    }
}

fn tell_of_rest(
    registry: &NamedRegistry,
    what: &str,
    left: Result<Result<(), RegistryError>, Elapsed>,
) {
    let registry = &registry.id;
    match left {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(registry, what, %error, "a registry may still list this instance");
        }
        Err(_) => {
            tracing::warn!(
                registry,
                what,
                "no time left for it to answer that this instance is gone"
            );
        }
    }
}

fn tell_of_cut(protocol: &str, calls: &str, drained: Drained) {
    if drained.aborted > 0 {
        tracing::warn!(
            protocol,
            calls,
            connections = drained.aborted,
            "calls were still running and have been cut"
        );
    }
}

/// The instant `duration` from now, as far away as it may be.
fn after(duration: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(duration).unwrap_or_else(|| now + FOR_EVER)
}

/// What leaving a registry may take when the time has run out already: being called in vain costs consumers more.
const LAST_WORDS: Duration = Duration::from_millis(500);

const FOR_EVER: Duration = Duration::from_hours(24 * 365);
