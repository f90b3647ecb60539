//! Calls that wait to be made again, and how they are made.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use dubbo_core::{
    cluster::{Node, NodeId, Timing},
    invocation::{Invocation, Reply},
    panics,
    status::{Retry, Status},
};
use fastrand::Rng;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    super::{
        attempt::{self, Reference},
        joined::once,
    },
    options::Options,
};
use crate::resend::{
    Class,
    backoff::{Backoff, Waits},
    budget::Budget,
    dead_letter::{Attempt, DeadLetters, Drains, Lost, Reason, strip},
    idempotency::{self, REQUEST_ID},
    metadata::Attempted,
    policy::Policy,
    pool,
    queue::{DelayQueue, Entry, Full, Pace, Turn, group_of},
};

/// The calls of one reference that wait to be made again.
pub(super) struct Replays {
    queue: DelayQueue<Arc<Task>>,
    letters: DeadLetters,
    chance: Mutex<Rng>,
}

impl Replays {
    pub(super) fn new(letters: DeadLetters, chance: Rng) -> Self {
        let pace = Pace {
            concurrency: usize::MAX,
            rate: None,
        };
        Self {
            queue: DelayQueue::new(pace, |task: Arc<Task>| async move { task.turn().await }),
            letters,
            chance: Mutex::new(chance),
        }
    }

    pub(super) fn letters(&self) -> &DeadLetters {
        &self.letters
    }

    pub(super) fn set_pace(&self, pace: Pace) {
        self.queue.set_pace(pace);
    }

    /// Has the call of `task`, which has failed, made again later. What is done about it, for its caller.
    ///
    /// # Errors
    ///
    /// Nothing is.
    pub(super) fn add(&self, task: Task) -> Result<&'static str, NothingDone> {
        if task.is_used_up() {
            task.give_up(Reason::Exhausted)?;
            return Ok("the call failed and is not made again");
        }
        let entry = Entry {
            due: Instant::now() + task.next_wait(),
            priority: task.options.priority,
            group: task.group,
            item: Arc::new(task),
        };
        let limit = entry.item.options.limit;
        if let Err(Full(task)) = self.queue.push(entry, limit) {
            if self.queue.is_closed() {
                task.give_up(Reason::Shutdown)?;
                return Ok("the call failed, and the program ends before it could be made again");
            }
            task.give_up(Reason::QueueFull)?;
            return Ok("the call failed, and no more calls can wait to be made again");
        }
        Ok("the call failed and is made again later")
    }
}

#[async_trait]
impl Drains for Replays {
    async fn drain(&self, deadline: Instant) {
        for task in self.queue.drain(deadline).await {
            // The log has told of one that its policy does nothing about.
            let _ = task.give_up(Reason::Shutdown);
        }
    }
}

/// The policy does nothing about a call that is given up.
pub(super) struct NothingDone;

/// A call that is made again.
pub(super) struct Task {
    /// Where it waits. It holds that, so that the end of an instance finds what waits when nobody else has it.
    replays: Arc<Replays>,
    reference: Arc<Reference>,
    options: Arc<Options>,
    /// How often; `None` is endlessly often.
    allowed: Option<u32>,
    group: u64,
    expires: Option<Instant>,
    progress: Mutex<Progress>,
}

/// What has become of it so far.
struct Progress {
    call: Invocation,
    failures: u32,
    waits: Waits,
    /// Who failed it last.
    avoid: Option<NodeId>,
    status: Status,
    cause: Class,
    attempts: Vec<Attempt>,
    first_failure: u64,
}

impl Task {
    /// The call that has failed with `status` on `node`.
    pub(super) fn new(
        replays: &Arc<Replays>,
        reference: &Arc<Reference>,
        mut call: Invocation,
        options: Arc<Options>,
        allowed: Option<u32>,
        failure: Failure,
    ) -> Self {
        // Nothing of its caller's context holds for it later.
        call.deadline = None;
        call.peer = None;
        call.reply = None;
        call.extensions.clear();
        strip(&mut call.attachments);
        idempotency::ensure_id(&mut call.attachments);
        let group = call.attachments.get(REQUEST_ID).map_or(0, group_of);
        let (attempt, cause) = (failure.attempt(), failure.class());
        Self {
            replays: Arc::clone(replays),
            reference: Arc::clone(reference),
            group,
            expires: options.ttl.and_then(|ttl| Instant::now().checked_add(ttl)),
            options,
            allowed,
            progress: Mutex::new(Progress {
                call,
                failures: 1,
                waits: Waits::default(),
                avoid: failure.node.map(|node| node.id),
                cause,
                status: failure.status,
                first_failure: attempt.at,
                attempts: vec![attempt],
            }),
        }
    }

    /// Makes the call once more.
    async fn turn(&self) -> Turn {
        if let Some(reason) = self.prevented().await {
            let _ = self.give_up(reason);
            return Turn::Done;
        }
        let (name, turn) = match self.attempt().await {
            Ok(()) => ("done", Turn::Done),
            Err(NotDone::NotAllowed) => ("postponed", self.again()),
            Err(NotDone::Failed(Retry::Never)) => {
                let _ = self.give_up(Reason::NonRetryable);
                ("refused", Turn::Done)
            }
            Err(NotDone::Failed(_)) if self.is_used_up() => {
                let _ = self.give_up(Reason::Exhausted);
                ("failed", Turn::Done)
            }
            Err(NotDone::Failed(_)) => ("failed", self.again()),
        };
        metrics::counter!("dubbo_failback_replays_total", "result" => name).increment(1);
        turn
    }

    /// Why the call is not to be made now or later, if it is not.
    async fn prevented(&self) -> Option<Reason> {
        if self.expires.is_some_and(|expires| Instant::now() > expires) {
            return Some(Reason::Expired);
        }
        let precondition = self.replays.letters.precondition()?;
        let letter = self.lost(Reason::NonRetryable).letter();
        let letter = letter
            .inspect_err(
                |error| tracing::warn!(%error, "no precondition can be asked about a call"),
            )
            .ok()?;
        let refused = precondition.check(&letter).await.err()?;
        tracing::warn!(
            service = %letter.service, method = letter.method, reason = refused,
            "a failed call may not be made again"
        );
        Some(Reason::NonRetryable)
    }

    async fn attempt(&self) -> Result<(), NotDone> {
        let (mut call, before, cause) = {
            let progress = self.progress.lock();
            (progress.call(), progress.failures, progress.cause)
        };
        let policies = &self.reference.policies;
        let policy = policies.of(&mut call);
        // What is switched off pays nothing.
        let is_allowed = policies.switches().retry_enabled
            && budget(&policy, &call).is_none_or(|budget| budget.take(Instant::now()).is_ok());
        if !is_allowed {
            return Err(NotDone::NotAllowed);
        }
        let pool = pool_of(&policy, &call);
        let attempted = Attempted {
            failures: before,
            cause,
            pool: pool.map(|number| &**policy.pool_at(number).name()),
        };
        let avoid = self.progress.lock().avoid;
        let made = attempt(&self.reference, call, Some((attempted, avoid))).await;
        let Err(failure) = made else { return Ok(()) };
        let (retry, class) = (failure.status.retry(), failure.class());
        let attempt = failure.attempt();
        let mut progress = self.progress.lock();
        progress.failures = progress.failures.saturating_add(1);
        progress.avoid = failure.node.map(|node| node.id);
        progress.status = failure.status;
        progress.cause = class;
        if progress.attempts.len() == KEPT {
            progress.attempts.remove(0);
        }
        progress.attempts.push(attempt);
        Err(NotDone::Failed(retry))
    }

    /// Whether it has been made again as often as it may.
    fn is_used_up(&self) -> bool {
        let replays = self.progress.lock().failures - 1;
        self.allowed.is_some_and(|allowed| replays >= allowed)
    }

    fn again(&self) -> Turn {
        Turn::Again(Instant::now() + self.next_wait())
    }

    /// How long to wait before the next attempt: what its policy says, and at least what the provider asks for.
    fn next_wait(&self) -> Duration {
        let mut progress = self.progress.lock();
        let progress = &mut *progress;
        let policy = self.reference.policies.of(&mut progress.call());
        let configured = policy.options().backoff.filter(|_| !policy.is_compat());
        let backoff = configured.unwrap_or(Backoff::FAILBACK);
        let chance = &mut self.replays.chance.lock();
        let (failures, waits) = (progress.failures, &mut progress.waits);
        let wait = backoff.wait(failures, waits, Timing::default(), chance);
        progress
            .status
            .pushback()
            .map_or(wait, |least| wait.max(least))
    }

    /// Does with the call what is to be done about calls that are given up: what its policy says, and else its options.
    fn give_up(&self, reason: Reason) -> Result<(), NothingDone> {
        let mut lost = self.lost(reason);
        let policy = self.reference.policies.of(&mut self.progress.lock().call());
        if !policy.is_compat() {
            lost.policy = policy.name().to_string();
        }
        let own = policy.lost().map(|(_, outcome)| outcome);
        let outcome = own.unwrap_or(&self.options.lost);
        self.replays.letters.settle(outcome, lost);
        let is_taken = outcome.takes(reason);
        is_taken.then_some(()).ok_or(NothingDone)
    }

    fn lost(&self, reason: Reason) -> Lost {
        let progress = self.progress.lock();
        let mut lost = Lost::new(progress.call(), reason, progress.status.clone());
        lost.attempts.clone_from(&progress.attempts);
        lost.first_failure = progress.first_failure;
        lost.priority = self.options.priority;
        let ttl = self.options.ttl.map(|ttl| ttl.as_millis());
        let ttl = ttl.and_then(|millis| u64::try_from(millis).ok());
        lost.expires_at = ttl.map(|millis| progress.first_failure.saturating_add(millis));
        lost
    }
}

impl Progress {
    fn call(&self) -> Invocation {
        let call = self.call.try_clone();
        call.expect("invariant: only calls without streams wait")
    }
}

/// How an attempt failed, and on whom, if anybody was there.
pub(super) struct Failure {
    pub(super) node: Option<Node>,
    pub(super) status: Status,
    pub(super) elapsed: Duration,
}

/// Why a replay has not done it.
enum NotDone {
    /// It was made, and failed.
    Failed(Retry),
    /// Retries are switched off, or the budget of the policy is used up.
    NotAllowed,
}

impl Failure {
    fn attempt(&self) -> Attempt {
        let node = self.node.as_ref();
        let node = node.map_or_else(String::new, |node| node.invoker.url().origin());
        let (code, message) = (self.status.code(), self.status.message());
        Attempt::failed(node, self.elapsed, code, message)
    }

    fn class(&self) -> Class {
        match self.node {
            Some(_) => Class::of(&self.status, false),
            None => Class::NoProvider,
        }
    }
}

/// Makes one attempt of a call: a first one, or another one, which says so and goes to another provider than the last one
/// did, if there is one.
pub(super) async fn attempt(
    reference: &Reference,
    mut invocation: Invocation,
    again: Option<(Attempted<'_>, Option<NodeId>)>,
) -> Result<Reply, Failure> {
    let began = Instant::now();
    let failed = |node, status| Failure {
        node,
        status,
        elapsed: began.elapsed(),
    };
    let avoid = again.and_then(|(_, avoid)| avoid);
    let chosen = choose(reference, &mut invocation, avoid);
    let (node, candidates) = chosen.map_err(|status| failed(None, status))?;
    if let Some((attempted, _)) = again {
        attempted.write(&mut invocation.attachments, node.invoker.url().protocol());
    }
    let method = invocation.method.clone();
    let call = Box::pin(once(reference, &node, candidates, invocation));
    let result = panics::guard(&method, call).await;
    result.map_err(|status| failed(Some(node), status))
}

/// What the replays of `call` are taken from.
pub(super) fn budget<'p>(policy: &'p Policy, call: &Invocation) -> Option<&'p Budget> {
    policy.budget(pool_of(policy, call).unwrap_or_default())
}

fn pool_of(policy: &Policy, call: &Invocation) -> Option<usize> {
    let tag = || pool::tag(&call.attachments);
    policy.has_pools().then(|| policy.pool_of(tag()))
}

fn choose(
    reference: &Reference,
    invocation: &mut Invocation,
    avoid: Option<NodeId>,
) -> Result<(Node, usize), Status> {
    let method = reference.prepare(invocation);
    let candidates = reference.directory.list(invocation)?;
    let mut node = reference.choose(&candidates, avoid.as_slice(), method, invocation)?;
    if node.is_none() {
        // The one that is avoided is better than none.
        node = reference.choose(&candidates, &[], method, invocation)?;
    }
    Ok((node.ok_or_else(attempt::nobody_listed)?, candidates.len()))
}

/// So many attempts are kept of each call.
const KEPT: usize = 16;
