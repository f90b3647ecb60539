//! One call on its way through its attempts (`docs/spec/cluster.md` §2.1, §7.3).

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    cluster::{Candidates, Node, NodeId, Timing},
    invocation::{Invocation, Reply, RpcResult},
    service::{CallKind, MethodRef, ServiceKey},
    status::{Code, Retry, Status},
};
use fastrand::Rng;
use smallvec::SmallVec;
use tokio::time::{Instant, sleep};

use super::{
    attempt::{self, Reference},
    failed::{Attempt, End, FailedCall},
};
use crate::resend::{
    Class,
    backoff::{Backoff, BackoffKind, Waits},
    budget::Spent,
    health::{BreakerState, Permit, ServicePermit},
    idempotency::{self, IDEMPOTENCY_KEY},
    metadata::Attempted,
    policy::{Idempotency, Policy, Target},
    pool::{self, OnFull, Room},
};

/// Makes the attempts of one call until one is answered, or none is left that could help. `target` is who is asked again
/// where the policy of the call does not say.
pub(super) async fn make(
    reference: &Reference,
    target: Target,
    mut invocation: Invocation,
) -> RpcResult {
    attempt::let_others_run().await;
    let mut call = Attempts::begin(reference, target, &mut invocation)?;
    let policy = Arc::clone(&call.policy);
    let mut service = attempt::enter_service(reference, &policy, &invocation.method)?;
    loop {
        let (node, candidates) = match call.choose(&invocation) {
            Ok(Some(chosen)) => chosen,
            Ok(None) => {
                sleep(RELIST).await;
                continue;
            }
            Err(instead) => return Err(call.give_up(instead)),
        };
        let permit = match attempt::enter(reference, &policy, &node, &invocation.method) {
            Ok(permit) => permit,
            Err(refused) if call.refused(&node) => return Err(call.give_up(Some(refused))),
            Err(_) => continue,
        };
        let is_probe = permit.as_ref().is_some_and(Permit::is_probe)
            || service.as_ref().is_some_and(ServicePermit::is_probe);
        // Before this attempt adds to it.
        let replay = call.may_go_on().then(|| invocation.try_clone()).flatten();
        call.tell(&mut invocation, &node);
        let (timeout, started) = (invocation.timeout, Instant::now());
        let result = attempt::send(reference, &node, permit, invocation).await;
        if let Some(service) = &mut service {
            call.settle(service, result.as_ref().err(), started, timeout);
        }
        let status = match result {
            Ok(reply) => return Ok(call.answered(&node, reply)),
            Err(status) => status,
        };
        let class = match call.failed(&node, candidates.len(), started, status) {
            Ok(class) => class,
            Err(answer) => return Err(answer),
        };
        if is_probe {
            call.stop(End::NotAdmitted, PROBE);
            return Err(call.give_up(None));
        }
        let next = match call.next(&node, &candidates, class, replay) {
            Ok(next) => next,
            Err(instead) => return Err(call.give_up(instead)),
        };
        drop(candidates);
        invocation = next;
        if !call.waited.is_zero() {
            sleep(call.waited).await;
        }
        attempt::let_others_run().await;
    }
}

struct Attempts<'a> {
    reference: &'a Reference,
    policy: Arc<Policy>,
    service: Arc<ServiceKey>,
    method: MethodRef,
    began: Instant,
    deadline: Option<Instant>,
    allowed: u32,
    target: Target,
    is_idempotent: bool,
    /// The number of its pool.
    pool: usize,
    tried: SmallVec<[NodeId; 4]>,
    /// Those of them that were not called, because they are not to be now.
    refused: SmallVec<[NodeId; 4]>,
    /// Made with the first failure: a call that works pays nothing for it.
    failed: Option<Box<FailedCall>>,
    /// How long was waited before the attempt under way.
    waited: Duration,
    waits: Waits,
    /// Held from a failure to the end of the next attempt.
    room: Option<Room>,
    was_listed_again: bool,
}

impl<'a> Attempts<'a> {
    /// # Errors
    ///
    /// Its deadline has passed.
    fn begin(
        reference: &'a Reference,
        target: Target,
        invocation: &mut Invocation,
    ) -> Result<Self, Status> {
        let policies = &reference.policies;
        let switches = policies.switches();
        let mut policy = policies.of(invocation);
        if policy.is_compat() && target == Target::Same {
            policy = policies.same();
        }
        let options = policy.options();
        let is_unary = invocation.method.kind() == CallKind::Unary;
        if is_unary && invocation.timeout.is_none() {
            invocation.timeout = options.per_attempt_timeout;
        }
        let retries = reference.prepare(invocation).retries;
        let asked = take_retries(invocation).map(|retries| retries.saturating_add(1));
        let configured = || {
            let retries = retries.map(|retries| u32::try_from(retries).unwrap_or(0));
            retries.unwrap_or(RETRIES_DEFAULT).saturating_add(1)
        };
        let allowed = asked.or(options.max_attempts).unwrap_or_else(configured);
        let most = switches.max_attempts_override.unwrap_or(u32::MAX);
        let allowed = if switches.retry_enabled {
            allowed.min(most)
        } else {
            1
        };
        let began = Instant::now();
        if is_unary && !policy.is_compat() {
            let each = invocation.timeout.filter(|_| invocation.deadline.is_none());
            let all = each.and_then(|timeout| timeout.checked_mul(allowed));
            let total = options.total_timeout.or(all);
            let end = total.and_then(|total| began.checked_add(total));
            invocation.deadline = [invocation.deadline, end].into_iter().flatten().min();
        }
        if !policy.is_compat() {
            idempotency::ensure_id(&mut invocation.attachments);
            if options.idempotency == Idempotency::Keyed {
                idempotency::ensure_key(&mut invocation.attachments);
            }
        }
        let is_idempotent = match options.idempotency {
            Idempotency::Assume | Idempotency::Keyed => true,
            Idempotency::Never => false,
            Idempotency::Declared => {
                policies.is_idempotent(&invocation.method)
                    || invocation.attachments.contains(IDEMPOTENCY_KEY)
            }
        };
        let pool = if policy.has_pools() {
            policy.pool_of(pool::tag(&invocation.attachments))
        } else {
            0
        };
        let call = Self {
            reference,
            service: Arc::clone(&invocation.service),
            method: invocation.method.clone(),
            began,
            deadline: invocation.deadline,
            allowed,
            target: options.target.unwrap_or(target),
            is_idempotent,
            pool,
            tried: SmallVec::new(),
            refused: SmallVec::new(),
            failed: None,
            waited: Duration::ZERO,
            waits: Waits::default(),
            room: None,
            was_listed_again: false,
            policy,
        };
        if call.time_left(began).is_some_and(|left| left.is_zero()) {
            return Err(Status::deadline_exceeded(format!(
                "calling {} of {}: its deadline passed before the first attempt",
                call.method.name(),
                call.service
            )));
        }
        if let Some(budget) = call.policy.budget(pool) {
            budget.called(began);
        }
        if call.waits_by_timing() {
            // Whoever goes by what calls show has to see them from the first one on.
            let nodes = reference.directory.nodes();
            for node in nodes.iter() {
                node.state.method(&call.method).timing();
            }
        }
        Ok(call)
    }

    /// Lists the providers anew; the next one to try, and all that there are. `None` when it is worth looking once more
    /// after [`RELIST`].
    ///
    /// # Errors
    ///
    /// Why there is nobody; `None` when the last attempt's status says enough.
    fn choose(
        &mut self,
        invocation: &Invocation,
    ) -> Result<Option<(Node, Candidates)>, Option<Status>> {
        let candidates = match self.reference.directory.list(invocation) {
            Ok(candidates) => {
                if self.policy.is_guarded() {
                    self.reference.policies.listed(candidates.list().len());
                }
                candidates
            }
            Err(_) if self.may_list_again() => {
                self.was_listed_again = true;
                return Ok(None);
            }
            Err(nobody) => {
                if let Some(failed) = &mut self.failed {
                    failed.end = End::NoProvider;
                }
                return Err(Some(nobody));
            }
        };
        if let Some(same) = self.same(&candidates) {
            if !same.state.admits(&self.method) {
                let why = same.state.why_not(&self.method).unwrap_or_default();
                self.stop(
                    End::NotAdmitted,
                    format!("the same provider is not tried again: {why}"),
                );
                return Err(None);
            }
            let same = same.clone();
            return Ok(Some((same, candidates)));
        }
        let method = self.reference.config.method(&self.method);
        let node = self
            .reference
            .choose(&candidates, &self.tried, method, invocation)?;
        let Some(node) = node else {
            self.stop(
                End::Exhausted,
                "not tried again because each provider has failed it and none is available",
            );
            return Err(None);
        };
        Ok(Some((node, candidates)))
    }

    /// The provider that failed, if it is to be asked again and is still there.
    fn same<'c>(&self, candidates: &'c Candidates) -> Option<&'c Node> {
        let last = *self.tried.last()?;
        let is_wanted = match self.target {
            Target::Other => false,
            Target::Same => true,
            Target::SameThenOther(times) => self.made() <= times,
        };
        let mut same = candidates.iter().filter(|node| node.id == last);
        same.next().filter(|_| is_wanted)
    }

    /// Whether a strict policy looks once more for somebody.
    fn may_list_again(&self) -> bool {
        let least = RELIST + self.policy.options().min_attempt_budget;
        let left = self.time_left(Instant::now());
        !self.policy.is_compat() && !self.was_listed_again && left.is_none_or(|left| left >= least)
    }

    /// Notes that `node` is not to be called now; whether nobody else is left either.
    fn refused(&mut self, node: &Node) -> bool {
        let was_refused = self.refused.contains(&node.id);
        self.refused.push(node.id);
        self.tried.push(node.id);
        was_refused
    }

    /// Tells the breaker of the method how an attempt ended.
    fn settle(
        &self,
        service: &mut ServicePermit<'_>,
        failure: Option<&Status>,
        started: Instant,
        timeout: Option<Duration>,
    ) {
        let Some(options) = &self.policy.options().guards.breaker else {
            return;
        };
        let now = Instant::now();
        let is_over = self.time_left(now).is_some_and(|left| left.is_zero());
        let class = failure.map(|status| Class::of(status, is_over));
        if !matches!(class, Some(Class::Canceled | Class::Deadline)) {
            let failed = class.is_some_and(Class::is_failure_of_node);
            let elapsed = now.saturating_duration_since(started);
            service.settle(failed, elapsed, timeout, options);
        }
    }

    /// Whether there may be another attempt after the one that is to begin.
    fn may_go_on(&self) -> bool {
        self.made() + 1 < self.allowed
    }

    /// Tells the provider of the attempts before this one.
    fn tell(&self, invocation: &mut Invocation, node: &Node) {
        let Some(failed) = &self.failed else { return };
        let Some(last) = failed.attempts.last() else {
            return;
        };
        let attempted = Attempted {
            failures: failed.made,
            cause: last.class,
            pool: self.policy.has_pools().then(|| &**self.pool().name()),
        };
        attempted.write(&mut invocation.attachments, node.invoker.url().protocol());
    }

    /// Notes a failure.
    ///
    /// # Errors
    ///
    /// It is the caller's as it came: nothing speaks for trying again.
    fn failed(
        &mut self,
        node: &Node,
        listed: usize,
        started: Instant,
        status: Status,
    ) -> Result<Class, Status> {
        let now = Instant::now();
        self.room = None;
        let is_over = self.time_left(now).is_some_and(|left| left.is_zero());
        let class = Class::of(&status, is_over);
        if !self.may_help(class, &status) {
            self.log_answer(node);
            return Err(status);
        }
        if let Some(budget) = self.policy.budget(self.pool) {
            budget.failed();
        }
        let elapsed = now.saturating_duration_since(started);
        self.log_failure(node, elapsed, class, &status);
        // The last one is the last that failed.
        self.tried.retain(|id| *id != node.id);
        self.tried.push(node.id);
        let waited = self.waited;
        let failed = self.failed.get_or_insert_with(|| {
            let mut failed = FailedCall::new(
                &self.service,
                self.method.name(),
                self.allowed,
                self.reference.directory.consumer_url(),
            );
            let named = !self.policy.is_compat();
            failed.policy = named.then(|| Arc::clone(self.policy.name()));
            Box::new(failed)
        });
        failed.candidates = listed;
        failed.add(Attempt {
            node: node.invoker.url().clone(),
            elapsed,
            waited,
            class,
            status,
        });
        Ok(class)
    }

    /// Whether another attempt might end otherwise, and somebody waits for it.
    fn may_help(&self, class: Class, status: &Status) -> bool {
        if self.policy.is_compat() {
            return status.retry() != Retry::Never;
        }
        match class {
            Class::CallerFault | Class::Canceled => false,
            Class::Business => {
                let covered = self.policy.options().retry_on.covers(class, status);
                covered && self.is_idempotent && self.allowed > 1
            }
            _ => !status.is_done(),
        }
    }

    /// The invocation of the next attempt, if there is to be one; before it, [`waited`](Self::waited) has to pass.
    ///
    /// # Errors
    ///
    /// There is none. The status is told instead of the last one.
    fn next(
        &mut self,
        node: &Node,
        candidates: &Candidates,
        class: Class,
        replay: Option<Invocation>,
    ) -> Result<Invocation, Option<Status>> {
        if self.made() >= self.allowed {
            return Err(None);
        }
        if !self.reference.policies.switches().retry_enabled {
            return self.stopped(
                End::Switched,
                "not tried again because the switch `retry.enabled` is off",
            );
        }
        let Some(replay) = replay else {
            return self.stopped(
                End::NotRepeatable,
                "not tried again because its requests are a stream, which cannot be sent twice",
            );
        };
        let now = Instant::now();
        if class == Class::Deadline {
            return self.stopped(End::Deadline, NO_TIME);
        }
        if !self.policy.is_compat() {
            self.check_class(class, now)?;
        }
        let wait = self.wait(node, candidates);
        let least = wait.saturating_add(self.policy.options().min_attempt_budget);
        if self.time_left(now).is_some_and(|left| left < least) {
            return self.stopped(End::Deadline, NO_TIME);
        }
        self.check_weight()?;
        if self.policy.has_pools() {
            self.enter_pool(wait, now)?;
        }
        self.spend(now)?;
        self.waited = wait;
        Ok(replay)
    }

    /// Whether the last failure is one that the policy tries again.
    fn check_class(&mut self, class: Class, now: Instant) -> Result<(), Option<Status>> {
        let policy = Arc::clone(&self.policy);
        let options = policy.options();
        let Some(last) = self.last_status() else {
            return Ok(());
        };
        let (code, pushback) = (last.code(), last.pushback());
        if !options.retry_on.covers(class, last) {
            let why = format!(
                "not tried again because the policy `{}` does not name {code} ({class})",
                policy.name()
            );
            return self.stopped(End::NotRepeatable, why);
        }
        if !class.is_unprocessed() && !self.is_idempotent {
            let why = format!(
                "not tried again because it may have been done, and `{}` is not idempotent by the policy `{}`",
                self.method.name(),
                policy.name()
            );
            return self.stopped(End::NotRepeatable, why);
        }
        if class == Class::Unknown && self.count(Class::Unknown) > UNKNOWN_RETRIES {
            return self.stopped(
                End::NotRepeatable,
                "not tried again because nothing says what went wrong, twice",
            );
        }
        let is_limit = class == Class::Refused && code == Code::ResourceExhausted;
        if is_limit && pushback.is_none() {
            let half = policy.budget(self.pool);
            if half.is_some_and(|budget| !budget.is_half_full(now)) {
                return self.stopped(
                    End::Budget,
                    "not tried again because a limit refused it without saying for how long, and less than half of the \
                     retry budget is left",
                );
            }
        }
        Ok(())
    }

    /// The more calls of the method fail, the fewer of them are tried again.
    fn check_weight(&mut self) -> Result<(), Option<Status>> {
        let policy = Arc::clone(&self.policy);
        let Some(options) = &policy.options().guards.breaker else {
            return Ok(());
        };
        let breaker = self.reference.policies.breaker(&self.method, options);
        if breaker.state() != BreakerState::Closed {
            return self.stopped(
                End::NotAdmitted,
                "not tried again because the breaker of the method has opened",
            );
        }
        if fastrand::f64() < breaker.retry_weight() {
            return Ok(());
        }
        self.stopped(
            End::NotAdmitted,
            "not tried again by chance, because many calls of the method have failed of late",
        )
    }

    /// How long to wait before the next attempt.
    fn wait(&mut self, node: &Node, candidates: &Candidates) -> Duration {
        let policy = Arc::clone(&self.policy);
        let options = policy.options();
        let failures = self.made();
        let stays = match self.target {
            Target::Other => false,
            Target::Same => true,
            Target::SameThenOther(times) => failures <= times,
        };
        let backoff = self.backoff();
        let others = || {
            let mut nodes = candidates.iter();
            nodes.any(|node| !self.tried.contains(&node.id) && node.admits(&self.method))
        };
        let first = backoff
            .first_other_node_delay
            .filter(|_| failures == 1 && !stays && others());
        let wait = first.unwrap_or_else(|| {
            let timing = match backoff.kind {
                BackoffKind::Adaptive => node.state.method(&self.method).timing(),
                _ => Timing::default(),
            };
            backoff.wait(failures, &mut self.waits, timing, &mut Rng::new())
        });
        let pushback = self.last_status().and_then(Status::pushback);
        let pushback = pushback.filter(|_| options.honours_pushback);
        wait.max(pushback.unwrap_or_default())
    }

    fn backoff(&self) -> Backoff {
        let usual = match self.target {
            Target::Same => Backoff::SAME,
            Target::Other | Target::SameThenOther(_) => Backoff::STRICT,
        };
        self.policy.options().backoff.unwrap_or(usual)
    }

    fn waits_by_timing(&self) -> bool {
        let backoff = self.policy.options().backoff;
        backoff.is_some_and(|backoff| backoff.kind == BackoffKind::Adaptive)
    }

    /// Takes room in its pool for the next attempt, which begins after `wait`.
    fn enter_pool(&mut self, wait: Duration, now: Instant) -> Result<(), Option<Status>> {
        let policy = Arc::clone(&self.policy);
        let pool = policy.pool_at(self.pool);
        let options = pool.options();
        let age = now.saturating_duration_since(self.began);
        if age.saturating_add(wait) > options.ttl {
            let why = format!(
                "not tried again because the pool `{}` keeps calls for {:?}",
                pool.name(),
                options.ttl
            );
            return self.stopped(End::Expired, why);
        }
        self.room = pool.enter();
        if self.room.is_some() {
            return Ok(());
        }
        let (name, most) = (pool.name(), options.concurrency);
        let why = format!("not tried again because the pool `{name}` is full, with {most} calls");
        metrics::counter!("dubbo_retry_pool_full_total", "pool" => name.to_string()).increment(1);
        self.stop(End::PoolFull, why);
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
    fn spend(&mut self, now: Instant) -> Result<(), Option<Status>> {
        let policy = Arc::clone(&self.policy);
        let Some(budget) = policy.budget(self.pool) else {
            return Ok(());
        };
        let Err(spent) = budget.take(now) else {
            return Ok(());
        };
        self.room = None;
        let service = self.service.to_string();
        metrics::counter!("dubbo_retry_budget_exhausted_total", "service" => service).increment(1);
        let why = match spent {
            Spent::Budget => "not tried again because the retry budget is exhausted",
            Spent::Throttled => "not tried again because most attempts fail",
        };
        self.stopped(End::Budget, why)
    }

    fn stopped<T>(&mut self, end: End, why: impl Into<String>) -> Result<T, Option<Status>> {
        self.stop(end, why);
        Err(None)
    }

    fn stop(&mut self, end: End, why: impl Into<String>) {
        if let Some(failed) = &mut self.failed {
            failed.end = end;
            failed.stopped = Some(why.into());
        }
    }

    /// The error of the call: how its attempts failed, with the last one's status or with `instead`.
    fn give_up(self, instead: Option<Status>) -> Status {
        let Some(mut failed) = self.failed else {
            return instead.unwrap_or_else(attempt::nobody_listed);
        };
        failed.origin = self.reference.directory.origin();
        failed.into_status(instead)
    }

    fn answered(self, node: &Node, reply: Reply) -> Reply {
        if let Some(budget) = self.policy.budget(self.pool) {
            budget.worked();
        }
        self.log_answer(node);
        reply
    }

    /// Some provider answered; what came before is worth a warning.
    fn log_answer(&self, node: &Node) {
        if let Some(failed) = &self.failed {
            tracing::warn!(
                service = %self.service, method = self.method.name(), provider = %node.invoker.url().address(),
                %failed, "a call was answered after failed attempts"
            );
        }
    }

    /// What there is to know about one attempt, for logs.
    fn log_failure(&self, node: &Node, elapsed: Duration, class: Class, status: &Status) {
        let budget = self.policy.budget(self.pool);
        tracing::debug!(
            service = %self.service, method = self.method.name(), provider = %node.invoker.url().address(),
            attempt = self.made() + 1, waited = ?self.waited, ?elapsed, cause = %class,
            idempotent = self.is_idempotent, policy = %self.policy.name(),
            pool = self.policy.has_pools().then(|| &**self.pool().name()),
            budget_left = budget.map(|budget| budget.left(Instant::now())),
            error = %status, "an attempt failed"
        );
    }

    fn pool(&self) -> &Arc<pool::Pool> {
        self.policy.pool_at(self.pool)
    }

    fn last_status(&self) -> Option<&Status> {
        let failed = self.failed.as_ref()?;
        Some(&failed.attempts.last()?.status)
    }

    fn count(&self, class: Class) -> usize {
        let attempts = self.failed.iter().flat_map(|failed| &failed.attempts);
        attempts.filter(|attempt| attempt.class == class).count()
    }

    fn made(&self) -> u32 {
        self.failed.as_ref().map_or(0, |failed| failed.made)
    }

    fn time_left(&self, now: Instant) -> Option<Duration> {
        Some(self.deadline?.saturating_duration_since(now))
    }
}

/// The number of retries that the caller attached to this one call.
fn take_retries(invocation: &mut Invocation) -> Option<u32> {
    let text = invocation.attachments.get(RETRIES)?;
    let Ok(retries) = text.trim().parse::<i64>() else {
        tracing::debug!(
            value = text,
            "attachment `retries` is no number; the configured one counts"
        );
        return None;
    };
    if retries < 0 {
        tracing::warn!(
            retries,
            "attachment `retries` is negative: the call has one attempt"
        );
    }
    invocation.attachments.remove(RETRIES);
    Some(u32::try_from(retries.max(0)).unwrap_or(u32::MAX))
}

const RETRIES: &str = "retries";

/// `docs/spec/cluster.md` §2.0.
const RETRIES_DEFAULT: u32 = 2;

/// How often a call is tried again after failures that nothing explains.
const UNKNOWN_RETRIES: usize = 1;

/// How long a strict policy waits before it looks once more for somebody.
const RELIST: Duration = Duration::from_millis(50);

/// What a caller is told to wait at least when a pool is full.
const SHORTEST_HINT: Duration = Duration::from_millis(100);

const PROBE: &str = "not tried again because the call was one by which an open breaker finds out whether it may close";

const NO_TIME: &str = "not tried again because the caller's deadline leaves no time for it";
