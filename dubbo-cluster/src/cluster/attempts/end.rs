//! How a call ends: its error, what becomes of it, and what logs say.

use std::time::Duration;

use dubbo_core::{cluster::Node, invocation::Invocation, status::Status};
use tokio::time::Instant;

use super::{Attempts, End};
use crate::{
    cluster::{RETRY, attempt, failed::Attempt},
    resend::{
        Class,
        dead_letter::{self, Lost, Reason},
        pool::DEFAULT_POOL,
    },
};

impl Attempts<'_> {
    /// The error of the call: how its attempts failed, with the last one's status or with `instead`. `call` is what was
    /// asked for, where it can be asked for again.
    pub(super) fn give_up(&mut self, instead: Option<Status>, call: Option<Invocation>) -> Status {
        let Some(mut failed) = self.failed.take() else {
            let instead = instead.or_else(|| self.refusal.take());
            let status = instead.unwrap_or_else(attempt::nobody_listed);
            self.lose(Reason::Exhausted, &status, call);
            return status;
        };
        failed.origin = self.reference.directory.origin();
        let reason = match failed.end {
            End::Budget => Reason::Budget,
            End::Deadline | End::Expired => Reason::Expired,
            End::NotRepeatable => Reason::NonRetryable,
            End::PoolFull => Reason::QueueFull,
            End::Exhausted | End::NoProvider | End::NotAdmitted | End::Switched => {
                Reason::Exhausted
            }
        };
        let attempts = if self.policy.lost().is_some() {
            failed.attempts.iter().map(written).collect()
        } else {
            Vec::new()
        };
        let status = failed.into_status(instead);
        self.lose_with(reason, &status, call, attempts);
        status
    }

    /// Does with the call what its policy says about calls that are given up for `reason`.
    pub(super) fn lose(&self, reason: Reason, status: &Status, call: Option<Invocation>) {
        self.lose_with(reason, status, call, Vec::new());
    }

    fn lose_with(
        &self,
        reason: Reason,
        status: &Status,
        call: Option<Invocation>,
        attempts: Vec<dead_letter::Attempt>,
    ) {
        let (Some((letters, lost)), Some(call)) = (self.policy.lost(), call) else {
            return;
        };
        if !lost.takes(reason) {
            return;
        }
        let mut given_up = Lost::new(call, reason, status.clone());
        given_up.attempts = attempts;
        given_up.policy = self.policy.name().to_string();
        if self.policy.has_pools() && **self.pool().name() != *DEFAULT_POOL {
            given_up.pool = self.pool().name().to_string();
        }
        letters.settle(lost, given_up);
    }

    /// Some provider answered; what came before is worth a warning.
    pub(super) fn log_answer(&self, node: &Node) {
        if let Some(failed) = &self.failed {
            tracing::warn!(
                target: RETRY,
                service = %self.service, method = self.method.name(), provider = %node.invoker.url().address(),
                attempt = self.made() + 1, waited = ?self.waited, %failed, "a call was answered after failed attempts"
            );
        }
    }

    /// What there is to know about an attempt that failed.
    pub(super) fn log_failure(
        &self,
        node: &Node,
        elapsed: Duration,
        class: Class,
        status: &Status,
    ) {
        let budget = self.policy.budget(self.pool);
        tracing::debug!(
            target: RETRY,
            service = %self.service, method = self.method.name(), provider = %node.invoker.url().address(),
            attempt = self.made() + 1, waited = ?self.waited, ?elapsed, code = %status.code(), cause = %class,
            idempotent = self.is_idempotent, policy = %self.policy.name(),
            pool = self.policy.has_pools().then(|| &**self.pool().name()),
            budget_left = budget.map(|budget| budget.left(Instant::now())),
            error = %status, "an attempt failed"
        );
    }
}

fn written(attempt: &Attempt) -> dead_letter::Attempt {
    let (status, node) = (&attempt.status, attempt.node.origin());
    dead_letter::Attempt::failed(node, attempt.elapsed, status.code(), status.message())
}
