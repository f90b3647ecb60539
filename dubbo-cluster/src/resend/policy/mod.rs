//! How calls are tried again: what a policy says (`docs/spec/cluster.md` §7.2).

mod document;
mod glob;
mod guards;
mod matching;
mod read;
mod retry_on;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use dubbo_core::service::MethodRef;

pub use self::{
    document::{NamedPolicy, PolicyDocument},
    glob::Glob,
    matching::Match,
    retry_on::{Business, NotSent, RetryOn},
};
use super::{
    backoff::Backoff,
    budget::Budget,
    dead_letter::{DeadLetters, LostCalls, LostOptions},
    health::Guards,
    hedge::{HedgeOptions, Hedging},
    pool::{Pool, Pools},
};

/// Which rules calls follow that no policy is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Mode {
    /// Dubbo's: whatever fails is tried again `retries` times, at once, on another provider.
    #[default]
    Compat,
    /// By class, with idempotency, backoff and a budget (`docs/spec/cluster.md` §7.3).
    Strict,
}

/// What a policy says; what it does not say has a default.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PolicyOptions {
    /// `max-attempts`: the first one included. By default `retries` and one.
    pub max_attempts: Option<u32>,
    /// `target`: who is asked again. By default the cluster decides: `failover` asks others, `retrySame` the same one.
    pub target: Option<Target>,
    /// `per-attempt-timeout`: how long each attempt of a unary call may take. By default the method's `timeout`.
    pub per_attempt_timeout: Option<Duration>,
    /// `total-timeout`: how long a unary call may take with all its attempts. By default the caller's deadline, and
    /// without one the time of all attempts.
    pub total_timeout: Option<Duration>,
    /// `min-attempt-budget`: with less time left, no further attempt is made; 10 ms.
    pub min_attempt_budget: Duration,
    /// `idempotency`: which calls may be repeated although they may have been done.
    pub idempotency: Idempotency,
    /// `retry-on`: what is tried again.
    pub retry_on: RetryOn,
    /// `backoff`: how long to wait. By default [`Backoff::STRICT`], and [`Backoff::SAME`] where the same provider is asked.
    pub backoff: Option<Backoff>,
    /// `pushback`: whether a provider that refuses a call may say how long to wait; true.
    pub honours_pushback: bool,
    /// `budget`: the name of the budget that retries are taken from; `None` is without bounds.
    pub budget: Option<Arc<str>>,
    /// `hedge`: how long an attempt is waited for before it gets company. By default for ever.
    pub hedge: Option<HedgeOptions>,
    /// `breaker`, `ejection`, `recovery`, `weights`: what looks after providers. By default nothing does.
    pub guards: Guards,
    /// `dead-letter`, `outcome`, `compensate`: what becomes of calls that are given up. By default nothing but an error.
    pub lost: Option<LostOptions>,
}

/// Who is asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// Another provider each time, while there is one.
    Other,
    /// The one that failed.
    Same,
    /// The one that failed, so many times; then others.
    SameThenOther(u32),
}

/// Which calls may be repeated although they may have been done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Idempotency {
    /// All of them.
    Assume,
    /// Those of methods that are declared so, by their definition or by `idempotent: true`, and those to which their
    /// caller attached a key (`dubbo-idempotency-key`).
    #[default]
    Declared,
    /// All of them, because each gets a key, and providers that know the key do a call once.
    Keyed,
    /// None.
    Never,
}

impl Default for PolicyOptions {
    /// Those of `mode: strict`.
    fn default() -> Self {
        Self {
            max_attempts: None,
            target: None,
            per_attempt_timeout: None,
            total_timeout: None,
            min_attempt_budget: Duration::from_millis(10),
            idempotency: Idempotency::default(),
            retry_on: RetryOn::default(),
            backoff: None,
            honours_pushback: true,
            budget: Some(Arc::from(DEFAULT_NAME)),
            hedge: None,
            guards: Guards::default(),
            lost: None,
        }
    }
}

impl PolicyOptions {
    /// Those that a call of mode `compat` has.
    pub(super) fn compat(budget: Option<Arc<str>>) -> Self {
        Self {
            backoff: Some(Backoff::NONE),
            honours_pushback: false,
            budget,
            ..Self::default()
        }
    }

    /// Those of the cluster `retrySame` without a policy: a provider that fails is never asked again without bounds.
    pub(super) fn same(budget: Option<Arc<str>>) -> Self {
        Self {
            target: Some(Target::Same),
            backoff: Some(Backoff::SAME),
            budget: Some(budget.unwrap_or_else(|| Arc::from(DEFAULT_NAME))),
            ..Self::default()
        }
    }
}

/// The policy of one service's calls, with what it shares with others.
pub struct Policy {
    name: Arc<str>,
    mode: Mode,
    options: PolicyOptions,
    is_guarded: bool,
    pools: Pools,
    /// By the number of the pool; none without bounds.
    budgets: Box<[Arc<Budget>]>,
    /// By the number of the method; none where nothing is hedged.
    hedgings: Box<[OnceLock<Hedging>]>,
    lost: Option<(DeadLetters, LostCalls)>,
}

impl Policy {
    pub(super) fn new(
        name: Arc<str>,
        mode: Mode,
        options: PolicyOptions,
        pools: Pools,
        budgets: Box<[Arc<Budget>]>,
        methods: usize,
        lost: Option<(DeadLetters, LostCalls)>,
    ) -> Self {
        let hedgings = if options.hedge.is_some() { methods } else { 0 };
        Self {
            name,
            mode,
            is_guarded: !options.guards.is_empty(),
            options,
            pools,
            budgets,
            hedgings: (0..hedgings).map(|_| OnceLock::new()).collect(),
            lost,
        }
    }

    /// What messages call it: its name in the document, or the mode that it stands for.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Whether its calls are made as Dubbo makes them.
    pub fn is_compat(&self) -> bool {
        self.mode == Mode::Compat
    }

    /// Whether it looks after providers.
    pub(crate) fn is_guarded(&self) -> bool {
        self.is_guarded
    }

    /// What it says.
    pub fn options(&self) -> &PolicyOptions {
        &self.options
    }

    /// How idempotent calls of `method` are hedged, if they are.
    pub(crate) fn hedging(&self, method: &MethodRef) -> Option<&Hedging> {
        let options = self.options.hedge?;
        let place = self.hedgings.get(method.index())?;
        Some(place.get_or_init(|| Hedging::new(options)))
    }

    /// What becomes of calls that are given up, and where.
    pub(crate) fn lost(&self) -> Option<&(DeadLetters, LostCalls)> {
        self.lost.as_ref()
    }

    /// Whether its retries are kept apart by the colour of their traffic. Those that nothing bounds are not.
    pub(crate) fn has_pools(&self) -> bool {
        !self.is_compat() || !self.budgets.is_empty()
    }

    /// The number of the pool of traffic of this colour.
    pub(crate) fn pool_of(&self, tag: Option<&str>) -> usize {
        self.pools.of(tag).0
    }

    /// The pool of this number.
    pub(crate) fn pool_at(&self, number: usize) -> &Arc<Pool> {
        self.pools.at(number)
    }

    /// The budget of the pool of this number; `None` is without bounds.
    pub(crate) fn budget(&self, pool: usize) -> Option<&Budget> {
        self.budgets.get(pool).map(|budget| &**budget)
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("name", &self.name)
            .field("mode", &self.mode)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// The name of what a document need not define.
pub(super) const DEFAULT_NAME: &str = "default";
