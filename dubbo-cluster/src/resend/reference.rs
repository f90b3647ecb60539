//! The policies of one reference: which one a call has, found without a lock.

use std::{collections::BTreeMap, fmt, sync::Arc};

use arc_swap::{ArcSwap, Guard};
use dubbo_core::{
    cluster::Node,
    extension::Extensions,
    invocation::Invocation,
    service::{MethodRef, ServiceDescriptor, ServiceKey},
    url::{Key, Url},
};

use super::{
    Failing, Resend, Switches,
    health::{BreakerOptions, BreakerState, Forced, Health, ServiceBreaker},
    policy::{Glob, Policy},
    pool,
    watch::Watch,
};

/// The policies of one reference. Those of another document take their place while calls run.
pub struct ReferencePolicies {
    resend: Resend,
    service: ServiceKey,
    descriptor: Arc<ServiceDescriptor>,
    extensions: Extensions,
    /// By the number of the method, and last for those that the service does not know.
    idempotent: Box<[bool]>,
    resolved: ArcSwap<Resolved>,
    watch: Arc<Watch>,
}

/// Which policy each call has.
#[derive(Debug)]
pub(super) struct Resolved {
    /// As `idempotent` of [`ReferencePolicies`].
    pub(super) methods: Box<[Choice]>,
    pub(super) by_name: BTreeMap<Arc<str>, Arc<Policy>>,
    /// That of the cluster `retrySame` where no policy is.
    pub(super) same: Arc<Policy>,
    /// Whether any of them looks after providers.
    pub(super) is_guarded: bool,
    /// Whether any of them has weights follow what is seen.
    pub(super) weighs: bool,
}

/// The policies of one method.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    /// Those for traffic of a colour, the most exact one first.
    pub(super) coloured: Box<[(Glob, Arc<Policy>)]>,
    pub(super) others: Arc<Policy>,
}

impl ReferencePolicies {
    pub(super) fn new(
        resend: Resend,
        service: ServiceKey,
        descriptor: Arc<ServiceDescriptor>,
        url: &Url,
        extensions: Extensions,
        resolved: Resolved,
        watch: Arc<Watch>,
    ) -> Self {
        let methods = descriptor.methods().iter();
        let idempotent = methods.map(|method| {
            let said = url.get_for(&method.name, &IDEMPOTENT);
            said.ok().flatten().unwrap_or(method.idempotent)
        });
        let unknown = url.get(&IDEMPOTENT).ok().flatten().unwrap_or(false);
        Self {
            idempotent: idempotent.chain([unknown]).collect(),
            resend,
            service,
            descriptor,
            extensions,
            resolved: ArcSwap::from_pointee(resolved),
            watch,
        }
    }

    /// The policy of calls of `method` that have no colour and name none. It takes no lock.
    pub fn method(&self, method: &MethodRef) -> Arc<Policy> {
        Arc::clone(&place(&self.resolved.load().methods, method).others)
    }

    /// The policy of `invocation`: the one that its attachment `dubbo-retry-policy` names, which is not sent, else the most
    /// exact one for its method and its colour. It takes no lock.
    pub fn of(&self, invocation: &mut Invocation) -> Arc<Policy> {
        let resolved = self.resolved.load();
        if !invocation.attachments.is_empty()
            && let Some(named) = named(&resolved, invocation)
        {
            return named;
        }
        Arc::clone(resolved.choose(invocation))
    }

    /// The policy of `invocation` where it looks after providers, for attempts that are made without one.
    pub(crate) fn guarded(&self, invocation: &Invocation) -> Option<Arc<Policy>> {
        let resolved = self.resolved.load();
        if !resolved.is_guarded {
            return None;
        }
        let policy = resolved.choose(invocation);
        policy.is_guarded().then(|| Arc::clone(policy))
    }

    /// Who looks after `node`; `None` where a plugin does.
    pub(crate) fn health<'n>(&self, node: &'n Node) -> Option<&'n Health> {
        self.watch.health(node)
    }

    /// Says how many providers there are, where anybody looks after them.
    pub(crate) fn listed(&self, count: usize) {
        self.watch.listed(count);
    }

    /// Remembers an attempt that failed, for those who look at a running program.
    pub(crate) fn remember(&self, failed: &Failing<'_>) {
        self.resend.remember(failed);
    }

    /// What stops all calls of `method`.
    pub(crate) fn breaker(&self, method: &MethodRef, options: &BreakerOptions) -> &ServiceBreaker {
        self.watch.breaker(method, options)
    }

    /// Whether calls of `method` are stopped, or let through one by one, whoever provides it.
    pub(crate) fn is_broken(&self, method: &MethodRef, options: &BreakerOptions) -> bool {
        !self.breakers_are_forced_closed()
            && self.breaker(method, options).state() != BreakerState::Closed
    }

    /// Whether a switch says that no breaker stops a call.
    pub(crate) fn breakers_are_forced_closed(&self) -> bool {
        self.switches().breaker == Forced::Closed
    }

    /// Whether weights follow what is seen of providers.
    pub(crate) fn weighs(&self) -> bool {
        self.resolved.load().weighs && self.switches().weights_dynamic
    }

    /// That of calls that ask the same provider again, where no policy is for them.
    pub(crate) fn same(&self) -> Arc<Policy> {
        Arc::clone(&self.resolved.load().same)
    }

    /// Whether repeating a call of `method` does no harm, as its definition or the parameter `idempotent` says.
    pub fn is_idempotent(&self, method: &MethodRef) -> bool {
        *place(&self.idempotent, method)
    }

    /// What operators have switched. It takes no lock.
    pub fn switches(&self) -> Switches {
        self.resend.switches()
    }

    pub(super) fn service(&self) -> &ServiceKey {
        &self.service
    }

    pub(super) fn descriptor(&self) -> &Arc<ServiceDescriptor> {
        &self.descriptor
    }

    pub(super) fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    pub(super) fn exchange(&self, resolved: Resolved) {
        self.resolved.store(Arc::new(resolved));
    }
}

impl Resolved {
    /// The policy of `invocation` by its method and its colour.
    fn choose(&self, invocation: &Invocation) -> &Arc<Policy> {
        let choice = place(&self.methods, &invocation.method);
        if choice.coloured.is_empty() {
            return &choice.others;
        }
        let tag = pool::tag(&invocation.attachments);
        let mut coloured = choice.coloured.iter();
        let fitting = tag.and_then(|tag| coloured.find(|(glob, _)| glob.matches(tag)));
        fitting.map_or(&choice.others, |(_, policy)| policy)
    }
}

impl fmt::Debug for ReferencePolicies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReferencePolicies")
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

fn named(resolved: &Guard<Arc<Resolved>>, invocation: &mut Invocation) -> Option<Arc<Policy>> {
    let name = invocation.attachments.get(POLICY)?;
    let policy = resolved.by_name.get(name).cloned();
    if policy.is_none() {
        tracing::warn!(
            service = %invocation.service, method = invocation.method.name(), policy = name,
            "a call names a policy that is not there, and is made by that of its method"
        );
    }
    invocation.attachments.remove(POLICY);
    policy
}

fn place<'a, T>(by_method: &'a [T], method: &MethodRef) -> &'a T {
    let last = by_method.len() - 1;
    &by_method[method.index().min(last)]
}

/// The attachment with which a caller names the policy of one call.
pub(crate) const POLICY: &str = "dubbo-retry-policy";

const IDEMPOTENT: Key<Option<bool>> = Key {
    name: "idempotent",
    default: || None,
};
