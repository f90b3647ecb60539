//! Whether there is another attempt after one that failed, and when (`docs/spec/cluster.md` §7.3, §7.5, §7.6).

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    cluster::{Candidates, Node, Timing},
    invocation::Invocation,
    status::{Code, Status},
};
use fastrand::Rng;
use tokio::time::Instant;

use super::{Attempts, End, Failure};
use crate::resend::{
    Class,
    backoff::{Backoff, BackoffKind},
    budget::Spent,
    dead_letter::Reason,
    policy::Target,
    pool::OnFull,
};

/// Why there is no other attempt, where the last one's status does not say enough.
type Instead = Option<Status>;

impl Attempts<'_> {
    /// The invocation of the next attempt; before it, [`waited`](Self::waited) has to pass.
    ///
    /// # Errors
    ///
    /// That of the call: there is none.
    pub(super) fn next(
        &mut self,
        failure: Failure,
        replay: Option<Invocation>,
    ) -> Result<Invocation, Status> {
        let decided = match failure {
            Failure::Answer(status) => {
                self.lose(Reason::NonRetryable, &status, replay);
                return Err(status);
            }
            Failure::Last => Err(None),
            Failure::Tried {
                class,
                node,
                candidates,
            } => self.decide(class, &node, &candidates, replay.is_some()),
        };
        match (decided, replay) {
            (Ok(()), Some(replay)) => Ok(replay),
            (Ok(()), None) => Err(self.give_up(None, None)),
            (Err(instead), replay) => Err(self.give_up(instead, replay)),
        }
    }

    fn decide(
        &mut self,
        class: Class,
        node: &Node,
        candidates: &Candidates,
        is_repeatable: bool,
    ) -> Result<(), Instead> {
        if self.made() >= self.allowed {
            return Err(None);
        }
        if !self.reference.policies.switches().retry_enabled {
            return self.stopped(
                End::Switched,
                "not tried again because the switch `retry.enabled` is off",
            );
        }
        if !is_repeatable {
            return self.stopped(
                End::NotRepeatable,
                "not tried again because its requests are a stream, which cannot be sent twice",
            );
        }
        if class == Class::Deadline {
            return self.stopped(End::Deadline, NO_TIME);
        }
        let now = Instant::now();
        if !self.policy.is_compat() {
            self.check_class(class)?;
            self.check_limit(class, now)?;
            self.check_health(candidates)?;
        }
        let wait = self.wait(node, candidates);
        let least = wait.saturating_add(self.policy.options().min_attempt_budget);
        if self.time_left(now).is_some_and(|left| left < least) {
            return self.stopped(End::Deadline, NO_TIME);
        }
        if self.policy.has_pools() {
            self.enter_pool(wait, now)?;
        }
        self.spend(now)?;
        self.waited = wait;
        Ok(())
    }

    /// Whether the last failure is one that the policy tries again.
    fn check_class(&mut self, class: Class) -> Result<(), Instead> {
        let policy = Arc::clone(&self.policy);
        let Some(last) = self.last_status() else {
            return Ok(());
        };
        if !policy.options().retry_on.covers(class, last) {
            let why = format!(
                "not tried again because the policy `{}` does not name {} ({class})",
                policy.name(),
                last.code()
            );
            return self.stopped(End::NotRepeatable, why);
        }
        if !class.is_unprocessed() && !self.is_idempotent {
            let why = format!(
                "not tried again because it may have been done, and `{}` is not idempotent",
                self.method.name(),
            );
            return self.stopped(End::NotRepeatable, why);
        }
        if class == Class::Unknown && self.count(Class::Unknown) > UNKNOWN_RETRIES {
            return self.stopped(
                End::NotRepeatable,
                "not tried again because nothing says what went wrong, twice",
            );
        }
        Ok(())
    }

    /// A limit that does not say when it has room again is asked again only while there is retry budget to spare.
    fn check_limit(&mut self, class: Class, now: Instant) -> Result<(), Instead> {
        let is_mute = |status: &Status| {
            status.code() == Code::ResourceExhausted && status.pushback().is_none()
        };
        let budget = self.policy.budget(self.pool);
        if class != Class::Refused
            || !self.last_status().is_some_and(is_mute)
            || budget.is_none_or(|budget| budget.is_half_full(now))
        {
            return Ok(());
        }
        self.stopped(
            End::Budget,
            "not tried again because a limit was met that does not say for how long, and less than half of the retry \
             budget is left",
        )
    }

    /// Once the breaker of the method is open no call is tried again. Where nobody else is left to ask, the more calls of
    /// the method fail, the fewer of them are.
    fn check_health(&mut self, candidates: &Candidates) -> Result<(), Instead> {
        let policy = Arc::clone(&self.policy);
        let Some(options) = &policy.options().guards.breaker else {
            return Ok(());
        };
        let policies = &self.reference.policies;
        if policies.is_broken(&self.method, options) {
            return self.stopped(
                End::NotAdmitted,
                "not tried again because the breaker of the method has opened",
            );
        }
        let weight = policies
            .breaker(&self.method, options)
            .retry_weight(options);
        if self.has_others(candidates) || fastrand::f64() < weight {
            return Ok(());
        }
        self.stopped(
            End::NotAdmitted,
            "not tried again, as a part of the calls is not, because many calls of the method have failed of late",
        )
    }

    /// How long to wait before the next attempt.
    fn wait(&mut self, node: &Node, candidates: &Candidates) -> Duration {
        let failures = self.made();
        let backoff = self.backoff();
        let first = backoff
            .first_other_node_delay
            .filter(|_| failures == 1 && self.has_others(candidates));
        let wait = first.unwrap_or_else(|| {
            let timing = match backoff.kind {
                BackoffKind::Adaptive => node.state.method(&self.method).timing(),
                _ => Timing::default(),
            };
            backoff.wait(failures, &mut self.waits, timing, &mut Rng::new())
        });
        let pushback = self.last_status().and_then(Status::pushback);
        let pushback = pushback.filter(|_| self.policy.options().honours_pushback);
        wait.max(pushback.unwrap_or_default())
    }

    /// Whether another provider than those that failed the call is there, and will be asked.
    fn has_others(&self, candidates: &Candidates) -> bool {
        let mut nodes = candidates.iter();
        !self.stays()
            && nodes.any(|node| !self.tried.contains(&node.id) && node.admits(&self.method))
    }

    pub(super) fn backoff(&self) -> Backoff {
        let usual = match self.target {
            Target::Same => Backoff::SAME,
            Target::Other | Target::SameThenOther(_) => Backoff::STRICT,
        };
        self.policy.options().backoff.unwrap_or(usual)
    }

    /// Takes room in its pool for the next attempt, which begins after `wait`.
    fn enter_pool(&mut self, wait: Duration, now: Instant) -> Result<(), Instead> {
        let pool = Arc::clone(self.pool());
        let (name, options) = (pool.name(), pool.options());
        let age = now.saturating_duration_since(self.began);
        if age.saturating_add(wait) > options.ttl {
            let ttl = options.ttl;
            let why = format!("not tried again because the pool `{name}` keeps calls for {ttl:?}");
            return self.stopped(End::Expired, why);
        }
        self.room = pool.enter();
        if self.room.is_some() {
            return Ok(());
        }
        let most = options.concurrency;
        metrics::counter!("dubbo_retry_pool_full_total", "pool" => name.to_string()).increment(1);
        self.stop(
            End::PoolFull,
            format!("not tried again because the pool `{name}` is full, with {most} calls"),
        );
        match options.on_full {
            OnFull::Drop => {
                tracing::warn!(
                    service = %self.service, method = self.method.name(), pool = %name, calls = most,
                    "a call is not tried again because its pool is full"
                );
                Err(None)
            }
            OnFull::Refuse => {
                let text = format!("the retry pool `{name}` is full, with {most} calls");
                let hint = self.backoff().cap.max(SHORTEST_HINT);
                Err(Some(Status::resource_exhausted(text).with_pushback(hint)))
            }
        }
    }

    /// Takes one retry from the budget.
    fn spend(&mut self, now: Instant) -> Result<(), Instead> {
        let spent = match self.policy.budget(self.pool) {
            Some(budget) => budget.take(now).err(),
            None => None,
        };
        let Some(spent) = spent else { return Ok(()) };
        self.room = None;
        let service = self.service.to_string();
        metrics::counter!("dubbo_retry_budget_exhausted_total", "service" => service).increment(1);
        let why = match spent {
            Spent::Budget => "not tried again because the retry budget is exhausted",
            Spent::Throttled => "not tried again because most attempts fail",
        };
        self.stopped(End::Budget, why)
    }

    fn stopped(&mut self, end: End, why: impl Into<String>) -> Result<(), Instead> {
        self.stop(end, why);
        Err(None)
    }
}

/// How often a call is tried again after failures that nothing explains.
const UNKNOWN_RETRIES: usize = 1;

/// What a caller is told to wait at least when a pool is full.
const SHORTEST_HINT: Duration = Duration::from_millis(100);

const NO_TIME: &str = "not tried again because the caller's deadline leaves no time for it";
