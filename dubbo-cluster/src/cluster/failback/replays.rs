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
    backoff::{Backoff, Waits},
    dead_letter::{Attempt, DeadLetters, Drains, Lost, REQUEST_ID, Reason, strip},
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
        let request = call.attachments.get(REQUEST_ID);
        let attempt = failure.attempt();
        Self {
            replays: Arc::clone(replays),
            reference: Arc::clone(reference),
            group: request.map_or_else(|| fastrand::u64(..), group_of),
            expires: options.ttl.and_then(|ttl| Instant::now().checked_add(ttl)),
            options,
            allowed,
            progress: Mutex::new(Progress {
                call,
                failures: 1,
                waits: Waits::default(),
                avoid: failure.node.map(|node| node.id),
                status: failure.status,
                first_failure: attempt.at,
                attempts: vec![attempt],
            }),
        }
    }

    /// Makes the call once more.
    async fn turn(&self) -> Turn {
        let result = match self.prevented().await {
            None => self.attempt().await,
            Some(reason) => {
                let _ = self.give_up(reason);
                return Turn::Done;
            }
        };
        let (name, turn) = match result {
            Ok(()) => ("done", Turn::Done),
            Err(Retry::Never) => {
                let _ = self.give_up(Reason::NonRetryable);
                ("refused", Turn::Done)
            }
            Err(_) if self.is_used_up() => {
                let _ = self.give_up(Reason::Exhausted);
                ("failed", Turn::Done)
            }
            Err(_) => ("failed", Turn::Again(Instant::now() + self.next_wait())),
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

    async fn attempt(&self) -> Result<(), Retry> {
        let (call, avoid) = {
            let progress = self.progress.lock();
            (progress.call(), progress.avoid)
        };
        let failure = match attempt(&self.reference, call, avoid).await {
            Ok(_) => return Ok(()),
            Err(failure) => failure,
        };
        let retry = failure.status.retry();
        let attempt = failure.attempt();
        let mut progress = self.progress.lock();
        progress.failures = progress.failures.saturating_add(1);
        progress.avoid = failure.node.map(|node| node.id);
        progress.status = failure.status;
        if progress.attempts.len() == KEPT {
            progress.attempts.remove(0);
        }
        progress.attempts.push(attempt);
        Err(retry)
    }

    /// Whether it has been made again as often as it may.
    fn is_used_up(&self) -> bool {
        let replays = self.progress.lock().failures - 1;
        self.allowed.is_some_and(|allowed| replays >= allowed)
    }

    /// How long to wait before the next attempt: at least as long as the provider asks for.
    fn next_wait(&self) -> Duration {
        let mut progress = self.progress.lock();
        let progress = &mut *progress;
        let chance = &mut self.replays.chance.lock();
        let (failures, waits) = (progress.failures, &mut progress.waits);
        let wait = Backoff::FAILBACK.wait(failures, waits, Timing::default(), chance);
        progress
            .status
            .pushback()
            .map_or(wait, |least| wait.max(least))
    }

    /// Does with the call what its policy says about calls that are given up.
    fn give_up(&self, reason: Reason) -> Result<(), NothingDone> {
        let is_taken = self.options.lost.takes(reason);
        self.replays
            .letters
            .settle(&self.options.lost, self.lost(reason));
        is_taken.then_some(()).ok_or(NothingDone)
    }

    fn lost(&self, reason: Reason) -> Lost {
        let progress = self.progress.lock();
        let mut lost = Lost::new(progress.call(), reason, progress.status.clone());
        lost.attempts.clone_from(&progress.attempts);
        lost.first_failure = progress.first_failure;
        lost.priority = self.options.priority;
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

impl Failure {
    fn attempt(&self) -> Attempt {
        let node = self.node.as_ref();
        let node = node.map_or_else(String::new, |node| node.invoker.url().origin());
        Attempt::failed(
            node,
            self.elapsed,
            self.status.code(),
            self.status.message(),
        )
    }
}

/// Makes one attempt of a call, on another provider than `avoid` if there is one.
pub(super) async fn attempt(
    reference: &Reference,
    mut invocation: Invocation,
    avoid: Option<NodeId>,
) -> Result<Reply, Failure> {
    let began = Instant::now();
    let method = reference.prepare(&mut invocation);
    let chosen = reference
        .directory
        .list(&invocation)
        .and_then(|candidates| {
            let tried = avoid.as_slice();
            let node = reference.choose(&candidates, tried, method, &invocation)?;
            // The one that is avoided is better than none.
            let node = match node {
                None => reference.choose(&candidates, &[], method, &invocation)?,
                node => node,
            };
            Ok((node.ok_or_else(attempt::nobody_listed)?, candidates.len()))
        });
    let failed = |node, status| Failure {
        node,
        status,
        elapsed: began.elapsed(),
    };
    let (node, candidates) = chosen.map_err(|status| failed(None, status))?;
    let method = invocation.method.clone();
    let call = Box::pin(once(reference, &node, candidates, invocation));
    let result = panics::guard(&method, call).await;
    result.map_err(|status| failed(Some(node), status))
}

/// So many attempts are kept of each call.
const KEPT: usize = 16;
