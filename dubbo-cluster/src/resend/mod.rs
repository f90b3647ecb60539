//! One design for trying again, breaking and recovering (`docs/spec/cluster.md` §7).
//!
//! [`Resend`] is what the references of one instance have in common: the policies that say which calls are tried again,
//! the budgets and pools that bound them, and the switches of operators. Clusters make the attempts.

pub mod backoff;
pub mod budget;
mod classify;
pub mod dead_letter;
mod follow;
pub mod health;
pub(crate) mod hedge;
pub(crate) mod idempotency;
pub(crate) mod metadata;
pub mod outcome;
pub mod policy;
pub mod pool;
pub mod queue;
mod recent;
pub(crate) mod reference;
mod resolve;
mod switches;
pub mod throttle;
mod watch;

use std::{
    fmt,
    sync::{Arc, Weak},
};

use arc_swap::ArcSwap;
use dubbo_core::{
    extension::Extensions,
    service::{ServiceDescriptor, ServiceKey},
    url::Url,
};
use parking_lot::Mutex;

pub(crate) use self::recent::Failing;
pub use self::{
    classify::Class, follow::Following, policy::PolicyDocument, recent::RecentFailure,
    reference::ReferencePolicies, switches::Switches,
};
use self::{health::BreakerState, recent::Recent, resolve::Shelf, switches::Board};

/// What the references of one instance have in common: policies, switches, budgets and pools. Its clones are the same one.
///
/// Plugins get it with [`shared`](dubbo_core::extension::ExtensionContext::shared).
#[derive(Clone, Default)]
pub struct Resend(Arc<Shared>);

#[derive(Default)]
struct Shared {
    said: Mutex<Said>,
    current: ArcSwap<PolicyDocument>,
    shelf: Mutex<Shelf>,
    switches: Board,
    recent: Recent,
    references: Mutex<Vec<Weak<ReferencePolicies>>>,
}

/// The documents, the strongest one first.
#[derive(Default)]
struct Said {
    code: Option<Arc<PolicyDocument>>,
    rule: Option<Arc<PolicyDocument>>,
    configured: Option<Arc<PolicyDocument>>,
}

impl Resend {
    /// Says from code how calls are tried again, from now on: it counts more than a rule, which counts more than the
    /// configuration. `None` takes it back.
    pub fn set_policies(&self, document: impl Into<Option<PolicyDocument>>) {
        let document = document.into().map(Arc::new);
        self.change(|said| said.code = document);
    }

    /// Says what the configuration says.
    pub fn configure(&self, document: PolicyDocument) {
        self.change(|said| said.configured = Some(Arc::new(document)));
    }

    /// Says what the rule says.
    pub(crate) fn set_rule(&self, document: Option<Arc<PolicyDocument>>) {
        self.change(|said| said.rule = document);
    }

    /// The document that counts.
    pub fn policies(&self) -> Arc<PolicyDocument> {
        self.0.current.load_full()
    }

    /// Switches from code, which count more than those of the rule. `None` takes them back.
    pub fn set_switches(&self, switches: impl Into<Option<Switches>>) {
        let switches = switches.into();
        self.switch(|board| board.set(switches));
    }

    /// Switches as the rule says.
    pub(crate) fn set_switches_rule(&self, switches: Option<Arc<Switches>>) {
        self.switch(|board| board.set_rule(switches));
    }

    fn switch(&self, set: impl FnOnce(&Board)) {
        let kept = self.0.shelf.lock();
        set(&self.0.switches);
        kept.force(self.switches().breaker);
    }

    /// What is switched now. It takes no lock.
    pub fn switches(&self) -> Switches {
        self.0.switches.current()
    }

    /// The attempts that failed last and that another one may have helped against, the last one last: up to 64 of them.
    pub fn recent_failures(&self) -> Vec<RecentFailure> {
        self.0.recent.all()
    }

    /// The methods of services whose calls are stopped, or let through one by one, whoever provides them: as messages call
    /// them, `shop.Users.Get`, and where their breakers stand.
    pub fn broken(&self) -> Vec<(String, BreakerState)> {
        self.0.shelf.lock().broken()
    }

    pub(crate) fn remember(&self, failed: &Failing<'_>) {
        self.0.recent.add(failed);
    }

    /// The policies of one reference, which change with the document. `url` is where `idempotent` is found.
    pub fn reference(
        &self,
        service: &ServiceKey,
        descriptor: &Arc<ServiceDescriptor>,
        url: &Url,
        extensions: &Extensions,
    ) -> Arc<ReferencePolicies> {
        let mut references = self.0.references.lock();
        let mut kept = self.0.shelf.lock();
        let policies = Arc::new(ReferencePolicies::new(
            self.clone(),
            service.clone(),
            Arc::clone(descriptor),
            url,
            extensions.clone(),
            kept.resolve(&self.policies(), service, descriptor, extensions),
            kept.watch(service, descriptor, self.switches().breaker),
        ));
        references.retain(|reference| reference.strong_count() > 0);
        references.push(Arc::downgrade(&policies));
        policies
    }

    fn change(&self, change: impl FnOnce(&mut Said)) {
        let mut said = self.0.said.lock();
        change(&mut said);
        let documents = [&said.code, &said.rule, &said.configured];
        let next = documents.into_iter().flatten().next().cloned();
        let next = next.unwrap_or_default();
        if *next == **self.0.current.load() {
            return;
        }
        // Held until all have changed, so that a reference that is made meanwhile is not left behind.
        let references = self.0.references.lock();
        self.0.current.store(Arc::clone(&next));
        let mut kept = self.0.shelf.lock();
        for policies in references.iter().filter_map(Weak::upgrade) {
            let resolved = kept.resolve(
                &next,
                policies.service(),
                policies.descriptor(),
                policies.extensions(),
            );
            policies.exchange(resolved);
        }
        tracing::info!(
            mode = ?next.mode, policies = next.policies.len(), "policies of trying again have changed"
        );
    }
}

impl fmt::Debug for Resend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resend")
            .field("policies", &self.policies())
            .field("switches", &self.switches())
            .finish_non_exhaustive()
    }
}
