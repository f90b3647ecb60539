//! One provider as clusters see it.

use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    num::NonZeroU64,
    sync::Arc,
    time::Duration,
};

use super::NodeState;
use crate::{invoker::Invoker, service::MethodRef, url::Url};

/// One provider as clusters see it.
#[derive(Clone)]
#[non_exhaustive]
pub struct Node {
    /// Tells it from others.
    pub id: NodeId,
    /// Takes the calls.
    pub invoker: Arc<dyn Invoker>,
    /// What the provider says about itself, with the rules applied that override it: what routers and policies read. The
    /// invoker's own URL is the one that it was made with.
    pub url: Url,
    /// The same without anything of the consumer's in it: what routing rules describe. A consumer in `region=hz` says so of
    /// itself, and not of those it calls.
    pub said: Url,
    /// The provider's share of the calls, as it or a rule says.
    pub weight: NodeWeight,
    /// What those who call it have seen of it.
    pub state: Arc<NodeState>,
}

/// Tells providers apart, whatever list they stand in and however often that list is made anew.
///
/// A hash of protocol, host, port, service key and start time (`docs/spec/cluster.md` §1.6): a provider that comes back
/// after its registry lost it is the same one, and one that was started again is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeId(NonZeroU64);

impl NodeId {
    /// The id of the provider at `url`.
    pub fn of(url: &Url) -> Self {
        let mut hasher = DefaultHasher::new();
        (url.protocol(), url.host(), url.port()).hash(&mut hasher);
        (url.service_key(), url.param("timestamp")).hash(&mut hasher);
        Self(NonZeroU64::MIN.saturating_add(hasher.finish()))
    }

    /// The id as a number, never 0: for a place that an atomic holds.
    pub fn number(self) -> u64 {
        self.0.get()
    }
}

/// A provider's share of the calls beside others, and how it grows after a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeWeight {
    /// The share once warm; 0 is none.
    pub base: u32,
    /// When the provider started, in milliseconds since the epoch; `None` when unknown: warm at once.
    pub started_millis: Option<u64>,
    /// How long the share grows.
    pub warmup: Duration,
}

impl NodeWeight {
    /// A share that does not grow.
    pub fn constant(base: u32) -> Self {
        Self {
            base,
            started_millis: None,
            warmup: Duration::ZERO,
        }
    }

    /// A share that grows over `warmup` from `started_millis` on.
    pub fn warming(base: u32, started_millis: u64, warmup: Duration) -> Self {
        Self {
            base,
            started_millis: Some(started_millis),
            warmup,
        }
    }

    /// The share at `now_millis`, in milliseconds since the epoch: it grows from 1 in a straight line while the provider
    /// warms up (`docs/spec/cluster.md` §3.1). A start in the future counts as one just now.
    pub fn at(&self, now_millis: u64) -> u32 {
        let Some(started) = self.started_millis else {
            return self.base;
        };
        let (up, warmup) = (
            u128::from(now_millis.saturating_sub(started)),
            self.warmup.as_millis(),
        );
        if up >= warmup {
            return self.base;
        }
        let grown = up * u128::from(self.base) / warmup;
        u32::try_from(grown)
            .unwrap_or(self.base)
            .clamp(1.min(self.base), self.base)
    }
}

impl Node {
    /// A provider behind `invoker`, told apart from others by the invoker's URL. Nothing has been seen of it.
    pub fn new(invoker: Arc<dyn Invoker>, weight: NodeWeight) -> Self {
        Self {
            id: NodeId::of(invoker.url()),
            url: invoker.url().clone(),
            said: invoker.url().clone(),
            invoker,
            weight,
            state: Arc::default(),
        }
    }

    /// The same provider, with what a rule says about it.
    pub fn overridden(&self, url: Url, weight: NodeWeight) -> Self {
        Self {
            url,
            weight,
            ..self.clone()
        }
    }

    /// Its share of the calls at `now_millis`, in milliseconds since the epoch: warm-up and [score](NodeState::score)
    /// applied. A share that is there stays 1 at least.
    pub fn effective_weight(&self, now_millis: u64) -> u32 {
        self.state.score().apply(self.weight.at(now_millis))
    }

    /// Whether an attempt of `method` may go to it now: it is available, and no breaker or ejection speaks against it.
    pub fn admits(&self, method: &MethodRef) -> bool {
        self.invoker.is_available() && self.state.admits(method)
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("url", &self.url)
            .field("weight", &self.weight)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_t08_a_share_grows_from_one_in_a_straight_line_and_never_beyond_its_base() {
        let started = 1_700_000_000_000;
        let weight = NodeWeight::warming(100, started, Duration::from_mins(10));
        for (up, want) in [
            (-1, 1),
            (0, 1),
            (1, 1),
            (6_000, 1),
            (12_000, 2),
            (60_000, 10),
            (300_000, 50),
            (599_999, 99),
            (600_000, 100),
            (i64::MAX, 100),
        ] {
            assert_eq!(
                weight.at(started.saturating_add_signed(up)),
                want,
                "{up} ms"
            );
        }
        assert_eq!(NodeWeight::constant(7).at(0), 7);
        let (none, largest) = (0, u32::MAX);
        assert_eq!(
            NodeWeight::warming(none, started, Duration::MAX).at(started),
            0
        );
        assert_eq!(
            NodeWeight::warming(largest, 0, Duration::ZERO).at(0),
            largest
        );
    }

    #[test]
    fn a_provider_is_the_same_one_until_it_is_started_again() {
        let url = |text: &str| text.parse::<Url>().expect(text);
        let first = NodeId::of(&url("tri://10.0.0.1:1/a.B?timestamp=1&weight=5"));
        let reweighted = NodeId::of(&url("tri://10.0.0.1:1/a.B?timestamp=1&weight=6"));
        assert_eq!(first, reweighted);
        for other in [
            "tri://10.0.0.1:1/a.B?timestamp=2",
            "tri://10.0.0.1:2/a.B?timestamp=1",
            "tri://10.0.0.2:1/a.B?timestamp=1",
            "dubbo://10.0.0.1:1/a.B?timestamp=1",
            "tri://10.0.0.1:1/a.B?timestamp=1&group=g",
        ] {
            assert_ne!(first, NodeId::of(&url(other)), "{other}");
        }
    }
}
