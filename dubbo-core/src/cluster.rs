//! Choosing among providers: directories list them, routers and load balancers narrow the list, clusters try.

use std::{
    collections::HashMap,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    num::NonZeroU64,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use smallvec::SmallVec;
use tokio::sync::watch;

use crate::{
    explain::Step,
    invocation::Invocation,
    invoker::Invoker,
    service::{MethodRef, ServiceDescriptor, ServiceKey},
    status::Status,
    url::Url,
};

/// Turns a directory of providers into one invoker, with a policy for failed calls.
pub trait Cluster: Send + Sync + 'static {
    /// The invoker of one reference.
    fn join(&self, directory: Arc<dyn Directory>, config: Arc<ClusterConfig>) -> Arc<dyn Invoker>;
}

/// Knows the providers of one reference, now.
#[async_trait]
pub trait Directory: Send + Sync + 'static {
    /// The providers that may serve `invocation`, routing rules applied.
    ///
    /// # Errors
    ///
    /// There is none; the status says why.
    fn list(&self, invocation: &Invocation) -> Result<Candidates, Status>;

    /// All providers, before routing.
    fn nodes(&self) -> Arc<[Node]>;

    /// Why no provider can be called now: nobody is listed, or nobody who is listed is available, each with its
    /// [reason](Invoker::why_unavailable). `None` when there is one.
    fn why_unavailable(&self) -> Option<String>;

    /// How its providers were found, step by step: from the question of the consumer to those that can be called.
    fn explain(&self) -> Vec<Step>;

    /// The consumer's URL.
    fn consumer_url(&self) -> &Url;

    /// Who names the providers, for messages: `registry memory://local`.
    fn origin(&self) -> String;

    /// Whether any provider is available, as it changes.
    fn availability(&self) -> watch::Receiver<bool>;

    /// Ends its subscription and closes its invokers. Calls after this find no provider.
    ///
    /// # Cancel safety
    ///
    /// What was begun goes on when the future is dropped; another call waits for the rest.
    async fn close(&self);
}

/// Narrows a list of providers for one call. It runs on every call and must not block.
pub trait Router: Send + Sync + 'static {
    /// Routers run in rising order; equal ones by name.
    fn priority(&self) -> i32 {
        0
    }

    /// Keeps the providers that `invocation` may go to.
    fn route(&self, candidates: &mut Candidates, consumer: &Url, invocation: &Invocation);
}

/// Chooses one provider. It runs on every attempt and must not block. One value serves one reference, or one method of
/// it that asks for another algorithm.
pub trait LoadBalance: Send + Sync + 'static {
    /// The position in `candidates` of the one to call; `None` only when there are none.
    fn select(&self, candidates: &Candidates, invocation: &Invocation) -> Option<usize>;
}

/// One provider as clusters see it.
#[derive(Clone)]
#[non_exhaustive]
pub struct Node {
    /// Tells it from others.
    pub id: NodeId,
    /// Takes the calls.
    pub invoker: Arc<dyn Invoker>,
    /// What the provider says about its share of the calls.
    pub weight: NodeWeight,
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
    /// A provider behind `invoker`, told apart from others by the invoker's URL.
    pub fn new(invoker: Arc<dyn Invoker>, weight: NodeWeight) -> Self {
        Self {
            id: NodeId::of(invoker.url()),
            invoker,
            weight,
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("url", self.invoker.url())
            .field("weight", &self.weight)
            .finish_non_exhaustive()
    }
}

/// A shrinking view of a directory's list: routers drop positions, and no provider is copied.
#[derive(Debug, Clone)]
pub struct Candidates {
    all: Arc<[Node]>,
    kept: SmallVec<[u32; 16]>,
}

impl Candidates {
    /// All of `nodes`.
    pub fn all(nodes: Arc<[Node]>) -> Self {
        let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        Self {
            kept: (0..count).collect(),
            all: nodes,
        }
    }

    /// How many are left.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The one at `position`.
    pub fn get(&self, position: usize) -> Option<&Node> {
        self.all.get(*self.kept.get(position)? as usize)
    }

    /// Those that are left.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Node> {
        self.kept.iter().map(|&index| &self.all[index as usize])
    }

    /// Keeps those for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&Node) -> bool) {
        let all = &self.all;
        self.kept.retain(|index| keep(&all[*index as usize]));
    }
}

/// What a cluster needs to know about one reference.
#[non_exhaustive]
pub struct ClusterConfig {
    /// The service it refers to.
    pub service: ServiceKey,
    methods: Box<[MethodConfig]>,
    default: MethodConfig,
}

impl ClusterConfig {
    /// `default` for every method of `descriptor`, but for those in `methods`, by name.
    pub fn new(
        service: ServiceKey,
        descriptor: &ServiceDescriptor,
        default: MethodConfig,
        methods: &HashMap<String, MethodConfig>,
    ) -> Self {
        let methods = descriptor
            .methods()
            .iter()
            .map(|method| methods.get(&*method.name).unwrap_or(&default).clone())
            .collect();
        Self {
            service,
            methods,
            default,
        }
    }

    /// The options of `method`.
    pub fn method(&self, method: &MethodRef) -> &MethodConfig {
        self.methods.get(method.index()).unwrap_or(&self.default)
    }
}

impl fmt::Debug for ClusterConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterConfig")
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

/// How calls of one method are made.
#[derive(Clone)]
pub struct MethodConfig {
    /// How long one attempt of a unary call may take; `None` is for ever.
    pub timeout: Option<Duration>,
    /// How often a failed call is tried again.
    pub retries: u32,
    /// Whether calls stay with the provider that served the last one.
    pub sticky: bool,
    /// Chooses the provider.
    pub load_balance: Arc<dyn LoadBalance>,
}

impl fmt::Debug for MethodConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MethodConfig")
            .field("timeout", &self.timeout)
            .field("retries", &self.retries)
            .field("sticky", &self.sticky)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_grows_from_one_in_a_straight_line_and_never_beyond_its_base() {
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
