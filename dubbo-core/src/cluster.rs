//! Choosing among providers: directories list them, routers and load balancers narrow the list, clusters try.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use smallvec::SmallVec;
use tokio::sync::watch;

use crate::{
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
pub trait Directory: Send + Sync + 'static {
    /// The providers that may serve `invocation`, routing rules applied.
    ///
    /// # Errors
    ///
    /// There is none; the status says why.
    fn list(&self, invocation: &Invocation) -> Result<Candidates, Status>;

    /// The consumer's URL.
    fn consumer_url(&self) -> &Url;

    /// Whether any provider is available, as it changes.
    fn availability(&self) -> watch::Receiver<bool>;

    /// Ends its subscription and closes its invokers.
    fn close(&self);
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
    /// Takes the calls.
    pub invoker: Arc<dyn Invoker>,
    /// What the provider says about its share of the calls.
    pub weight: NodeWeight,
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
}

impl Node {
    /// A provider behind `invoker`.
    pub fn new(invoker: Arc<dyn Invoker>, weight: NodeWeight) -> Self {
        Self { invoker, weight }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("url", self.invoker.url())
            .field("weight", &self.weight)
            .finish()
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
