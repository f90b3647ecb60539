//! Calls that are given up, and what a policy says about them.

use std::{fmt, sync::Arc};

use dubbo_core::{
    extension::{BoxError, Extensions},
    invocation::Invocation,
    service::{MethodRef, ServiceKey},
    status::Status,
    url::{Key, Url},
    yaml::{ProblemKind, Section},
};

use super::{
    DeadLetters,
    letter::{Attempt, DeadLetter, Reason, Unwritable},
    options::Reasons,
};
use crate::resend::{outcome::Outcome, queue::Priority};

/// A call that nobody tries again by itself.
#[derive(Debug)]
#[non_exhaustive]
pub struct Lost {
    /// The call as it was made.
    pub call: Invocation,
    /// Why it is given up.
    pub reason: Reason,
    /// How it failed last.
    pub status: Status,
    /// How its attempts went.
    pub attempts: Vec<Attempt>,
    /// When it failed first, in milliseconds since the epoch.
    pub first_failure: u64,
    /// The policy by which it was tried again; empty without one.
    pub policy: String,
    /// The pool of its retries; empty is the default one.
    pub pool: String,
    /// How urgent it is among others.
    pub priority: Priority,
    /// When it will be of no use any more, in milliseconds since the epoch.
    pub expires_at: Option<u64>,
}

/// Service, method and reason of a call that is given up.
pub(super) type Summary = (Arc<ServiceKey>, MethodRef, Reason);

/// Marks a call, among its extensions, as the replay of a dead letter: whoever replays it wants to know how it ends. So
/// clusters do not answer it for the provider, and it does not become another letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replaying;

impl Lost {
    /// `call`, given up for `reason` after it failed with `status`.
    pub fn new(call: Invocation, reason: Reason, status: Status) -> Self {
        Self {
            call,
            reason,
            status,
            attempts: Vec::new(),
            first_failure: super::clock::now(),
            policy: String::new(),
            pool: String::new(),
            priority: Priority::default(),
            expires_at: None,
        }
    }

    /// Which call, for the log.
    pub(super) fn summary(&self) -> Summary {
        let call = &self.call;
        (Arc::clone(&call.service), call.method.clone(), self.reason)
    }

    /// The letter about it.
    ///
    /// # Errors
    ///
    /// Its requests are a stream, or cannot be encoded.
    pub fn letter(&self) -> Result<DeadLetter, Unwritable> {
        let mut letter = DeadLetter::about(&self.call, self.reason)?;
        letter.first_failure = self.first_failure;
        for attempt in &self.attempts {
            letter.tried(attempt.clone());
        }
        letter.code = self.status.code();
        letter.policy.clone_from(&self.policy);
        if !self.pool.is_empty() {
            letter.pool.clone_from(&self.pool);
        }
        letter.priority = self.priority;
        letter.expires_at = self.expires_at;
        Ok(letter)
    }
}

/// What a configuration says about calls that are given up.
///
/// In a policy: `dead-letter: { on: [exhausted], store: disk }`, `outcome: compensate`,
/// `compensate: { service: shop.Orders, method: cancel }`. As URL parameters, for a method or for all: `dead-letter.on`,
/// `dead-letter.store`, `outcome`, `compensate.service`, `compensate.method`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostOptions {
    /// Which calls; the others are only told in the log.
    pub on: Reasons,
    /// Where letters about them are kept, if not where all are.
    pub store: Option<String>,
    /// What becomes of them: the name of a linked [`Outcome`], by default `dead-letter`.
    pub outcome: Option<String>,
    /// For `compensate`: the service that undoes, by default the one that was called.
    pub compensate_service: Option<String>,
    /// For `compensate`: its method.
    pub compensate_method: Option<String>,
}

impl LostOptions {
    /// Reads the keys `dead-letter`, `outcome` and `compensate` of a policy, and notes what is wrong with them.
    pub fn read(s: &mut Section<'_, '_>) -> Self {
        let mut options = Self::default();
        s.section("dead-letter", |inner| {
            options.store = inner.string("store");
            if let Some(names) = inner.list("on") {
                match Reasons::parse(names.iter().map(String::as_str)) {
                    Ok(on) => options.on = on,
                    Err(error) => inner.error("on", ProblemKind::Type, error.to_string()),
                }
            }
        });
        options.outcome = s.string("outcome");
        s.section("compensate", |inner| {
            options.compensate_service = inner.string("service");
            options.compensate_method = inner.string("method");
        });
        options
    }

    /// Reads the parameters of `url` for `method`, and else those for all methods.
    ///
    /// # Errors
    ///
    /// A parameter that cannot be read.
    pub fn of(url: &Url, method: &str) -> Result<Self, BoxError> {
        let text = |name| {
            url.get_for(
                method,
                &Key::<Option<String>> {
                    name,
                    default: || None,
                },
            )
        };
        let on = text("dead-letter.on")?;
        let on = on.map(|names| Reasons::parse(names.split(',')));
        Ok(Self {
            on: on.transpose()?.unwrap_or_default(),
            store: text("dead-letter.store")?,
            outcome: text("outcome")?,
            compensate_service: text("compensate.service")?,
            compensate_method: text("compensate.method")?,
        })
    }

    /// Finds the plugins that are named.
    ///
    /// # Errors
    ///
    /// One is not linked, or cannot be made.
    pub fn resolve(
        &self,
        extensions: &Extensions,
        letters: &DeadLetters,
    ) -> Result<LostCalls, BoxError> {
        let params = [
            ("dead-letter.store", &self.store),
            ("compensate.service", &self.compensate_service),
            ("compensate.method", &self.compensate_method),
        ];
        let set = params
            .into_iter()
            .filter_map(|(key, value)| Some((key, value.as_deref()?)));
        let url = Url::new("outcome", "localhost").with_params(set);
        let name = self.outcome.as_deref().unwrap_or(DEFAULT_OUTCOME);
        let outcome = extensions.create::<dyn Outcome>(name, &url)?;
        if let Some(store) = &self.store {
            letters.store(extensions, store)?;
        }
        Ok(LostCalls {
            on: self.on,
            outcome,
        })
    }
}

/// What becomes of calls that are given up, with all plugins found.
#[derive(Clone)]
pub struct LostCalls {
    pub(super) on: Reasons,
    pub(super) outcome: Arc<dyn Outcome>,
}

impl LostCalls {
    /// Calls that are given up for one of these reasons go to `outcome`.
    pub fn new(on: Reasons, outcome: Arc<dyn Outcome>) -> Self {
        Self { on, outcome }
    }

    /// Whether anything is done about a call that is given up for `reason`.
    pub fn takes(&self, reason: Reason) -> bool {
        self.on.contains(reason)
    }
}

impl fmt::Debug for LostCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LostCalls")
            .field("on", &self.on)
            .finish_non_exhaustive()
    }
}

const DEFAULT_OUTCOME: &str = "dead-letter";
