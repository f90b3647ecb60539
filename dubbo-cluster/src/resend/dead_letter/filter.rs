//! Which dead letters are meant.

use std::sync::Arc;

use dubbo_core::service::ServiceKey;

use super::letter::{DeadLetter, LetterId, Reason};

/// Which dead letters are meant: those that all that is set here holds for. The default means all.
///
/// ```
/// use dubbo_cluster::resend::dead_letter::{Filter, Reason};
///
/// let lost_at_the_last_end = Filter::default().service("shop.Orders".parse()?).reason(Reason::Shutdown);
/// # Ok::<_, dubbo_core::service::ServiceKeyError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a filter does nothing by itself"]
pub struct Filter {
    ids: Option<Vec<LetterId>>,
    service: Option<ServiceKey>,
    method: Option<String>,
    reason: Option<Reason>,
    policy: Option<String>,
    pool: Option<String>,
    held: Option<bool>,
}

impl Filter {
    /// The letter of this id.
    pub fn id(id: LetterId) -> Self {
        Self::ids([id])
    }

    /// The letters of these ids.
    pub fn ids(ids: impl IntoIterator<Item = LetterId>) -> Self {
        Self {
            ids: Some(ids.into_iter().collect()),
            ..Self::default()
        }
    }

    /// Only calls of this service.
    pub fn service(mut self, service: ServiceKey) -> Self {
        self.service = Some(service);
        self
    }

    /// Only calls of the method of this name.
    pub fn method(mut self, method: impl Into<String>) -> Self {
        self.method = Some(method.into());
        self
    }

    /// Only those that are here for this reason.
    pub fn reason(mut self, reason: Reason) -> Self {
        self.reason = Some(reason);
        self
    }

    /// Only those of this policy.
    pub fn policy(mut self, policy: impl Into<String>) -> Self {
        self.policy = Some(policy.into());
        self
    }

    /// Only those of this pool.
    pub fn pool(mut self, pool: impl Into<String>) -> Self {
        self.pool = Some(pool.into());
        self
    }

    /// Only those that are held, or only those that are not.
    pub fn held(mut self, held: bool) -> Self {
        self.held = Some(held);
        self
    }

    /// Whether `letter` is meant.
    pub fn accepts(&self, letter: &DeadLetter) -> bool {
        fn is<T: PartialEq>(wanted: Option<&T>, value: &T) -> bool {
            wanted.is_none_or(|wanted| wanted == value)
        }
        self.ids.as_ref().is_none_or(|ids| ids.contains(&letter.id))
            && is(self.service.as_ref(), &letter.service)
            && is(self.method.as_ref(), &letter.method)
            && is(self.reason.as_ref(), &letter.reason)
            && is(self.policy.as_ref(), &letter.policy)
            && is(self.pool.as_ref(), &letter.pool)
            && is(self.held.as_ref(), &letter.held)
    }

    /// The only letters that can be meant, if it names them.
    pub(super) fn named(&self) -> Option<&[LetterId]> {
        self.ids.as_deref()
    }
}

/// A part of a list of dead letters.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// The letters after this one; `None`: from the first.
    pub after: Option<LetterId>,
    /// At most so many.
    pub limit: usize,
}

impl Default for Page {
    /// The first 100.
    fn default() -> Self {
        Self {
            after: None,
            limit: 100,
        }
    }
}

/// Dead letters in the order in which they were written.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Listing {
    /// The letters of the page.
    pub letters: Vec<Arc<DeadLetter>>,
    /// What to ask for the next page [after](Page::after); `None` when this is the last one.
    pub next: Option<LetterId>,
}
