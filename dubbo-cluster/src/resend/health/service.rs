//! The breaker of one method of a service, whoever provides it.

use std::{
    fmt,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use fastrand::Rng;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    BreakerOptions, BreakerState, Refusal,
    breaker::{Breaker, Change, Leave},
    window::Outcome,
};

/// Stops the calls of a method before a provider is chosen, when they fail with whoever provides it.
pub struct ServiceBreaker {
    /// What messages call the method: `shop.Users.Get`.
    name: String,
    kept: Mutex<(Breaker, Rng)>,
    /// Whether it is closed, so that [`state`](Self::state) takes no lock then.
    closed: AtomicBool,
}

/// Leave for one call. Dropping it unsettled is giving up the call.
#[must_use = "a call has to be settled"]
pub struct ServicePermit<'a> {
    breaker: &'a ServiceBreaker,
    leave: Option<Leave>,
}

impl ServiceBreaker {
    /// A closed one for the method that messages call `name`.
    pub fn new(name: impl Into<String>, options: &BreakerOptions) -> Self {
        Self {
            name: name.into(),
            kept: Mutex::new((Breaker::new(options.window, Instant::now()), Rng::new())),
            closed: AtomicBool::new(true),
        }
    }

    /// What messages call the method.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it stands.
    pub fn state(&self) -> BreakerState {
        if self.closed.load(Relaxed) {
            return BreakerState::Closed;
        }
        self.kept.lock().0.state(Instant::now())
    }

    /// Leave for one call.
    ///
    /// # Errors
    ///
    /// It is open, or enough calls are under way to see whether it may close.
    pub fn enter(&self, options: &BreakerOptions) -> Result<ServicePermit<'_>, Refusal> {
        let now = Instant::now();
        let mut kept = self.kept.lock();
        let leave = kept.0.enter(options, None, now);
        let leave = leave.ok_or_else(|| Refusal::Broken {
            state: kept.0.state(now),
            wait: kept.0.closed_until().map(|until| until - now),
        })?;
        Ok(ServicePermit {
            breaker: self,
            leave: Some(leave),
        })
    }

    /// How likely another attempt should be, from 0.1 to 1: less, the more calls failed of late (`docs/spec/cluster.md`
    /// §7.7). It is 1 with fewer calls than the breaker opens for.
    pub fn retry_weight(&self, options: &BreakerOptions) -> f64 {
        self.kept.lock().0.retry_weight(options, Instant::now())
    }

    fn note(&self, change: Change) {
        self.closed.store(change == Change::Closed, Relaxed);
        match change {
            Change::Closed => {
                tracing::info!(method = self.name, "the breaker of a method has closed");
            }
            Change::Opened => {
                metrics::counter!("dubbo_service_breaker_opened_total", "method" => self.name.clone())
                    .increment(1);
                tracing::warn!(
                    method = self.name,
                    "the breaker of a method has opened: its calls fail with whoever provides it"
                );
            }
        }
    }
}

impl ServicePermit<'_> {
    /// Whether the call is one by which an open breaker finds out whether it may close. One that fails is not tried again.
    pub fn is_probe(&self) -> bool {
        self.leave.is_some_and(|leave| leave.is_probe)
    }

    /// Says how an attempt of the call ended: attempts feed the breaker, and it decides about calls. The first one that is
    /// settled takes the leave; further ones are counted while it is closed.
    pub fn settle(
        &mut self,
        failed: bool,
        elapsed: Duration,
        timeout: Option<Duration>,
        options: &BreakerOptions,
    ) {
        let now = Instant::now();
        let slow_from = options.slow_from(timeout);
        let outcome = Outcome {
            failed,
            slow: slow_from.is_some_and(|from| elapsed >= from),
        };
        let mut kept = self.breaker.kept.lock();
        let (breaker, chance) = &mut *kept;
        let leave = self.leave.take().or_else(|| {
            let closed = breaker.state(now) == BreakerState::Closed;
            closed.then(|| breaker.enter(options, None, now)).flatten()
        });
        let moved = leave.and_then(|leave| breaker.settle(leave, outcome, options, now, chance));
        if let Some(change) = moved {
            self.breaker.note(change);
        }
    }
}

impl Drop for ServicePermit<'_> {
    fn drop(&mut self) {
        if let Some(leave) = self.leave.take() {
            self.breaker.kept.lock().0.give_back(leave);
        }
    }
}

impl fmt::Debug for ServiceBreaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceBreaker")
            .field("name", &self.name)
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ServicePermit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServicePermit")
            .field("breaker", &self.breaker.name)
            .field("is_probe", &self.is_probe())
            .finish_non_exhaustive()
    }
}
