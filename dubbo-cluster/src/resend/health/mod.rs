//! The health of providers: breakers, ejection, recovery and scores (`docs/spec/cluster.md` §7.7 to §7.10).
//!
//! ```text
//! candidates -> admits: two loads            of each, before one is chosen
//! chosen     -> enter: leave for one call    a half-open permit, a recovery allowance
//! answered   -> settle: what it was worth    breaker, ejection, recovery, score
//! ```
//!
//! Nothing here runs by itself: machines move with the calls that they see, by the clock that is handed in.

mod breaker;
mod group;
mod recovery;
mod score;
mod service;
mod window;

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use dubbo_core::{
    cluster::{NodeHealth, Score},
    service::MethodRef,
};
use fastrand::Rng;
use parking_lot::Mutex;
use tokio::time::Instant;

use self::{
    breaker::{Breaker, Change, Leave},
    group::Vitals,
    recovery::Recovery,
    score::Scorer,
    window::Outcome,
};
pub use self::{
    breaker::{BreakerOptions, BreakerState},
    group::{EjectionOptions, Forced, HealthGroup},
    recovery::RecoveryOptions,
    score::WeightOptions,
    service::{ServiceBreaker, ServicePermit},
    window::WindowKind,
};

/// What of a policy looks after providers. Nothing does by default.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Guards {
    /// A breaker for each method of each provider, and one for each method of the service.
    pub breaker: Option<BreakerOptions>,
    /// Taking out providers that do badly.
    pub ejection: Option<EjectionOptions>,
    /// How those come back that were out.
    pub recovery: Option<RecoveryOptions>,
    /// Weights that follow what is seen.
    pub weights: Option<WeightOptions>,
}

impl Guards {
    /// Whether none is there.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn panic_threshold(&self) -> u32 {
        let ejection = self.ejection.unwrap_or_default();
        ejection.panic_threshold
    }

    /// How many probes may be under way at a time.
    fn probes(&self) -> Option<u32> {
        self.recovery.map(|recovery| recovery.initial.max(1))
    }
}

/// The health of one provider.
pub struct Health {
    group: HealthGroup,
    vitals: Arc<Vitals>,
    methods: OnceLock<Box<[MethodHealth]>>,
    other: MethodHealth,
    node: Mutex<NodeMachines>,
    /// How many calls at a time it may carry while it comes back; 0 is as many as there are.
    allowance: AtomicU32,
    active: AtomicU32,
}

#[derive(Default)]
struct MethodHealth {
    /// Until when no call passes, in the group's milliseconds; 0 is none, [`FULL`] is as long as the probes take.
    refuses_until: AtomicU64,
    breaker: Mutex<Option<(Breaker, Rng)>>,
}

struct NodeMachines {
    recovery: Recovery,
    scorer: Scorer,
}

/// Leave for one attempt. Dropping it unsettled is giving up the attempt: that says nothing about the provider.
#[must_use = "an attempt has to be settled"]
pub struct Permit<'a> {
    health: &'a Health,
    guards: &'a Guards,
    method: &'a MethodHealth,
    leave: Option<Leave>,
}

/// Why a provider may not be called now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Its breaker is open, or carries as many probes as it may.
    #[error("the breaker is {state}{}", for_another(*.wait))]
    Broken {
        /// Where it stands.
        state: BreakerState,
        /// How long it stays open.
        wait: Option<Duration>,
    },
    /// It is taken out.
    #[error("it is taken out{}", for_another(Some(*.wait)))]
    Ejected {
        /// For how long.
        wait: Duration,
    },
    /// A switch says so.
    #[error("the switch `breaker.force-open` is on")]
    Forced,
    /// It comes back, and carries what it may.
    #[error("it comes back and carries the {allowance} calls that it may carry at a time")]
    Recovering {
        /// How many calls at a time.
        allowance: u32,
    },
}

impl Health {
    /// That of the provider at `address`, of which nothing is known, beside the others of `group`.
    pub fn new(group: &HealthGroup, address: impl Into<String>) -> Self {
        let now = Instant::now();
        Self {
            group: group.clone(),
            vitals: group.join(address.into()),
            methods: OnceLock::new(),
            other: MethodHealth::default(),
            node: Mutex::new(NodeMachines {
                recovery: Recovery::new(now),
                scorer: Scorer::new(),
            }),
            allowance: AtomicU32::new(0),
            active: AtomicU32::new(0),
        }
    }

    /// Leave for one attempt of `method`: the last look, which takes what [`NodeHealth::admits`] only looks at.
    ///
    /// # Errors
    ///
    /// Why not; others may have been quicker.
    pub fn enter<'a>(
        &'a self,
        method: &MethodRef,
        guards: &'a Guards,
        now: Instant,
    ) -> Result<Permit<'a>, Refusal> {
        let forced = match self.group.forced() {
            Forced::Open => return Err(Refusal::Forced),
            Forced::Closed => true,
            Forced::No => false,
        };
        // Where most are out, those that are left would break under the calls of all.
        let all_in = forced || self.group.panics();
        if !all_in {
            self.leave_ejection(guards, now)?;
        }
        let own = self.method(method);
        let leave = match &guards.breaker {
            Some(options) => match own.enter(options, guards.probes(), &self.group, now) {
                Ok(leave) => Some(leave),
                Err(_) if forced => None,
                Err(refusal) => return Err(refusal),
            },
            None => None,
        };
        let active = self.active.fetch_add(1, Relaxed).saturating_add(1);
        let permit = Permit {
            health: self,
            guards,
            method: own,
            leave,
        };
        let allowance = self.allowance.load(Relaxed);
        if guards.recovery.is_some() && allowance != 0 && active > allowance && !all_in {
            return Err(Refusal::Recovering { allowance });
        }
        Ok(permit)
    }

    fn leave_ejection(&self, guards: &Guards, now: Instant) -> Result<(), Refusal> {
        let ejected_until = &self.vitals.ejected_until;
        let until = ejected_until.load(Relaxed);
        if until == 0 {
            return Ok(());
        }
        let millis = self.group.millis(now);
        if millis < until {
            let wait = Duration::from_millis(until - millis);
            return Err(Refusal::Ejected { wait });
        }
        let mine = ejected_until.compare_exchange(until, 0, Relaxed, Relaxed);
        if mine.is_ok() {
            self.come_back(guards, now);
            self.group.look(guards.panic_threshold(), now);
        }
        Ok(())
    }

    fn come_back(&self, guards: &Guards, now: Instant) {
        if let Some(options) = &guards.recovery {
            let mut node = self.node.lock();
            node.recovery.begin(options, now);
            self.show_allowance(&node.recovery);
        }
    }

    fn show_allowance(&self, recovery: &Recovery) {
        self.allowance
            .store(recovery.allowance().unwrap_or(0), Relaxed);
    }

    fn method(&self, method: &MethodRef) -> &MethodHealth {
        let methods = self.methods.get_or_init(|| {
            let count = method.service().methods().len();
            (0..count).map(|_| MethodHealth::default()).collect()
        });
        methods.get(method.index()).unwrap_or(&self.other)
    }

    fn refusal(&self, method: &MethodRef) -> Option<Refusal> {
        let ejected_until = self.vitals.ejected_until.load(Relaxed);
        let broken_until = self.method(method).refuses_until.load(Relaxed);
        let allowance = self.allowance.load(Relaxed);
        match self.group.forced() {
            Forced::Open => return Some(Refusal::Forced),
            Forced::Closed => return None,
            Forced::No if ejected_until | broken_until == 0 && allowance == 0 => return None,
            Forced::No => {}
        }
        let now = self.group.millis(Instant::now());
        let wait = |until: u64| Duration::from_millis(until.saturating_sub(now));
        let all_in = self.group.panics();
        if now < ejected_until && !all_in {
            let wait = wait(ejected_until);
            return Some(Refusal::Ejected { wait });
        }
        if broken_until == FULL {
            let state = BreakerState::HalfOpen;
            return Some(Refusal::Broken { state, wait: None });
        }
        if now < broken_until {
            return Some(Refusal::Broken {
                state: BreakerState::Open,
                wait: Some(wait(broken_until)),
            });
        }
        let is_full = allowance != 0 && self.active.load(Relaxed) >= allowance && !all_in;
        is_full.then_some(Refusal::Recovering { allowance })
    }
}

impl NodeHealth for Health {
    fn admits(&self, method: &MethodRef) -> bool {
        self.refusal(method).is_none()
    }

    fn why_not(&self, method: &MethodRef) -> Option<String> {
        self.refusal(method).map(|refusal| refusal.to_string())
    }
}

impl Permit<'_> {
    /// Whether it is one of the calls by which an open breaker finds out whether it may close. One that fails is not tried
    /// again.
    pub fn is_probe(&self) -> bool {
        self.leave.is_some_and(|leave| leave.is_probe)
    }

    /// Says how the attempt ended: whether that speaks against the provider, how long it took of the time that it had. The
    /// provider's new score, if it changed.
    pub fn settle(
        mut self,
        failed: bool,
        elapsed: Duration,
        timeout: Option<Duration>,
    ) -> Option<Score> {
        let now = Instant::now();
        let (health, guards) = (self.health, self.guards);
        if let (Some(leave), Some(options)) = (self.leave.take(), &guards.breaker) {
            let slow_from = options.slow_from(timeout);
            let outcome = Outcome {
                failed,
                slow: slow_from.is_some_and(|from| elapsed >= from),
            };
            if let Some(change) = self
                .method
                .settle(leave, outcome, guards, &health.group, now)
            {
                health.broke(change, guards, now);
            }
        }
        if let Some(options) = &guards.ejection {
            let group = &health.group;
            group.settle(&health.vitals, failed, options, now);
        }
        // A policy that knows no recovery any more ends one that is under way.
        let is_left_over = guards.recovery.is_none() && health.allowance.load(Relaxed) != 0;
        if guards.recovery.is_none() && guards.weights.is_none() && !is_left_over {
            return None;
        }
        let mut node = health.node.lock();
        if is_left_over {
            node.recovery.end();
            health.show_allowance(&node.recovery);
        }
        if let Some(options) = &guards.recovery {
            node.recovery.carried(health.active.load(Relaxed), now);
            node.recovery.settle(failed, options, now);
            health.show_allowance(&node.recovery);
        }
        let options = guards.weights.as_ref()?;
        node.scorer.settle(failed, elapsed, options, now)
    }
}

impl Health {
    /// A breaker of one of its methods has opened or closed.
    fn broke(&self, change: Change, guards: &Guards, now: Instant) {
        let methods = self.methods.get().into_iter().flatten();
        let broken = methods
            .chain([&self.other])
            .filter(|method| method.is_broken());
        let broken = u32::try_from(broken.count()).unwrap_or(u32::MAX);
        self.vitals.broken_methods.store(broken, Relaxed);
        let (service, provider) = (self.group.service(), &self.vitals.address);
        match change {
            Change::Closed => {
                tracing::info!(
                    service,
                    provider,
                    "the breaker of a method of a provider has closed"
                );
                self.come_back(guards, now);
            }
            Change::Opened => {
                metrics::counter!("dubbo_breaker_opened_total", "service" => service.to_owned())
                    .increment(1);
                tracing::warn!(
                    service,
                    provider,
                    "the breaker of a method of a provider has opened"
                );
            }
        }
        self.group.look(guards.panic_threshold(), now);
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.health.active.fetch_sub(1, Relaxed);
        if let Some(leave) = self.leave.take() {
            self.method
                .give_back(leave, self.guards, &self.health.group);
        }
    }
}

impl MethodHealth {
    fn enter(
        &self,
        options: &BreakerOptions,
        probes: Option<u32>,
        group: &HealthGroup,
        now: Instant,
    ) -> Result<Leave, Refusal> {
        let mut kept = self.breaker.lock();
        let (breaker, _) =
            kept.get_or_insert_with(|| (Breaker::new(options.window, now), Rng::new()));
        let leave = breaker.enter(options, probes, now);
        self.show(breaker, options, probes, group, now);
        leave.ok_or_else(|| Refusal::Broken {
            state: breaker.state(now),
            wait: breaker.closed_until().map(|until| until - now),
        })
    }

    fn settle(
        &self,
        leave: Leave,
        outcome: Outcome,
        guards: &Guards,
        group: &HealthGroup,
        now: Instant,
    ) -> Option<Change> {
        let options = guards.breaker.as_ref()?;
        let mut kept = self.breaker.lock();
        let (breaker, chance) = kept.as_mut()?;
        let moved = breaker.settle(leave, outcome, options, now, chance);
        self.show(breaker, options, guards.probes(), group, now);
        moved
    }

    fn give_back(&self, leave: Leave, guards: &Guards, group: &HealthGroup) {
        let mut kept = self.breaker.lock();
        if let (Some(options), Some((breaker, _))) = (&guards.breaker, kept.as_mut()) {
            breaker.give_back(leave);
            self.show(breaker, options, guards.probes(), group, Instant::now());
        }
    }

    fn is_broken(&self) -> bool {
        let kept = self.breaker.lock();
        let breaker = kept.as_ref();
        breaker.is_some_and(|(breaker, _)| breaker.state(Instant::now()) != BreakerState::Closed)
    }

    /// Writes down what calls need to know without the lock.
    fn show(
        &self,
        breaker: &Breaker,
        options: &BreakerOptions,
        probes: Option<u32>,
        group: &HealthGroup,
        now: Instant,
    ) {
        let until = match breaker.closed_until() {
            Some(until) => group.millis(until),
            None if breaker.may_enter(options, probes, now) => 0,
            None => FULL,
        };
        self.refuses_until.store(until, Relaxed);
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health")
            .field("address", &self.vitals.address)
            .field("allowance", &self.allowance)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("health", self.health)
            .field("is_probe", &self.is_probe())
            .finish_non_exhaustive()
    }
}

fn for_another(wait: Option<Duration>) -> String {
    wait.map_or_else(String::new, |wait| format!(" for another {wait:.1?}"))
}

/// Longer than any time.
const FULL: u64 = u64::MAX;

#[cfg(test)]
mod tests;
