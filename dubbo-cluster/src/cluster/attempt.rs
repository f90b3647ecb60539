//! One attempt: who takes it, and how long it may take. All clusters make theirs here.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use dubbo_core::{
    cluster::{Candidates, ClusterConfig, Directory, MethodConfig, Node, NodeId, Score},
    invocation::{Invocation, RpcResult},
    service::{CallKind, MethodRef},
    status::Status,
};
use tokio::{
    task::consume_budget,
    time::{Instant, timeout_at},
};

use crate::{
    resend::{
        Class, ReferencePolicies, Resend,
        health::{Permit, Refusal, ServicePermit},
        policy::Policy,
    },
    router::{RouterSnapshots, Trail},
};

/// One reference, as its cluster sees it.
pub(super) struct Reference {
    pub(super) directory: Arc<dyn Directory>,
    pub(super) config: Arc<ClusterConfig>,
    pub(super) policies: Arc<ReferencePolicies>,
    snapshots: Arc<RouterSnapshots>,
    /// The provider that sticky methods stay with; 0 is none.
    sticky: AtomicU64,
}

impl Reference {
    pub(super) fn new(directory: Arc<dyn Directory>, config: Arc<ClusterConfig>) -> Self {
        let resend = config.extensions.shared::<Resend>();
        let policies = resend.reference(
            &config.service,
            config.descriptor(),
            &config.url,
            &config.extensions,
        );
        let snapshots = config.extensions.shared();
        Self {
            directory,
            config,
            policies,
            snapshots,
            sticky: AtomicU64::new(0),
        }
    }

    pub(super) fn is_available(&self) -> bool {
        let nodes = self.directory.nodes();
        nodes.iter().any(|node| node.invoker.is_available())
    }

    pub(super) fn in_flight(&self) -> usize {
        let nodes = self.directory.nodes();
        nodes.iter().map(|node| node.invoker.in_flight()).sum()
    }

    /// The options of the method that is called. Fills in how long an attempt of a unary call may take; a stream has a
    /// limit only when its caller set one.
    pub(super) fn prepare(&self, invocation: &mut Invocation) -> &MethodConfig {
        self.record(invocation);
        let switches = self.policies.switches();
        switches.colour(&mut invocation.attachments);
        let method = self.config.method(&invocation.method);
        if invocation.timeout.is_none() && invocation.method.kind() == CallKind::Unary {
            invocation.timeout = method.timeout;
        }
        method
    }

    /// Has the way of the call be recorded, where operators ask for that. It comes before its providers are listed.
    pub(super) fn record(&self, invocation: &mut Invocation) {
        self.snapshots.begin(&self.config.service, invocation);
    }

    /// Chooses among `candidates` (`docs/spec/cluster.md` §1.6): the sticky one, else one that is available and was not
    /// tried, else one that is available, else one that was not tried. `None`: all were tried and none is available.
    ///
    /// # Errors
    ///
    /// The load balance does not keep its promise.
    pub(super) fn choose(
        &self,
        candidates: &Candidates,
        tried: &[NodeId],
        method: &MethodConfig,
        invocation: &Invocation,
    ) -> Result<Option<Node>, Status> {
        let available = |node: &Node| node.admits(&invocation.method);
        let untried = |node: &Node| !tried.contains(&node.id);
        if method.sticky {
            let sticky = self.sticky.load(Ordering::Relaxed);
            let same = candidates.iter().find(|node| node.id.number() == sticky);
            if let Some(node) = same.filter(|node| available(node) && untried(node)) {
                return Ok(Some(node.clone()));
            }
        }
        let choices: [&dyn Fn(&Node) -> bool; 3] = [
            &|node| untried(node) && available(node),
            &available,
            &untried,
        ];
        for wanted in choices {
            let picked = method
                .load_balance
                .select_where(candidates, invocation, wanted);
            let node = picked.and_then(|at| candidates.get(at));
            let Some(node) = node.filter(|node| wanted(node)) else {
                let count = candidates.iter().filter(|node| wanted(node)).count();
                if count == 0 {
                    continue;
                }
                return Err(Status::internal(format!(
                    "the load balance picked none of the {count} providers that it had to choose from"
                )));
            };
            if method.sticky {
                self.sticky.store(node.id.number(), Ordering::Relaxed);
            }
            return Ok(Some(node.clone()));
        }
        Ok(None)
    }
}

/// The error of a first attempt without a node: a directory says why it lists nobody, so this one breaks its promise.
pub(super) fn nobody_listed() -> Status {
    Status::unavailable("the directory listed no provider and did not say why").not_processed()
}

/// Comes before each attempt. One that fails at once waits for nothing, so whoever tries again, the caller in a loop or
/// the cluster itself, would else keep the thread from timers and all other tasks.
pub(super) async fn let_others_run() {
    consume_budget().await;
}

/// Has `node` take the call, by the policy of the method. It may be refused without being sent.
pub(super) async fn call(reference: &Reference, node: &Node, invocation: Invocation) -> RpcResult {
    let policy = reference.policies.guarded(&invocation);
    let permit = match &policy {
        Some(policy) => enter(reference, policy, node, &invocation.method)?,
        None => None,
    };
    send(reference, node, permit, invocation).await
}

/// Leave to call `node`, where its health is looked after: the last look before it is.
///
/// # Errors
///
/// It is not to be called now.
pub(super) fn enter<'a>(
    reference: &Reference,
    policy: &'a Policy,
    node: &'a Node,
    method: &MethodRef,
) -> Result<Option<Permit<'a>>, Status> {
    if !policy.is_guarded() {
        return Ok(None);
    }
    let Some(health) = reference.policies.health(node) else {
        return Ok(None);
    };
    let guards = &policy.options().guards;
    let permit = health.enter(method, guards, Instant::now());
    permit.map(Some).map_err(|refusal| {
        let address = node.invoker.url().address();
        Status::unavailable(format!("{address} is not called: {refusal}")).not_processed()
    })
}

/// Has `node` take the call. What it did is told to those who look after it and who choose by it.
pub(super) async fn send(
    reference: &Reference,
    node: &Node,
    permit: Option<Permit<'_>>,
    mut invocation: Invocation,
) -> RpcResult {
    if let Some(trail) = Trail::of(&invocation) {
        trail.chosen(node);
    }
    let load_balance = &reference.config.method(&invocation.method).load_balance;
    load_balance.before(node, &mut invocation);
    let started = Instant::now();
    let (timeout, deadline) = (invocation.timeout, invocation.deadline);
    let limit = invocation
        .attempt_deadline(started)
        .and_then(|deadline| deadline.checked_add(OVERRUN));
    let method = node.state.method(&invocation.method);
    let _active = method.begin();
    let call = node.invoker.invoke(invocation);
    let result = match limit {
        Some(limit) => timeout_at(limit, call).await.unwrap_or_else(|_| {
            Err(Status::deadline_exceeded(
                "the attempt went on after its time was up; a filter or the protocol does not keep to the deadline",
            ))
        }),
        None => call.await,
    };
    let now = Instant::now();
    let is_over = deadline.is_some_and(|deadline| deadline <= now);
    let class = result
        .as_ref()
        .err()
        .map(|status| Class::of(status, is_over));
    // What the caller gave up says nothing about the provider.
    if !matches!(class, Some(Class::Canceled | Class::Deadline)) {
        let failed = class.is_some_and(Class::is_failure_of_node);
        let elapsed = now.saturating_duration_since(started);
        method.finished(!failed, elapsed, now);
        load_balance.after(node, method, &result);
        let score = permit.and_then(|permit| permit.settle(failed, elapsed, timeout));
        if let Some(score) = score {
            node.state.set_score(score);
        }
    }
    if !reference.policies.weighs() && node.state.score() != Score::FULL {
        node.state.set_score(Score::FULL);
    }
    result
}

/// Leave to make a call of `method`, where a breaker looks after all that provide it.
///
/// # Errors
///
/// Its calls are stopped.
pub(super) fn enter_service<'a>(
    reference: &'a Reference,
    policy: &Policy,
    method: &MethodRef,
) -> Result<Option<ServicePermit<'a>>, Status> {
    let Some(options) = &policy.options().guards.breaker else {
        return Ok(None);
    };
    let breaker = reference.policies.breaker(method, options);
    let entered = match breaker.enter(options) {
        Err(_) if reference.policies.breakers_are_forced_closed() => return Ok(None),
        entered => entered,
    };
    entered.map(Some).map_err(|refusal| {
        let wait = match &refusal {
            Refusal::Broken { wait, .. } => *wait,
            _ => None,
        };
        Status::unavailable(format!(
            "calls of {} of {} are stopped: {refusal}",
            method.name(),
            reference.config.service
        ))
        .not_processed()
        .with_pushback(wait)
    })
}

/// Protocols end an attempt at its deadline, and know best what they waited for. This much later it is ended for them.
const OVERRUN: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use dubbo_core::{cluster::LoadBalance, invoker::Invoker, service::ServiceKey};

    use super::*;
    use crate::{
        loadbalance::{Clock, RoundRobin},
        testing::{Fixed, Scripted, consumer, invocation, service},
    };

    fn reference(sticky: bool, load_balance: Arc<dyn LoadBalance>) -> Reference {
        let method = MethodConfig {
            timeout: None,
            retries: Some(2),
            sticky,
            load_balance,
        };
        let key = ServiceKey::new("a.B");
        let config = ClusterConfig::new(key, &service(), consumer(), method, &HashMap::new());
        Reference::new(Fixed::of(&[]), Arc::new(config))
    }

    fn round_robin() -> Arc<dyn LoadBalance> {
        Arc::new(RoundRobin::new(Clock::new(|| 0)))
    }

    /// The port of the node that `reference` chooses.
    fn choose(
        reference: &Reference,
        nodes: &[Arc<Scripted>],
        tried: &[u16],
    ) -> Result<Option<u16>, String> {
        let invocation = invocation();
        let candidates = Fixed::of(nodes).list(&invocation).expect("lists");
        let tried: Vec<NodeId> = nodes
            .iter()
            .map(|node| node.url())
            .filter(|url| url.port().is_some_and(|port| tried.contains(&port)))
            .map(NodeId::of)
            .collect();
        let method = reference.config.method(&invocation.method);
        reference
            .choose(&candidates, &tried, method, &invocation)
            .map(|node| node?.invoker.url().port())
            .map_err(|status| status.message().to_owned())
    }

    #[test]
    fn available_and_untried_comes_first_then_available_then_untried() {
        for (available, tried, want) in [
            ([true, true], &[][..], Ok(Some(1))),
            ([false, true], &[], Ok(Some(2))),
            ([true, true], &[1], Ok(Some(2))),
            ([true, false], &[1], Ok(Some(1))),
            ([true, true], &[1, 2], Ok(Some(1))),
            ([false, false], &[1], Ok(Some(2))),
            ([false, false], &[], Ok(Some(1))),
            ([false, false], &[1, 2], Ok(None)),
        ] {
            let nodes = [1, 2].map(Scripted::at);
            for (node, available) in nodes.iter().zip(available) {
                node.set_available(available);
            }
            let got = choose(&reference(false, round_robin()), &nodes, tried);
            assert_eq!(got, want, "available {available:?}, tried {tried:?}");
        }
    }

    #[test]
    fn sticky_calls_stay_until_their_provider_is_gone_tried_or_unavailable() {
        let nodes = [1, 2, 3].map(Scripted::at);
        let reference = reference(true, round_robin());
        for _ in 0..100 {
            assert_eq!(choose(&reference, &nodes, &[]), Ok(Some(1)));
        }
        nodes[0].set_available(false);
        assert_eq!(choose(&reference, &nodes, &[]), Ok(Some(2)));
        nodes[0].set_available(true);
        assert_eq!(
            choose(&reference, &nodes, &[]),
            Ok(Some(2)),
            "the new one is remembered"
        );
        let other = choose(&reference, &nodes, &[2]);
        assert!(matches!(other, Ok(Some(1 | 3))), "{other:?}");
        assert_eq!(choose(&reference, &nodes, &[]), other);
        let rest: Vec<_> = nodes
            .iter()
            .filter(|node| Ok(node.url().port()) != other)
            .cloned()
            .collect();
        assert_ne!(choose(&reference, &rest, &[]), other);
    }

    #[test]
    fn a_load_balance_that_picks_nothing_is_an_error_and_no_panic() {
        struct Broken(Option<usize>);
        impl LoadBalance for Broken {
            fn select(&self, _: &Candidates, _: &Invocation) -> Option<usize> {
                self.0
            }
        }
        for pick in [None, Some(7)] {
            let reference = reference(false, Arc::new(Broken(pick)));
            let want = "the load balance picked none of the 1 providers that it had to choose from";
            assert_eq!(
                choose(&reference, &[Scripted::at(1)], &[]),
                Err(want.to_owned())
            );
        }
    }
}
