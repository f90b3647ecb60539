//! One call on its way through its attempts (`docs/spec/cluster.md` §2.1, §7.3).
//!
//! ```text
//! begin -> choose -> send -> answered
//!            ^         |
//!            |       failed -> give_up: the error of the call, and what becomes of it
//!            +- wait - next
//! ```

mod begin;
mod end;
mod hedged;
mod next;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    cluster::{Candidates, Node, NodeId},
    invocation::{Invocation, Reply, RpcResult},
    service::{MethodRef, ServiceKey},
    status::{Retry, Status},
};
use smallvec::SmallVec;
use tokio::time::{Instant, sleep};

use super::{
    attempt::{self, Reference},
    failed::{Attempt, End, FailedCall},
};
use crate::resend::{
    Class, Failing,
    backoff::Waits,
    health::{Permit, ServicePermit},
    metadata::Attempted,
    policy::{Policy, Target},
    pool::{Pool, Room},
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
            Err(instead) => return Err(call.give_up(instead, Some(invocation))),
        };
        // Before this attempt adds to it.
        let replay = call.keep(&invocation);
        let failure = if let Some(hedging) = call.hedging(&policy) {
            let hedged = call.hedge(hedging, &policy, node, candidates, &mut service, invocation);
            match hedged.await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            }
        } else {
            let permit = match attempt::enter(reference, &policy, &node, &invocation.method) {
                Ok(permit) => permit,
                Err(refusal) => {
                    if call.refused(&node, refusal) {
                        return Err(call.give_up(None, Some(invocation)));
                    }
                    continue;
                }
            };
            let is_probe = permit.as_ref().is_some_and(Permit::is_probe)
                || service.as_ref().is_some_and(ServicePermit::is_probe);
            call.tell(&mut invocation, &node);
            let (timeout, started) = (invocation.timeout, Instant::now());
            let result = attempt::send(reference, &node, permit, invocation).await;
            let elapsed = started.elapsed();
            if let Some(service) = &mut service {
                call.settle(service, result.as_ref().err(), elapsed, timeout);
            }
            match result {
                Ok(answer) => return Ok(call.answered(&node, answer)),
                Err(status) => call.failed(node, candidates, elapsed, status, is_probe),
            }
        };
        invocation = call.next(failure, replay)?;
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
    /// The last one is the last that failed.
    tried: SmallVec<[NodeId; 4]>,
    /// Those of them that were not called, because they are not to be now.
    refused: SmallVec<[NodeId; 4]>,
    /// Why the last of them was not.
    refusal: Option<Status>,
    /// Made with the first failure: a call that works pays nothing for it.
    failed: Option<Box<FailedCall>>,
    /// How long was waited before the attempt under way.
    waited: Duration,
    waits: Waits,
    /// Held from a failure to the end of the next attempt.
    room: Option<Room>,
    was_listed_again: bool,
}

/// How an attempt failed.
enum Failure {
    /// With what is the caller's as it came.
    Answer(Status),
    /// As one after which there is no other.
    Last,
    /// So that another one may help.
    Tried {
        class: Class,
        node: Node,
        candidates: Candidates,
    },
}

impl Attempts<'_> {
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
            Ok(candidates) => candidates,
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
        if self.policy.is_guarded() {
            let all = candidates.list().len();
            self.reference.policies.listed(all);
        }
        if let Some(same) = self.same(&candidates) {
            if let Some(why) = same.state.why_not(&self.method) {
                let why = format!("not tried again on the same provider: {why}");
                self.stop(End::NotAdmitted, why);
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
        let last = *self.tried.last().filter(|_| self.stays())?;
        candidates.iter().find(|node| node.id == last)
    }

    /// Whether the provider that failed last is to be asked again.
    fn stays(&self) -> bool {
        match self.target {
            Target::Other => false,
            Target::Same => true,
            Target::SameThenOther(times) => self.made() <= times,
        }
    }

    /// Whether a strict policy looks once more for somebody.
    fn may_list_again(&self) -> bool {
        let least = RELIST + self.policy.options().min_attempt_budget;
        let left = self.time_left(Instant::now());
        !self.policy.is_compat() && !self.was_listed_again && left.is_none_or(|left| left >= least)
    }

    /// What is needed after the attempt that is to begin, unless it works.
    fn keep(&self, invocation: &Invocation) -> Option<Invocation> {
        let is_needed = self.made() + 1 < self.allowed || self.policy.lost().is_some();
        is_needed.then(|| invocation.try_clone()).flatten()
    }

    /// Notes that `node` is not to be called now; whether nobody else is left either.
    fn refused(&mut self, node: &Node, refusal: Status) -> bool {
        let was_refused = self.refused.contains(&node.id);
        self.stop(End::NotAdmitted, refusal.message().to_owned());
        self.refused.push(node.id);
        self.refusal = Some(refusal);
        // In front, for the last one is the last that failed.
        self.tried.insert(0, node.id);
        was_refused
    }

    /// Tells the provider of the attempts before this one.
    fn tell(&self, invocation: &mut Invocation, node: &Node) {
        let last = self
            .failed
            .as_ref()
            .and_then(|failed| failed.attempts.last());
        let Some(last) = last else { return };
        let attempted = Attempted {
            failures: self.made(),
            cause: last.class,
            pool: self.policy.has_pools().then(|| &**self.pool().name()),
        };
        attempted.write(&mut invocation.attachments, node.invoker.url().protocol());
    }

    /// Tells the breaker of the method how an attempt ended.
    fn settle(
        &self,
        service: &mut ServicePermit<'_>,
        failure: Option<&Status>,
        elapsed: Duration,
        timeout: Option<Duration>,
    ) {
        let Some(options) = &self.policy.options().guards.breaker else {
            return;
        };
        let class = failure.map(|status| self.class_of(status));
        if !matches!(class, Some(Class::Canceled | Class::Deadline)) {
            let failed = class.is_some_and(Class::is_failure_of_node);
            service.settle(failed, elapsed, timeout, options);
        }
    }

    fn answered(&self, node: &Node, reply: Reply) -> Reply {
        if let Some(budget) = self.policy.budget(self.pool) {
            budget.worked();
        }
        self.log_answer(node);
        reply
    }

    /// Notes a failure. That of a probe is the last one.
    fn failed(
        &mut self,
        node: Node,
        candidates: Candidates,
        elapsed: Duration,
        status: Status,
        is_probe: bool,
    ) -> Failure {
        self.room = None;
        let class = self.class_of(&status);
        if !self.may_help(class, &status) {
            self.log_answer(&node);
            return Failure::Answer(status);
        }
        self.note(&node, candidates.len(), elapsed, class, status);
        if is_probe {
            self.stop(End::NotAdmitted, PROBE);
            return Failure::Last;
        }
        Failure::Tried {
            class,
            node,
            candidates,
        }
    }

    /// Writes down an attempt that failed.
    fn note(
        &mut self,
        node: &Node,
        listed: usize,
        elapsed: Duration,
        class: Class,
        status: Status,
    ) {
        if let Some(budget) = self.policy.budget(self.pool) {
            budget.failed();
        }
        self.log_failure(node, elapsed, class, &status);
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
        self.reference.policies.remember(&Failing {
            service: &self.service,
            method: self.method.name(),
            attempt: failed.made + 1,
            allowed: self.allowed,
            provider: node.invoker.url(),
            class,
            elapsed,
            status: &status,
        });
        failed.add(Attempt {
            node: node.invoker.url().clone(),
            elapsed,
            waited,
            class,
            status,
        });
    }

    /// Whether another attempt might end otherwise, and somebody waits for it.
    fn may_help(&self, class: Class, status: &Status) -> bool {
        may_help(&self.policy, self.is_idempotent, class, status)
    }

    fn class_of(&self, status: &Status) -> Class {
        let left = self.time_left(Instant::now());
        Class::of(status, left.is_some_and(|left| left.is_zero()))
    }

    fn stop(&mut self, end: End, why: impl Into<String>) {
        if let Some(failed) = &mut self.failed {
            failed.end = end;
            failed.stopped = Some(why.into());
        }
    }

    fn pool(&self) -> &Arc<Pool> {
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

/// Whether a call that failed so might end otherwise if it were made again.
fn may_help(policy: &Policy, is_idempotent: bool, class: Class, status: &Status) -> bool {
    if policy.is_compat() {
        return status.retry() != Retry::Never;
    }
    match class {
        Class::CallerFault | Class::Canceled => false,
        Class::Business => is_idempotent && policy.options().retry_on.covers(class, status),
        _ => !status.is_done(),
    }
}

/// How long a strict policy waits before it looks once more for somebody.
const RELIST: Duration = Duration::from_millis(50);

const PROBE: &str = "not tried again because it was one of the calls by which an open breaker finds out whether it may close";
