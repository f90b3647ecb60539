//! The first attempts of a call that is hedged: one that takes long gets company (`docs/spec/cluster.md` §7.13).

use dubbo_core::{
    cluster::{Candidates, Node, NodeId},
    invocation::{Invocation, Reply},
    service::CallKind,
};
use smallvec::SmallVec;
use tokio::time::Instant;

use super::{Attempts, Failure, may_help};
use crate::{
    cluster::attempt,
    resend::{Class, health::ServicePermit, hedge::Hedging, metadata, policy::Policy},
};

impl Attempts<'_> {
    /// How the attempt that is to begin is hedged, if it is: only the first one of a unary call that may be made twice, and
    /// not while a breaker looks on or the pool of its retries fills up.
    pub(super) fn hedging<'p>(&self, policy: &'p Policy) -> Option<&'p Hedging> {
        let is_first = self.failed.is_none() && self.allowed > 1;
        let is_unary = self.method.kind() == CallKind::Unary;
        if !is_first || !is_unary || !self.is_idempotent {
            return None;
        }
        let hedging = policy.hedging(&self.method)?;
        let breaker = policy.options().guards.breaker.as_ref();
        let policies = &self.reference.policies;
        let is_closed = breaker.is_none_or(|options| !policies.is_broken(&self.method, options));
        let pool = self.pool();
        let is_busy = u64::from(pool.used()) * 10 > u64::from(pool.options().concurrency) * 7;
        let is_on = self.reference.policies.switches().hedge_enabled;
        (is_on && is_closed && !is_busy).then_some(hedging)
    }

    /// Makes the first attempts of a call, the first of them on `node`.
    pub(super) async fn hedge(
        &mut self,
        hedging: &Hedging,
        policy: &Policy,
        node: Node,
        candidates: Candidates,
        service: &mut Option<ServicePermit<'_>>,
        invocation: Invocation,
    ) -> Result<Reply, Failure> {
        let (reference, pool) = (self.reference, self.pool);
        let method = reference.config.method(&self.method);
        let (timeout, allowed) = (invocation.timeout, self.allowed);
        let is_idempotent = self.is_idempotent;
        let started = Instant::now();
        let mut nodes = vec![node.clone()];
        let mut rooms = Vec::new();
        let pool_of = self.pool().clone();
        let raced = {
            let (nodes, rooms, candidates) = (&mut nodes, &mut rooms, &candidates);
            let begin = move |number: u32| {
                let mut own = invocation.try_clone()?;
                if number > 0 {
                    let tried: SmallVec<[NodeId; 4]> = nodes.iter().map(|node| node.id).collect();
                    let other = reference.choose(candidates, &tried, method, &own);
                    let other = other.ok().flatten();
                    let other = other
                        .filter(|node| !tried.contains(&node.id) && node.admits(&own.method))?;
                    let room = pool_of.enter()?;
                    let now = Instant::now();
                    if number >= allowed
                        || policy
                            .budget(pool)
                            .is_some_and(|budget| budget.take(now).is_err())
                    {
                        return None;
                    }
                    rooms.push(room);
                    let protocol = other.invoker.url().protocol();
                    metadata::hedged(&mut own.attachments, number, pool_of.name(), protocol);
                    nodes.push(other);
                }
                let node = nodes[number as usize].clone();
                Some(async move {
                    let permit = attempt::enter(reference, policy, &node, &own.method)?;
                    attempt::send(reference, &node, permit, own).await
                })
            };
            let is_final = |status: &_| {
                let class = Class::of(status, false);
                !may_help(policy, is_idempotent, class, status)
            };
            hedging.call(timeout, begin, is_final).await
        };
        drop(rooms);
        for lost in raced.failures {
            let node = &nodes[lost.number as usize];
            if let Some(service) = service {
                self.settle(service, Some(&lost.status), lost.elapsed, timeout);
            }
            let class = self.class_of(&lost.status);
            self.note(node, candidates.len(), lost.elapsed, class, lost.status);
        }
        let Some((number, answer)) = raced.answer else {
            let last = self
                .failed
                .as_ref()
                .and_then(|failed| failed.attempts.last());
            let class = last.map_or(Class::Unknown, |attempt| attempt.class);
            let node = nodes.pop().unwrap_or(node);
            return Err(Failure::Tried {
                class,
                node,
                candidates,
            });
        };
        let node = &nodes[number as usize];
        let elapsed = started.elapsed();
        if let Some(service) = service {
            self.settle(service, answer.as_ref().err(), elapsed, timeout);
        }
        match answer {
            Ok(reply) => Ok(self.answered(node, reply)),
            Err(status) => {
                self.log_answer(node);
                Err(Failure::Answer(status))
            }
        }
    }
}
