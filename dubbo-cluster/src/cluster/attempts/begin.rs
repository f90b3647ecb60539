//! What is known of a call before its first attempt.

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    invocation::Invocation,
    service::{CallKind, MethodRef},
    status::Status,
};
use smallvec::SmallVec;
use tokio::time::Instant;

use super::Attempts;
use crate::{
    cluster::attempt::Reference,
    resend::{
        ReferencePolicies,
        backoff::{BackoffKind, Waits},
        idempotency::{self, IDEMPOTENCY_KEY},
        policy::{Idempotency, Policy, Target},
        pool,
    },
};

impl<'a> Attempts<'a> {
    /// Resolves what the call, its policy and its method say, and prepares `invocation` for its attempts.
    ///
    /// # Errors
    ///
    /// Its deadline has passed.
    pub(super) fn begin(
        reference: &'a Reference,
        target: Target,
        invocation: &mut Invocation,
    ) -> Result<Self, Status> {
        reference.record(invocation);
        let policies = &reference.policies;
        let switches = policies.switches();
        switches.colour(&mut invocation.attachments);
        let mut policy = policies.of(invocation);
        if policy.is_compat() && target == Target::Same {
            policy = policies.same();
        }
        let options = policy.options();
        let method = reference.config.method(&invocation.method);
        let is_unary = invocation.method.kind() == CallKind::Unary;
        if is_unary {
            let configured = || options.per_attempt_timeout.or(method.timeout);
            invocation.timeout = invocation.timeout.or_else(configured);
        }
        let asked = take_retries(invocation).map(|retries| retries.saturating_add(1));
        let configured = || method.retries_or(RETRIES_DEFAULT).saturating_add(1);
        let allowed = asked.or(options.max_attempts).unwrap_or_else(configured);
        let allowed = match switches.max_attempts_override {
            _ if !switches.retry_enabled => 1,
            Some(most) => allowed.min(most),
            None => allowed,
        };
        let began = Instant::now();
        if !policy.is_compat() {
            if is_unary {
                bound(invocation, options.total_timeout, allowed, began);
            }
            idempotency::ensure_id(&mut invocation.attachments);
            if options.idempotency == Idempotency::Keyed {
                idempotency::ensure_key(&mut invocation.attachments);
            }
        }
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
            is_idempotent: is_idempotent(&policy, policies, invocation),
            pool,
            tried: SmallVec::new(),
            refused: SmallVec::new(),
            refusal: None,
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
        watch_timing(reference, &call.policy, &call.method);
        Ok(call)
    }
}

/// Bounds a call as its policy says, and without a deadline of its caller's by the time that all its attempts may take.
fn bound(invocation: &mut Invocation, total: Option<Duration>, allowed: u32, began: Instant) {
    let each = invocation.timeout.filter(|_| invocation.deadline.is_none());
    let all = each.and_then(|timeout| timeout.checked_mul(allowed));
    let end = total.or(all).and_then(|total| began.checked_add(total));
    invocation.deadline = [invocation.deadline, end].into_iter().flatten().min();
}

fn is_idempotent(policy: &Policy, policies: &ReferencePolicies, invocation: &Invocation) -> bool {
    match policy.options().idempotency {
        Idempotency::Assume | Idempotency::Keyed => true,
        Idempotency::Never => false,
        Idempotency::Declared => {
            policies.is_idempotent(&invocation.method)
                || invocation.attachments.contains(IDEMPOTENCY_KEY)
        }
    }
}

/// Whoever waits by what calls have shown has to see them from the first one on.
fn watch_timing(reference: &Reference, policy: &Policy, method: &MethodRef) {
    let backoff = policy.options().backoff;
    if backoff.is_some_and(|backoff| backoff.kind == BackoffKind::Adaptive) {
        for node in reference.directory.nodes().iter() {
            node.state.method(method).timing();
        }
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
